//! The words of a command line, as far as manuals need a shell.

/// The words of each call of a program in a line: without redirections, comments, and variables that are set for it.
pub fn of_program(line: &str, program: &str) -> Vec<Vec<String>> {
    let mut calls = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut is_aside = false;
    for sign in line.chars().chain(['\n']) {
        match (quote, sign) {
            (Some(open), _) if sign == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(sign),
            (None, '\'' | '"') => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ' | '\n' | '|' | ';' | '&' | '>' | '<') => {
                if let (Some(word), false) = (word.take(), is_aside) {
                    calls.last_mut().expect("one at least").push(word);
                } else if sign == ' ' && is_aside {
                    continue;
                }
                match sign {
                    '|' | ';' | '&' => {
                        calls.push(Vec::new());
                        is_aside = false;
                    }
                    // What comes now names a file.
                    '>' | '<' => is_aside = true,
                    _ => {}
                }
            }
            (None, _) => word.get_or_insert_default().push(sign),
        }
    }
    if let (Some(word), false) = (word, is_aside) {
        calls.last_mut().expect("one at least").push(word);
    }
    let is_variable = |word: &String| {
        word.split_once('=')
            .is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
    };
    let calls = calls.into_iter().map(|call| call.into_iter().skip_while(is_variable).collect::<Vec<_>>());
    calls.filter(|call| call.first().is_some_and(|first| first == program)).collect()
}
