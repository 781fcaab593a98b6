//! Text of others in Markdown, where it cannot link, mention, format or end what it stands in.

use crate::escape::for_terminal;

/// Characters of a line beyond this number are counted, not shown.
const WIDEST: usize = 400;

/// A code span: what is in it is shown as it is.
#[must_use]
pub fn code(text: &str) -> String {
    let text = shortened(&for_terminal(text));
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A code span in a table, in which a bar ends a cell even there.
#[must_use]
pub fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// Words in running text: all that Markdown, HTML or a forge gives a meaning is escaped.
#[must_use]
pub fn words(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in shortened(&for_terminal(text)).chars() {
        match c {
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '&' => shown.push_str("&amp;"),
            // A forge calls somebody, or links a number.
            '@' => shown.push_str("&#64;"),
            '#' => shown.push_str("&#35;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '!' | '|' | '~' | '{' | '}' => {
                shown.push('\\');
                shown.push(c);
            }
            // At the start of a line they make a list or a heading.
            '-' | '+' | '=' if shown.is_empty() => {
                shown.push('\\');
                shown.push(c);
            }
            c => shown.push(c),
        }
    }
    // `1.` starts a list, and an address becomes a link by itself.
    shown.replace("://", ":&#47;/")
}

/// A block of lines as they are. Bytes that are no text, and characters that move the cursor or the direction of
/// reading, are shown as escapes.
#[must_use]
pub fn fence(language: &str, lines: &[String]) -> String {
    let longest = lines.iter().flat_map(|line| line.split(|c| c != '`')).map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let mut text = format!("{fence}{language}\n");
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    text.push_str(&fence);
    text
}

/// A line of others for a block: safe to show, and cut where it gets too long.
#[must_use]
pub fn line(bytes: &[u8]) -> String {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let parts: Vec<String> = bytes.split(|&b| b == b'\t').map(for_terminal).collect();
    shortened(&parts.join("\t"))
}

fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= WIDEST {
        return text.to_owned();
    }
    let start: String = text.chars().take(WIDEST).collect();
    format!("{start} ... ({} more characters)", count - WIDEST)
}

/// The word after the fence for a file.
#[must_use]
pub fn language(path: &[u8]) -> &'static str {
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or_default();
    if name == b"CMakeLists.txt" {
        return "cmake";
    }
    match name.rsplit(|&b| b == b'.').next().unwrap_or_default() {
        b"cu" | b"cuh" => "cuda",
        b"cpp" | b"cc" | b"cxx" | b"h" | b"hpp" | b"hh" | b"metal" => "cpp",
        b"c" => "c",
        b"py" => "python",
        b"cmake" => "cmake",
        b"toml" => "toml",
        b"rs" => "rust",
        _ => "text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_stays_in_its_span() {
        assert_eq!(code("a `b` c"), "``a `b` c``");
        assert_eq!(code("``"), "``` `` ```");
        assert_eq!(code("x\u{1b}[31m\u{202e}y\nz"), "`x\\u{1b}[31m\\u{202e}y\\nz`");
        assert_eq!(cell("a|b"), "`a\\|b`");
    }

    #[test]
    fn words_have_no_markup() {
        let hostile = "<img src=x onerror=alert(1)> @ada #12 [l](https://x) **b** `c`";
        let shown = words(hostile);
        for bad in ["<img", "@ada", "#12", "[l]", "https://", "**b**", " `c`"] {
            assert!(!shown.contains(bad), "{bad}: {shown}");
        }
    }

    #[test]
    fn a_block_cannot_be_left_and_a_line_is_cut() {
        let lines = vec![line(b"````"), line("x".repeat(10_000).as_bytes())];
        let text = fence("text", &lines);
        assert!(text.starts_with("`````text\n") && text.ends_with("\n`````"));
        assert!(text.len() < 1000 && text.contains("(9600 more characters)"));
    }
}
