//! Bazel: `git_override`, `archive_override`, `git_repository`, `http_archive`.

use super::starlark::{Call, calls};
use super::{Pin, archive};

/// The pins of a file of Bazel's.
#[must_use]
pub fn pins(text: &str) -> Vec<Pin> {
    calls(text).iter().filter_map(pin).collect()
}

fn pin(call: &Call) -> Option<Pin> {
    let name = call.text("module_name").or_else(|| call.text("name")).map(str::to_owned);
    match call.name.as_str() {
        "git_override" | "git_repository" | "new_git_repository" => {
            let key = ["commit", "tag", "branch"].into_iter().find(|key| call.text(key).is_some())?;
            Some(Pin {
                by: "Bazel",
                name,
                url: call.text("remote")?.to_owned(),
                revision: call.text(key)?.to_owned(),
                line: call.line_of(key),
            })
        }
        "archive_override" | "http_archive" => {
            let urls = call.list("urls").iter().chain(call.list("url"));
            let (line, (url, revision)) =
                urls.filter_map(|(line, url)| Some((*line, archive::parse(url)?))).next()?;
            Some(Pin { by: "Bazel", name, url, revision, line })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_and_archives_are_pins() {
        let text = "git_override(\n  module_name = \"up\",\n  remote = \"https://example.org/up.git\",\n  commit = \"c0\",\n)\n\
                    http_archive(name = \"z\", urls = [\"https://mirror.example.org/z.tar.gz\",\n  \
                    \"https://github.com/a/z/archive/v1.tar.gz\"])\n";
        let found: Vec<_> = pins(text).into_iter().map(|pin| (pin.url, pin.revision, pin.line)).collect();
        assert_eq!(
            found,
            [
                ("https://example.org/up.git".to_owned(), "c0".to_owned(), 4),
                ("https://github.com/a/z.git".to_owned(), "v1".to_owned(), 7)
            ]
        );
    }
}
