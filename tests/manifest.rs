//! The manifest as a user meets it: what is read, and what each mistake is answered with.

use std::fmt::Write as _;
use std::path::Path;

use overlaid::manifest::parse;

mod bad;

/// What every small manifest of these tests starts with.
const HEAD: &str = r#"version = 1
[upstream]
name = "up"
url = "https://example.org/up.git"
pin = "1111111111111111111111111111111111111111"
"#;

/// Every message that a table of bad manifests gets, in one text that a person can read in one go.
///
/// After a change of the messages: `UPDATE_MESSAGES=1 cargo test --test overlaid manifest`, then read the
/// difference as a user would.
#[test]
fn every_mistake_gets_its_message() {
    let mut all = String::new();
    for (title, text) in bad::manifests() {
        let (manifest, messages) = parse(Path::new("manifests/up.toml"), &text);
        assert!(!messages.is_empty(), "{title}: accepted");
        assert_eq!(
            manifest.is_none(),
            messages.iter().any(|m| m.severity == overlaid::diagnostic::Severity::Error)
        );
        writeln!(all, "==== {title}\n").unwrap();
        for message in messages {
            writeln!(all, "{}\n", message.render(false, 110)).unwrap();
        }
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifest/messages.txt");
    if std::env::var_os("UPDATE_MESSAGES").is_some() {
        std::fs::write(&golden, &all).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap();
    for (expected, found) in expected.split("==== ").zip(all.split("==== ")) {
        assert_eq!(expected, found);
    }
    assert_eq!(expected.len(), all.len());
}
