//! Lists of patches in CMake files: `PATCHES a.patch b.patch` of CPM.

use crate::pins::cmake::{Call, calls};

use super::{Listed, Meta, Problem, Read, finished};

/// Reads the patches of one package; the only one that has some if `package` is not given.
///
/// # Errors
/// If the file cannot be read as CMake, or several packages have patches and none was chosen.
pub fn parse(text: &str, package: Option<&str>) -> Read {
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
    let chosen: Vec<&Call> = match package {
        Some(package) => with.iter().filter(|(name, _)| name == package).map(|(_, call)| *call).collect(),
        None if with.len() > 1 => {
            let message = format!("several packages have patches: {}", names.join(", "));
            return Err(vec![Problem::new(
                0,
                message,
                "choose the one that this manifest is of: --module NAME",
            )]);
        }
        None => with.iter().map(|(_, call)| *call).collect(),
    };
    let (mut listed, mut problems) = (Vec::new(), Vec::new());
    for call in chosen {
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

    #[test]
    fn the_patches_of_a_package_are_listed() {
        let text = "CPMAddPackage(\n  NAME up\n  GITHUB_REPOSITORY a/up\n  PATCHES\n    p/one.patch\n    \
                    \"${CMAKE_CURRENT_LIST_DIR}/p/two.patch\"\n  OPTIONS \"A ON\")\n";
        let listed = parse(text, None).unwrap();
        let files: Vec<_> = listed.iter().map(|one| (one.line, one.file.to_str().unwrap())).collect();
        assert_eq!(files, [(5, "p/one.patch"), (6, "p/two.patch")]);
        assert!(parse("CPMAddPackage(NAME u PATCHES ${X}/a.patch)\n", None).is_err());
    }
}
