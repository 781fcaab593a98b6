//! Which files a source file includes or imports, as far as its text tells.
//!
//! Reads lines that look like `#include`, `import` and `from ... import`; never runs a preprocessor, so conditions
//! and macros are not seen. Good for a hint, not for a decision.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bstr::ByteSlice;

use crate::id::UpstreamPath;
use crate::lex::Language;

/// The files of a commit, by what others may call them.
pub(super) struct Files<'a> {
    all: BTreeSet<&'a UpstreamPath>,
    by_name: HashMap<&'a [u8], Vec<&'a UpstreamPath>>,
}

impl<'a> Files<'a> {
    pub(super) fn new(paths: impl Iterator<Item = &'a UpstreamPath>) -> Self {
        let all: BTreeSet<&UpstreamPath> = paths.collect();
        let mut by_name: HashMap<&[u8], Vec<&UpstreamPath>> = HashMap::new();
        for path in &all {
            by_name.entry(path.file_name()).or_default().push(path);
        }
        Self { all, by_name }
    }

    /// The files that a source file names, without itself.
    pub(super) fn named_in(&self, path: &UpstreamPath, text: &[u8]) -> BTreeSet<&'a UpstreamPath> {
        let found: BTreeSet<&UpstreamPath> = match Language::of_path(path) {
            Some(Language::C | Language::Cpp) => {
                text.lines().filter_map(included).filter_map(|name| self.find(path, name)).collect()
            }
            Some(Language::Python) => text.lines().flat_map(|line| self.imported(path, line)).collect(),
            _ => BTreeSet::new(),
        };
        found.into_iter().filter(|found| *found != path).collect()
    }

    /// The file next to the one that names it, the one of that path, or the only one whose path ends so.
    fn find(&self, from: &UpstreamPath, name: &[u8]) -> Option<&'a UpstreamPath> {
        let folder = folder(from);
        let beside = join(folder, name).and_then(|path| self.all.get(&path).copied());
        beside.or_else(|| {
            let path = UpstreamPath::parse(name).ok()?;
            self.all.get(&path).copied().or_else(|| self.ending(name))
        })
    }

    fn ending(&self, name: &[u8]) -> Option<&'a UpstreamPath> {
        let last = name.rsplit(|byte| *byte == b'/').next()?;
        let tail = [b"/", name].concat();
        let mut found = self.by_name.get(last)?.iter().filter(|path| path.as_bytes().ends_with(&tail));
        match (found.next(), found.next()) {
            (Some(path), None) => Some(path),
            _ => None,
        }
    }

    fn imported(&self, from: &UpstreamPath, line: &[u8]) -> Vec<&'a UpstreamPath> {
        let line = line.trim_ascii_start();
        let mut found = Vec::new();
        if let Some(rest) = line.strip_prefix(b"import ") {
            for module in rest.split(|byte| *byte == b',') {
                let module = module.trim_ascii().split(|byte| *byte == b' ').next().unwrap_or_default();
                found.extend(self.module(from, module));
            }
        } else if let Some(rest) = line.strip_prefix(b"from ")
            && let Some(at) = rest.find(" import ")
        {
            let module = rest[..at].trim_ascii();
            found.extend(self.module(from, module));
            for name in rest[at + 8..].split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_') {
                let dot: &[u8] = if module.ends_with(b".") { b"" } else { b"." };
                found.extend(self.module(from, &[module, dot, name].concat()).filter(|_| !name.is_empty()));
            }
        }
        found
    }

    fn module(&self, from: &UpstreamPath, module: &[u8]) -> Option<&'a UpstreamPath> {
        let dots = module.iter().take_while(|byte| **byte == b'.').count();
        let name = module[dots..].replace(".", "/");
        let mut above = folder(from).to_vec();
        for _ in 1..dots {
            above.truncate(above.rfind_byte(b'/').unwrap_or(0));
        }
        let candidates = [[&name[..], b".py"].concat(), [&name[..], b"/__init__.py"].concat()];
        candidates.iter().filter(|_| !name.is_empty()).find_map(|candidate| {
            if dots > 0 {
                join(&above, candidate).and_then(|path| self.all.get(&path).copied())
            } else {
                self.find(from, candidate)
            }
        })
    }
}

/// The files that each of these names, and the files that name each.
pub(super) fn name_each_other<'a>(
    named: &[(&'a UpstreamPath, BTreeSet<&'a UpstreamPath>)],
) -> BTreeMap<&'a UpstreamPath, BTreeSet<&'a UpstreamPath>> {
    let mut by: BTreeMap<&UpstreamPath, BTreeSet<&UpstreamPath>> = BTreeMap::new();
    for (from, names) in named {
        for name in names {
            by.entry(name).or_default().insert(from);
        }
    }
    by
}

/// The name in `#include "name"` or `#include <name>`.
fn included(line: &[u8]) -> Option<&[u8]> {
    let rest = line.trim_ascii_start().strip_prefix(b"#")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"include").or_else(|| rest.strip_prefix(b"import"))?;
    let rest = rest.trim_ascii_start();
    let end = match rest.first()? {
        b'"' => b'"',
        b'<' => b'>',
        _ => return None,
    };
    let name = &rest[1..];
    Some(&name[..name.find_byte(end)?])
}

fn folder(path: &UpstreamPath) -> &[u8] {
    let path: &[u8] = path.as_bytes();
    path.rfind_byte(b'/').map_or(b"", |end| &path[..end])
}

/// A relative name from a folder, with `.` and `..` taken out.
fn join(folder: &[u8], name: &[u8]) -> Option<UpstreamPath> {
    let mut parts: Vec<&[u8]> = folder.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).collect();
    for part in name.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    UpstreamPath::parse(parts.join(&b'/')).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(all: &[&str], path: &str, text: &str) -> Vec<String> {
        let all: Vec<UpstreamPath> = all.iter().map(|path| UpstreamPath::parse(path).unwrap()).collect();
        let files = Files::new(all.iter());
        let path = UpstreamPath::parse(path).unwrap();
        files.named_in(&path, text.as_bytes()).into_iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_include_is_beside_or_below_the_top_or_the_only_one_that_ends_so() {
        let all = ["a/k.cu", "a/k.h", "lib/include/lib/x.h", "b/k.h", "c/same.h", "d/same.h", "top/t.h"];
        let text = "#include \"k.h\"\n # include <lib/x.h>\n#include \"same.h\"\n#include \"top/t.h\"\n\
                    #include \"../b/k.h\"\n#include NAME\nx #include \"d/same.h\"\n#include <vector>\n";
        assert_eq!(named(&all, "a/k.cu", text), ["a/k.h", "b/k.h", "lib/include/lib/x.h", "top/t.h"]);
    }

    #[test]
    fn imports_are_modules_packages_and_relative_ones() {
        let all = ["p/__init__.py", "p/a.py", "p/b.py", "p/q/__init__.py", "p/q/c.py", "p/q/d.py"];
        let text = "import p.a\nfrom . import d\nfrom ..b import x\nfrom p import q\nimport os, sys\n";
        assert_eq!(
            named(&all, "p/q/c.py", text),
            ["p/__init__.py", "p/a.py", "p/b.py", "p/q/__init__.py", "p/q/d.py"]
        );
    }
}
