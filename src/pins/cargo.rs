//! Cargo: git dependencies of a `Cargo.toml`.

use toml::Value;

use super::Pin;

/// The git dependencies that name a commit or a tag.
#[must_use]
pub fn pins(text: &str) -> Vec<Pin> {
    let Ok(Value::Table(top)) = text.parse::<toml::Table>().map(Value::Table) else { return Vec::new() };
    let mut pins = Vec::new();
    collect(&top, text, &mut pins);
    pins
}

/// Dependencies stand in several tables: also those of a target, of the workspace, and patches.
fn collect(table: &toml::Table, text: &str, pins: &mut Vec<Pin>) {
    for (name, value) in table {
        let Value::Table(inner) = value else { continue };
        let text_of = |key: &str| inner.get(key).and_then(Value::as_str);
        match (text_of("git"), text_of("rev").or_else(|| text_of("tag"))) {
            (Some(url), Some(revision)) => pins.push(Pin {
                by: "Cargo",
                name: Some(name.clone()),
                url: url.to_owned(),
                revision: revision.to_owned(),
                line: text.lines().position(|line| line.contains(revision)).map_or(1, |at| at + 1),
            }),
            (Some(_), None) => {}
            (None, _) => collect(inner, text, pins),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_dependencies_of_all_tables_are_read() {
        let text = "[dependencies]\na = \"1\"\nup = { git = \"https://example.org/up\", rev = \"c0ffee\" }\n\n\
                    [target.'cfg(unix)'.build-dependencies.v]\ngit = \"u\"\ntag = \"v2\"\n\n[patch.crates-io]\n\
                    w = { git = \"x\", branch = \"main\" }\n";
        let found: Vec<_> = pins(text).into_iter().map(|pin| (pin.url, pin.revision, pin.line)).collect();
        assert_eq!(
            found,
            [
                ("https://example.org/up".to_owned(), "c0ffee".to_owned(), 3),
                ("u".to_owned(), "v2".to_owned(), 7)
            ]
        );
    }
}
