//! The JSON of attestations: objects, lists and texts.
//!
//! Build scripts compile this in place of a crate for all of JSON, which takes longer to build than everything that
//! reads and writes trees. Tests hold it against such a crate. Nothing recurses: no text uses up the stack.

/// An object with a field on each line, `depth` steps in.
pub(super) fn object(fields: &[(&str, String)], depth: usize) -> String {
    let fields = fields.iter().map(|(key, value)| format!("{}: {value}", text(key)));
    block('{', &fields.collect::<Vec<_>>(), '}', depth)
}

/// A list with an item on each line, `depth` steps in.
pub(super) fn list(items: &[String], depth: usize) -> String {
    block('[', items, ']', depth)
}

fn block(open: char, lines: &[String], close: char, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let separator = format!(",\n{indent}  ");
    match lines {
        [] => format!("{open}{close}"),
        lines => format!("{open}\n{indent}  {}\n{indent}{close}", lines.join(&separator)),
    }
}

/// A text in its quotes.
pub(super) fn text(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\0'..' ' => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// What is left of a JSON text. Each question takes what it asks for; `None`: something else is there.
pub(super) struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { rest: text }
    }

    /// An object, key by key; each value is to be taken.
    pub(super) fn object(&mut self, value: &mut dyn FnMut(&mut Self, &str) -> Option<()>) -> Option<()> {
        self.items('{', '}', &mut |reader| {
            let key = reader.text()?;
            reader.takes(':').then_some(())?;
            value(reader, &key)
        })
    }

    /// A list; each item is to be taken.
    pub(super) fn list(&mut self, item: &mut dyn FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.items('[', ']', item)
    }

    fn items(
        &mut self,
        open: char,
        close: char,
        item: &mut dyn FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.takes(open).then_some(())?;
        if self.takes(close) {
            return Some(());
        }
        loop {
            item(self)?;
            if self.takes(close) {
                return Some(());
            }
            self.takes(',').then_some(())?;
        }
    }

    /// A text without its quotes.
    pub(super) fn text(&mut self) -> Option<String> {
        self.takes('"').then_some(())?;
        let mut text = String::new();
        loop {
            match self.next()? {
                '"' => return Some(text),
                '\\' => text.push(self.escaped()?),
                '\0'..' ' => return None,
                c => text.push(c),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        Some(match self.next()? {
            c @ ('"' | '\\' | '/') => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let first = self.unit()?;
                if !(0xd800..0xdc00).contains(&first) {
                    return char::from_u32(first.into());
                }
                // Characters that are not in the first 65,536 are written as two.
                self.rest = self.rest.strip_prefix("\\u")?;
                let second = self.unit()?;
                return char::decode_utf16([first, second]).next()?.ok();
            }
            _ => return None,
        })
    }

    fn unit(&mut self) -> Option<u16> {
        let digits = self.rest.get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
        self.rest = &self.rest[4..];
        u16::from_str_radix(digits, 16).ok()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    /// Whether this mark comes next, perhaps after white space; then it is taken.
    fn takes(&mut self, mark: char) -> bool {
        let rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
        let Some(rest) = rest.strip_prefix(mark) else { return false };
        self.rest = rest;
        true
    }

    /// Whether nothing but white space is left.
    pub(super) fn is_at_end(&self) -> bool {
        self.rest.trim_start_matches([' ', '\t', '\n', '\r']).is_empty()
    }
}

#[cfg(all(test, feature = "git"))]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(json: &str) -> Option<Vec<String>> {
        let (mut reader, mut texts) = (Reader::new(json), Vec::new());
        reader.list(&mut |reader| reader.text().map(|text| texts.push(text)))?;
        reader.is_at_end().then_some(texts)
    }

    #[test]
    fn every_character_is_written_and_read_as_a_crate_for_json_does() {
        for c in '\0'..=char::MAX {
            let plain = c.to_string();
            let written = text(&plain);
            assert_eq!(written, serde_json::to_string(&plain).unwrap());
            assert_eq!(Reader::new(&written).text(), Some(plain));
        }
    }

    #[test]
    fn what_is_written_lies_as_such_a_crate_lays_it_out() {
        let inner = object(&[("a", text("1")), ("b", list(&[text("2"), list(&[], 3)], 2))], 1);
        let written = list(&[inner, object(&[], 1)], 0);
        assert_eq!(
            written,
            serde_json::to_string_pretty(&json!([{ "a": "1", "b": ["2", []] }, {}])).unwrap()
        );
    }

    #[test]
    fn texts_are_read_as_such_a_crate_reads_them_or_not_at_all() {
        let cases = [
            r#"["a"]"#,
            " [ \"a\" ,\n\"b\"\t]\r\n",
            "[]",
            "[ ]",
            r#"["\u0041\ud83d\ude00\/\b\f\n\r\t\"\\"]"#,
            r#"["é"]"#,
            // None.
            r#"["a",]"#,
            r#"["a" "b"]"#,
            r#"["a"] x"#,
            r#"["a""#,
            "[\"a\n\"]",
            r#"["\ud83d"]"#,
            r#"["\ud83d\u0041"]"#,
            r#"["\ude00"]"#,
            r#"["\u+041"]"#,
            r#"["\u00é"]"#,
            r#"["\x"]"#,
            r#"['a']"#,
            "",
            "[",
            "[1]",
            "[,]",
        ];
        for case in cases {
            assert_eq!(texts(case), serde_json::from_str(case).ok(), "{case}");
        }
        assert_eq!(texts(&"[".repeat(1_000_000)), None);
    }
}
