//! Lists of patches in Bazel's files: `patches = [...]` of `git_override`, `archive_override`, `http_archive` and the like.

use std::path::PathBuf;

use crate::pins::starlark::{Call, calls};

use super::{Choice, Listed, Meta, Problem, Read, finished};

/// Reads the patches of one module. Files are relative to the workspace.
///
/// # Errors
/// If it cannot be told which module is meant, if the list is computed, or a label is not a file of this repository.
pub fn parse(text: &str, choice: &Choice<'_>) -> Read {
    let calls = calls(text);
    let with: Vec<(&str, &Call)> = calls
        .iter()
        .filter(|call| !call.list("patches").is_empty())
        .map(|call| (call.text("module_name").or_else(|| call.text("name")).unwrap_or_default(), call))
        .collect();
    let names: Vec<&str> = with.iter().map(|(name, _)| *name).collect();
    let chosen = choice.among(&names, "module").map_err(|problem| vec![problem])?;
    let (mut listed, mut problems) = (Vec::new(), Vec::new());
    for (_, call) in with.into_iter().filter(|(name, _)| *name == chosen) {
        if let Some(line) = call.computed("patches") {
            problems.push(Problem::new(
                line,
                "`patches` is computed: its names cannot be read",
                "write the names out, or import the folder that the patches are in: overlaid import mail FOLDER",
            ));
            continue;
        }
        // Bazel's default is 0.
        let args = call.list("patch_args");
        let level = args.iter().find_map(|(_, arg)| arg.strip_prefix("-p")?.parse().ok());
        let strip = call.number("patch_strip").or(level).unwrap_or(0);
        for (line, label) in call.list("patches") {
            match file_of(label) {
                Some(file) => listed.push(Listed { line: *line, file, strip, meta: Meta::default() }),
                None => problems.push(Problem::new(
                    *line,
                    format!("`{label}` is not a file of this repository"),
                    "import the patch file by name",
                )),
            }
        }
    }
    finished(listed, problems)
}

/// `//third_party:up.patch`, `@//a:b.patch`, `//a/b.patch` or `b.patch`.
fn file_of(label: &str) -> Option<PathBuf> {
    let label = label.strip_prefix("@@").or_else(|| label.strip_prefix('@')).unwrap_or(label);
    let path = match label.strip_prefix("//") {
        Some(rest) => rest.replacen(':', "/", 1),
        None if label.contains("//") => return None,
        None => label.strip_prefix(':').unwrap_or(label).to_owned(),
    };
    Some(PathBuf::from(path.trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Choice<'static> = Choice { asked: None, upstream: "up" };

    #[test]
    fn labels_become_files_and_levels_are_read() {
        let text = "git_override(\n    module_name = \"up\",\n    patch_strip = 1,\n    patches = [\n        \
                    \"//third_party/up:one.patch\",  # why\n        \"//:two.patch\",\n    ],\n)\n";
        let listed = parse(text, &ANY).unwrap();
        let files: Vec<_> =
            listed.iter().map(|one| (one.line, one.file.to_str().unwrap(), one.strip)).collect();
        assert_eq!(files, [(5, "third_party/up/one.patch", 1), (6, "two.patch", 1)]);
        let old = "http_archive(name = \"up\", patches = [\"@other//:a.patch\"], patch_args = [\"-p1\"])\n";
        assert!(parse(old, &ANY).is_err());
    }

    #[test]
    fn a_list_that_is_computed_is_not_half_read() {
        for list in
            ["glob([\"p/*.patch\"])", "[\"a.patch\"] + MORE", "PATCHES", "[\"%s.patch\" % n for n in X]"]
        {
            let problems = parse(&format!("http_archive(\n  name = \"up\",\n  patches = {list})\n"), &ANY);
            let problems = problems.expect_err(list);
            assert_eq!((problems.len(), problems[0].line), (1, 3), "{problems:?}");
        }
    }
}
