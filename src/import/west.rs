//! west's `patches.yml`: the patches of each module, with who made them and where they were sent.

use saphyr::{LoadableYamlNode, Yaml};

use crate::manifest::UpstreamStatus;

use super::{Choice, Listed, Meta, Problem, Read, finished};

/// Reads the patches of one module in a `patches.yml`.
///
/// # Errors
/// If it is not YAML, or has no list of patches, or it cannot be told which module is meant.
pub fn parse(text: &str, choice: &Choice<'_>) -> Read {
    let one = |line, message: String, hint: &str| Err(vec![Problem::new(line, message, hint)]);
    let documents = match Yaml::load_from_str(text) {
        Ok(documents) => documents,
        Err(error) => return one(error.marker().line(), format!("it is not YAML: {error}"), "mend the file"),
    };
    let list =
        documents.first().and_then(|top| top.as_mapping_get("patches")).and_then(|list| list.as_sequence());
    let Some(list) = list else {
        return one(0, "there is no list `patches`".to_owned(), "is this west's patches.yml?");
    };
    let text_of = |entry: &Yaml<'_>, key: &str| {
        entry.as_mapping_get(key).and_then(|value| value.as_str()).map(|value| value.trim().to_owned())
    };
    let module_of = |entry: &Yaml<'_>| text_of(entry, "module").unwrap_or_default();
    let modules: Vec<String> = list.iter().map(module_of).collect();
    let names: Vec<&str> = modules.iter().map(String::as_str).collect();
    let chosen = choice.among(&names, "module").map_err(|problem| vec![problem])?;
    let (mut listed, mut problems) = (Vec::new(), Vec::new());
    for entry in list {
        if module_of(entry) != chosen {
            continue;
        }
        let Some(file) = text_of(entry, "path") else {
            problems.push(Problem::new(0, "an entry has no `path`", "name the patch file"));
            continue;
        };
        let line = text.lines().position(|line| line.contains(&file)).map_or(0, |at| at + 1);
        if let Some(command) = text_of(entry, "apply-command").filter(|command| !is_plain(command)) {
            let message = format!("`{file}` is applied with `{command}`");
            problems.push(Problem::new(
                line,
                message,
                "only `git apply` and `git am` without options are known",
            ));
        }
        let author = match (text_of(entry, "author"), text_of(entry, "email")) {
            (Some(author), Some(email)) => Some(format!("{author} <{email}>")),
            (author, _) => author,
        };
        let merge = entry.as_mapping_get("merge-status").and_then(|value| value.as_bool());
        let pull_request = text_of(entry, "merge-pr");
        let is_upstreamable = entry.as_mapping_get("upstreamable").and_then(|value| value.as_bool());
        let status = match (merge, &pull_request, is_upstreamable) {
            (Some(true), Some(_), _) => Some(UpstreamStatus::Applied),
            (_, Some(_), _) => Some(UpstreamStatus::Submitted),
            (_, None, Some(false)) => Some(UpstreamStatus::Inappropriate),
            (Some(true), None, _) => Some(UpstreamStatus::Unknown),
            (_, None, Some(true)) => Some(UpstreamStatus::Pending),
            (_, None, None) => None,
        };
        let mut meta = Meta {
            author,
            reason: text_of(entry, "comments").and_then(|text| text.lines().next().map(str::to_owned)),
            issue: text_of(entry, "issue"),
            forwarded: pull_request.clone(),
            pull_request,
            status,
            ..Meta::default()
        };
        if let Some(commit) = text_of(entry, "merge-commit") {
            meta.commit = super::status::commit(&commit).filter(|_| merge == Some(true));
        }
        listed.push(Listed { line, file: file.into(), strip: 1, meta });
    }
    finished(listed, problems)
}

fn is_plain(command: &str) -> bool {
    ["git apply", "git am"].contains(&command.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "patches:\n  - path: zephyr/kernel.patch\n    sha256sum: 00\n    module: zephyr\n    \
                        author: Ada\n    email: ada@example.org\n    merge-pr: https://example.org/pull/3\n    \
                        issue: https://example.org/issues/2\n    comments: |\n      Mend it.\n      More.\n  \
                        - path: hal/pin.patch\n    module: hal\n    upstreamable: false\n";

    fn asked(asked: Option<&str>) -> Choice<'_> {
        Choice { asked, upstream: "up" }
    }

    #[test]
    fn an_entry_becomes_keys() {
        let listed = parse(TEXT, &asked(Some("zephyr"))).unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!((listed[0].line, listed[0].file.to_str()), (2, Some("zephyr/kernel.patch")));
        let meta = &listed[0].meta;
        assert_eq!(meta.author.as_deref(), Some("Ada <ada@example.org>"));
        assert_eq!(meta.reason.as_deref(), Some("Mend it."));
        assert_eq!(meta.status, Some(UpstreamStatus::Submitted));
        assert_eq!(
            parse(TEXT, &asked(Some("hal"))).unwrap()[0].meta.status,
            Some(UpstreamStatus::Inappropriate)
        );
    }

    #[test]
    fn several_modules_need_a_choice() {
        let problems = parse(TEXT, &asked(None)).unwrap_err();
        assert!(problems[0].message.contains("hal, zephyr"), "{problems:?}");
        assert!(parse("- a\n", &asked(None)).is_err());
        assert!(parse("a: [\n", &asked(None)).is_err());
    }
}
