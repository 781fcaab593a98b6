//! CMake's language against CMake: the arguments that it reports for each command that it runs.

use std::collections::BTreeMap;
use std::process::Command;

use overlaid::lex::{Delta, Language, tokens};
use serde::Deserialize;

use super::delta;
use super::generator::{Random, cases, edited, soup};
use super::oracle::{Folder, is_here};

const ARGUMENTS: &[&str] = &[
    "\"a # b\"",
    "[[ # a\n]]",
    "[=[ ]] ]=]",
    "-Da=\"b c\"d",
    "$(X)",
    "${X}",
    "a\\#b",
    "a;b",
    "\"a\\\"b\"",
    "\"a\\\nb\"",
    "\"\nc\"",
    "# c\n",
    "#[[ c\n]]",
    "#[==[ ]] # ]==]",
    "[",
    "a[0]",
    "=",
    "(n)",
    "@",
    "\\;",
    "é",
    "a",
];
const SEPARATORS: &[&str] = &[" ", " ", " ", "\n", "", "\t", "\r\n", " # d\n", " #[[e]] "];
const ENDS: &[&str] = &["\n", "\r\n", " # c\n", "\n# c\n\n", "\n#[[ c\n]]\n", " #[[ c ]]\n"];
const INSERTIONS: &[&str] =
    &[" ", "\n", "# c\n", " #[[ c ]] ", "\t", "\"", "[[", "]]", "#", "\\", "#[[", "a", "(", ")"];

/// A script of a few commands.
fn script(random: &mut Random) -> Vec<u8> {
    let mut script = Vec::new();
    for _ in 0..1 + random.below(3) {
        script.extend_from_slice(random.pick(&["show(", "show (", " show( ", "show(\n"]).as_bytes());
        let length = random.below(5);
        script.extend(soup(random, ARGUMENTS, SEPARATORS, length));
        script.push(b')');
        script.extend_from_slice(random.pick(ENDS).as_bytes());
    }
    script
}

/// A line of CMake's trace.
#[derive(Deserialize)]
struct Traced {
    cmd: String,
    args: Vec<String>,
    file: String,
}

/// The commands of each script with their arguments; nothing for those that CMake cannot parse or run.
fn traced(scripts: &[Vec<u8>]) -> Vec<Option<Vec<Vec<String>>>> {
    let folder = Folder::new();
    for (case, script) in scripts.iter().enumerate() {
        std::fs::write(folder.0.join(format!("case{case}.cmake")), script).unwrap();
    }
    let mut all = vec![None; scripts.len()];
    let mut first = 0;
    // An error ends the process: the next goes on behind the script that has it.
    while first < scripts.len() {
        let mut main = "function(show)\nendfunction()\n".to_owned();
        for case in first..scripts.len() {
            main += &format!("set(case {case})\ninclude(${{CMAKE_CURRENT_LIST_DIR}}/case{case}.cmake)\n");
        }
        std::fs::write(folder.0.join("main.cmake"), main).unwrap();
        let output = Command::new("cmake")
            .current_dir(&folder.0)
            .args(["--trace", "--trace-format=json-v1", "-P", "main.cmake"])
            .output()
            .unwrap();
        let mut begun = first;
        let mut found: BTreeMap<usize, Vec<Vec<String>>> = BTreeMap::new();
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            let Ok(traced) = serde_json::from_str::<Traced>(line) else { continue };
            if traced.cmd == "show" {
                found.entry(begun).or_default().push(traced.args);
            } else if traced.cmd == "set" && traced.file.ends_with("main.cmake") {
                begun = traced.args[1].parse().unwrap();
            }
        }
        let good = if output.status.success() { scripts.len() } else { begun };
        for (case, trace) in all.iter_mut().enumerate().take(good).skip(first) {
            *trace = Some(found.remove(&case).unwrap_or_default());
        }
        first = good + usize::from(!output.status.success());
    }
    all
}

#[test]
fn what_differs_in_comments_only_is_the_same_to_cmake() {
    if !is_here("cmake") {
        return;
    }
    let mut random = Random::new(31);
    let count = cases(300);
    let (mut pairs, mut tried) = (Vec::new(), 0);
    while pairs.len() < count && tried < 1000 * count {
        tried += 1;
        let a = script(&mut random);
        let b = edited(&mut random, &a, INSERTIONS);
        if delta("a.cmake", &a, &b).is_some_and(|delta| delta > Delta::Identical && delta < Delta::Code) {
            pairs.push((a, b));
        }
    }
    assert!(pairs.len() >= count, "the generator is no good: {} pairs of {tried}", pairs.len());
    let scripts: Vec<Vec<u8>> = pairs.iter().flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
    let mut valid = 0;
    for ((a, b), traces) in pairs.iter().zip(traced(&scripts).chunks(2)) {
        let [a, b] = [a, b].map(bstr::BStr::new);
        valid += usize::from(traces[0].is_some());
        assert_eq!(traces[0], traces[1], "{a:?} and {b:?}");
    }
    eprintln!("{} pairs of {tried} differ in comments or white space only; {valid} are valid", pairs.len());
    assert!(valid * 5 > pairs.len(), "only {valid} of {}: the generator is no good", pairs.len());
}

#[test]
fn what_cmake_runs_can_be_lexed() {
    if !is_here("cmake") {
        return;
    }
    let mut random = Random::new(37);
    let scripts: Vec<Vec<u8>> = (0..cases(300)).map(|_| script(&mut random)).collect();
    let mut valid = 0;
    for (script, trace) in scripts.iter().zip(traced(&scripts)) {
        let lexed = tokens(Language::CMake, script);
        if trace.is_some() {
            valid += 1;
            assert!(lexed.is_ok(), "CMake takes {:?}: {lexed:?}", bstr::BStr::new(script));
        }
    }
    assert!(valid * 10 > scripts.len(), "only {valid} of {}: the generator is no good", scripts.len());
}
