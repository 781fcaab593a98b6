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

/// As [`wrap`], for a line that may have colour codes anywhere and is indented already: what follows the first part stands
/// four spaces further in.
#[must_use]
pub fn wrap_painted(line: &str, width: Option<usize>) -> String {
    let is_wide = |width: &usize| shown_width(line) > *width;
    let Some(width) = width.filter(is_wide) else { return line.to_owned() };
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let mut lines = " ".repeat(indent);
    let mut column = indent;
    for (at, word) in text.split(' ').enumerate() {
        let length = shown_width(word);
        if at > 0 && column + 1 + length <= width {
            lines.push(' ');
            column += 1;
        } else if at > 0 {
            lines.push('\n');
            column = indent + 4;
            lines.extend(std::iter::repeat_n(' ', column));
        }
        lines.push_str(word);
        column += length;
    }
    lines
}

fn shown_width(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_codes_take_no_room_and_an_indented_line_hangs_below_itself() {
        let red = "\u{1b}[31m";
        let line = format!("  {red}breaks:\u{1b}[0m one two");
        assert_eq!(wrap_painted(&line, Some(17)), line);
        assert_eq!(wrap_painted(&line, Some(13)), format!("  {red}breaks:\u{1b}[0m one\n      two"));
        assert_eq!(wrap_painted(&line, None), line);
    }

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
