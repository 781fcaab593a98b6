//! Lists of patches in CMake files: `PATCHES a.patch b.patch` of CPM.

use crate::pins::cmake::{Call, calls};

use super::{Choice, Listed, Meta, Problem, Read, finished};

/// Reads the patches of one package.
///
/// # Errors
/// If the file cannot be read as CMake, or it cannot be told which package is meant.
pub fn parse(text: &str, choice: &Choice<'_>) -> Read {
    let calls = match calls(text.as_bytes()) {
        Ok(calls) => calls,
        Err(why) => return Err(vec![Problem::new(why.line, why.why.to_string(), "mend the file")]),
    };
    let with: Vec<(String, &Call)> = calls
        .iter()
        .filter(|call| call.name.starts_with("cpm") && !call.list("PATCHES").is_empty())
        .map(|call| (call.value("NAME").unwrap_or_default().to_owned(), call))
        .collect();
    let names: Vec<&str> = with.iter().map(|(name, _)| name.as_str()).collect();
    let chosen = choice.among(&names, "package").map_err(|problem| vec![problem])?;
    let (mut listed, mut problems) = (Vec::new(), Vec::new());
    for (_, call) in with.iter().filter(|(name, _)| *name == chosen) {
        for (line, file) in call.list("PATCHES") {
            let file = file
                .strip_prefix("${CMAKE_CURRENT_SOURCE_DIR}/")
                .or_else(|| file.strip_prefix("${CMAKE_CURRENT_LIST_DIR}/"))
                .unwrap_or(file);
            if file.contains("${") {
                let message = format!("`{file}` has a variable in it");
                problems.push(Problem::new(
                    line,
                    message,
                    "write the path out, or import the patch files by name",
                ));
                continue;
            }
            listed.push(Listed { line, file: file.into(), strip: 1, meta: Meta::default() });
        }
    }
    finished(listed, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Choice<'static> = Choice { asked: None, upstream: "up" };

    #[test]
    fn the_patches_of_a_package_are_listed() {
        let text = "CPMAddPackage(\n  NAME up\n  GITHUB_REPOSITORY a/up\n  PATCHES\n    p/one.patch\n    \
                    \"${CMAKE_CURRENT_LIST_DIR}/p/two.patch\"\n  OPTIONS \"A ON\")\n";
        let listed = parse(text, &ANY).unwrap();
        let files: Vec<_> = listed.iter().map(|one| (one.line, one.file.to_str().unwrap())).collect();
        assert_eq!(files, [(5, "p/one.patch"), (6, "p/two.patch")]);
        assert!(parse("CPMAddPackage(NAME u PATCHES ${X}/a.patch)\n", &ANY).is_err());
    }
}
