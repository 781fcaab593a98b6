//! What the words of a table mean, below it.

use super::Tone;
use super::wrap::wrap;

/// Words of one column.
#[derive(Debug, Clone)]
pub struct Group {
    /// The heading of the column.
    pub title: &'static str,
    /// Each with its meaning.
    pub words: Vec<(String, String)>,
}

/// A line for each word; on a terminal as wide as that, broken where it must be.
#[must_use]
pub fn lines(groups: &[Group], width: Option<usize>) -> Vec<String> {
    let length = |text: &str| text.chars().count();
    let title = groups.iter().map(|group| length(group.title)).max().unwrap_or(0);
    let words = groups.iter().flat_map(|group| &group.words);
    let word = words.map(|(word, _)| length(word)).max().unwrap_or(0);
    let mut lines = Vec::new();
    for group in groups {
        for (at, (name, meaning)) in group.words.iter().enumerate() {
            let heading = if at == 0 { group.title } else { "" };
            let lead = format!("{heading:title$}  {name:word$}  ");
            let hang = title + word + 4;
            lines.push(wrap(&Tone::Dim.paint(&lead), hang, meaning, hang, width));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_line_up_and_long_meanings_hang_below_themselves() {
        let word = |word: &str, meaning: &str| (word.to_owned(), meaning.to_owned());
        let groups = [
            Group { title: "to do", words: vec![word("mend", "verify fails until it is mended")] },
            Group { title: "state", words: vec![word("gone", "it is gone"), word("fresh", "nothing moved")] },
        ];
        let shown = lines(&groups, Some(30)).join("\n");
        assert_eq!(
            anstream::adapter::strip_str(&shown).to_string(),
            "to do  mend   verify fails\n              until it is\n              mended\n\
             state  gone   it is gone\n       fresh  nothing moved"
        );
    }
}
