//! Text of others inside HTML and SVG: the one place where it is escaped.

use std::fmt;

use crate::escape::for_terminal;

/// Text for HTML, as content or inside a quoted attribute. Control characters, direction marks and bytes that are no
/// UTF-8 become visible escapes; line breaks, too.
pub struct Text<T: AsRef<[u8]>>(pub T);

impl<T: AsRef<[u8]>> fmt::Display for Text<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(&for_terminal(&self.0), f)
    }
}

/// As [`Text`]; tabs stay, as in source code.
pub struct Code<T: AsRef<[u8]>>(pub T);

impl<T: AsRef<[u8]>> fmt::Display for Code<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.as_ref().split(|&b| b == b'\t').enumerate() {
            if index > 0 {
                f.write_str("\t")?;
            }
            write_escaped(&for_terminal(part), f)?;
        }
        Ok(())
    }
}

fn write_escaped(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for c in text.chars() {
        match c {
            '&' => f.write_str("&amp;")?,
            '<' => f.write_str("&lt;")?,
            '>' => f.write_str("&gt;")?,
            '"' => f.write_str("&quot;")?,
            '\'' => f.write_str("&#39;")?,
            other => fmt::Write::write_char(f, other)?,
        }
    }
    Ok(())
}

/// A text of at most so many characters; what is left out is marked.
#[must_use]
pub fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A link if the address is one of the web, else the text alone: no other scheme is ever a link.
#[must_use]
pub fn link(address: &str, text: &str) -> String {
    let is_web = address.starts_with("https://") || address.starts_with("http://");
    if is_web && address.chars().all(|c| c.is_ascii_graphic()) {
        format!("<a href=\"{}\">{}</a>", Text(address), Text(shorten(text, 200)))
    } else {
        Text(shorten(text, 200)).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_only_ever_text() {
        let text = Text("<script>alert('x')</script> & \"q\" \u{202e}rtl \u{1b}[31m").to_string();
        assert_eq!(
            text,
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;q&quot; \\u{202e}rtl \\u{1b}[31m"
        );
        assert_eq!(Code(b"a\t<b>\xff".as_slice()).to_string(), "a\t&lt;b&gt;\\xff");
    }

    #[test]
    fn only_addresses_of_the_web_are_links() {
        assert_eq!(link("https://a.example/x", "x"), "<a href=\"https://a.example/x\">x</a>");
        assert_eq!(link("javascript:alert(1)", "x"), "x");
        assert_eq!(link("https://a.example/\" onclick=\"x", "x"), "x");
        assert_eq!(link("https://a.example/\"x", "x"), "<a href=\"https://a.example/&quot;x\">x</a>");
    }

    #[test]
    fn a_long_text_is_cut_where_it_says_so() {
        assert_eq!(shorten("äöü", 2), "äö…");
        assert_eq!(shorten("äö", 2), "äö");
    }
}
