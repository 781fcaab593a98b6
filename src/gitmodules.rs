//! `.gitmodules`: what an upstream, or a repository around a tree, says of its submodules.
//!
//! Only ever a hint for a person: the manifest says what is read. Reads the little that is needed of git's
//! configuration format (git-config(1), "Syntax"): sections, `path` and `url`. Never decides what is fetched.

use std::collections::BTreeMap;

/// The URL that each submodule path has; relative ones are made absolute by the upstream's URL.
#[must_use]
pub fn urls(text: &str, upstream: &str) -> BTreeMap<String, String> {
    let both = sections(text).into_iter().filter_map(|(path, url)| Some((path?, url?)));
    both.map(|(path, url)| (path, absolute(&url, upstream))).collect()
}

/// Whether a submodule is said to be at a path.
#[must_use]
pub fn names(text: &str, path: &str) -> bool {
    let is_it = |named: &String| named.trim_end_matches('/') == path.trim_end_matches('/');
    sections(text).iter().any(|(named, _)| named.as_ref().is_some_and(is_it))
}

/// `path` and `url` of each section of a submodule.
fn sections(text: &str) -> Vec<(Option<String>, Option<String>)> {
    let mut sections: Vec<(Option<String>, Option<String>)> = Vec::new();
    let mut is_submodule = false;
    for line in text.lines() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let name = header.trim_start().get(..9).unwrap_or_default();
            is_submodule = name.eq_ignore_ascii_case("submodule");
            sections.push((None, None));
            continue;
        }
        let (Some((key, value)), Some(section)) = (line.split_once('='), sections.last_mut()) else {
            continue;
        };
        if !is_submodule {
            continue;
        }
        match key.trim().to_ascii_lowercase().as_str() {
            "path" => section.0 = Some(unquoted(value)),
            "url" => section.1 = Some(unquoted(value)),
            _ => {}
        }
    }
    sections
}

/// A value without comment, quotes and escapes.
fn unquoted(value: &str) -> String {
    let mut read = String::new();
    let mut in_quotes = false;
    let mut chars = value.trim().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => in_quotes = !in_quotes,
            '#' | ';' if !in_quotes => break,
            '\\' => read.extend(chars.next()),
            c => read.push(c),
        }
    }
    if in_quotes { read } else { read.trim_end().to_owned() }
}

/// A relative URL (`../x.git`, `./x`) starts at the upstream's, as git has it: each `../` takes away a component.
#[must_use]
pub fn absolute(url: &str, upstream: &str) -> String {
    if !(url.starts_with("./") || url.starts_with("../")) {
        return url.to_owned();
    }
    let mut base = upstream.trim_end_matches('/');
    let mut rest = url;
    loop {
        if let Some(inner) = rest.strip_prefix("../") {
            rest = inner;
            // `host:path` has a component in front of the colon, too. A scheme and a host are never taken away.
            let end = base.rfind('/').or_else(|| base.rfind(':').map(|colon| colon + 1));
            let keeps_host = |end: usize| !base[..end].ends_with('/') && !base[..end].ends_with(':');
            match end.filter(|end| keeps_host(*end) || base[..*end].ends_with(':')) {
                Some(end) => base = &base[..end],
                None => return url.to_owned(),
            }
        } else if let Some(inner) = rest.strip_prefix("./") {
            rest = inner;
        } else {
            break;
        }
    }
    let between = if base.ends_with(':') { "" } else { "/" };
    format!("{base}{between}{rest}")
}

/// The lines that declare a submodule in a manifest.
#[must_use]
pub fn declaration(path: &str, url: &str) -> String {
    let text = |value: &str| {
        let mut quoted = String::from("\"");
        for c in value.chars() {
            match c {
                '"' | '\\' => quoted.extend(['\\', c]),
                c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
                c => quoted.push(c),
            }
        }
        quoted.push('"');
        quoted
    };
    format!("[[upstream.submodule]]\npath = {}\nurl  = {}", text(path), text(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_urls_are_read() {
        let text = "# a comment\n[submodule \"csrc/cutlass\"]\n\tpath = csrc/cutlass\n\turl = https://example.org/cutlass.git\n\
                    [core]\n\tpath = no\n\turl = no\n[Submodule \"b\"]\n  URL = \"../b.git\" ; there\n  path=third party/b # here\n\
                    [submodule \"no-url\"]\n path = c\n";
        let found = urls(text, "https://example.org/org/up.git");
        let expected = [
            ("csrc/cutlass", "https://example.org/cutlass.git"),
            ("third party/b", "https://example.org/org/b.git"),
        ];
        assert_eq!(found, expected.map(|(path, url)| (path.to_owned(), url.to_owned())).into());
    }

    #[test]
    fn a_path_is_named_with_or_without_a_slash_at_its_end() {
        let text = "[submodule \"x\"]\n\tpath = third party/x/\n[core]\n\tpath = other\n";
        assert!(names(text, "third party/x") && names(text, "third party/x/"));
        assert!(!names(text, "third party") && !names(text, "x") && !names(text, "other"));
    }

    // That git makes the same of them is tested in `tests/submodule.rs`.
    #[test]
    fn a_relative_url_starts_at_the_upstreams() {
        for (upstream, url, expected) in [
            ("https://h/org/up.git", "../b.git", "https://h/org/b.git"),
            ("https://h/org/up.git/", "../../other/b", "https://h/other/b"),
            ("https://h/org/up", "./b", "https://h/org/up/b"),
            ("git@h:org/up.git", "../b.git", "git@h:org/b.git"),
            ("git@h:org/up.git", "../../b.git", "git@h:b.git"),
            ("/srv/up", "../b", "/srv/b"),
            ("https://h/up", "git://other/x", "git://other/x"),
            // More than there is: nothing better is known.
            ("https://h/up", "../../../b", "../../../b"),
        ] {
            assert_eq!(absolute(url, upstream), expected, "{url} at {upstream}");
        }
    }

    #[test]
    fn a_declaration_is_toml() {
        let lines = declaration("a b/\"c\"", "https://h/\u{1b}[31m\\x");
        let (manifest, problems) = crate::manifest::parse(
            std::path::Path::new("up.toml"),
            &format!(
                "version = 1\n[upstream]\nname = \"up\"\nurl = \"u\"\npin = \"{}\"\n{lines}\n",
                "1".repeat(40)
            ),
        );
        let path = manifest.map(|manifest| manifest.upstream.submodules[0].path.value.to_string());
        assert!(path.as_deref() == Some("a b/\"c\"") || !problems.is_empty(), "{problems:?}");
        assert!(!lines.contains('\u{1b}'));
    }
}
