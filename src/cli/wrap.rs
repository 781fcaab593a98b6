//! Long lines on a terminal.

/// Breaks a line at spaces so that no part is wider than `width`; what follows the first begins with `hang` spaces. A
/// word that is too long stays whole. Without a width the line stays as it is: a file is read by programs, too.
///
/// `lead` is put before the text and may have colour codes; it counts as `lead_width` columns.
#[must_use]
pub fn wrap(lead: &str, lead_width: usize, text: &str, hang: usize, width: Option<usize>) -> String {
    let Some(width) = width else { return format!("{lead}{text}") };
    let mut lines = lead.to_owned();
    let mut column = lead_width;
    let mut is_first = true;
    for word in text.split(' ') {
        let length = word.chars().count();
        if is_first {
            is_first = false;
        } else if column + 1 + length <= width {
            lines.push(' ');
            column += 1;
        } else {
            lines.push('\n');
            lines.extend(std::iter::repeat_n(' ', hang));
            column = hang;
        }
        lines.push_str(word);
        column += length;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_hang() {
        assert_eq!(wrap("a: ", 3, "one two three four", 4, Some(11)), "a: one two\n    three\n    four");
        assert_eq!(wrap("a: ", 3, "one two three four", 4, Some(21)), "a: one two three four");
        assert_eq!(wrap("", 0, "much-too-long for it", 2, Some(6)), "much-too-long\n  for\n  it");
    }

    #[test]
    fn a_file_gets_whole_lines() {
        assert_eq!(wrap("a: ", 3, "one two three four", 4, None), "a: one two three four");
    }
}
