//! Runs ninja, and asks it what a target is made from.
//!
//! Decides which files a target was really built from: what ninja recorded when the compiler ran.
//! Never guesses from names.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::process::{self, Environment, Finished, OUTPUT_CAP, ProcessError, Program};

/// Where ninja is and where it works.
#[derive(Debug, Clone)]
pub struct Ninja<'a> {
    /// Its file.
    pub program: &'a Path,
    /// The build folder.
    pub build: &'a Path,
    /// The environment of compilers.
    pub env: &'a Environment,
    /// The folder that gets what it prints.
    pub logs: &'a Path,
}

/// What a target is made from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Every file that a step of the target read, as ninja knows it: sources, headers, objects, libraries.
    /// Absolute.
    pub files: BTreeSet<PathBuf>,
    /// The files that CMake read to configure. Absolute.
    pub configure: BTreeSet<PathBuf>,
}

impl Ninja<'_> {
    /// Builds targets. What it prints goes to `log`.
    ///
    /// # Errors
    /// If ninja cannot be run to its end.
    pub fn build(
        &self,
        targets: &[String],
        jobs: Option<usize>,
        log: &Path,
        timeout: Option<Duration>,
    ) -> Result<Finished, ProcessError> {
        let mut args: Vec<String> = jobs.map(|jobs| format!("-j{jobs}")).into_iter().collect();
        args.push("--".to_owned());
        args.extend(targets.iter().cloned());
        self.run(&args, log, timeout)
    }

    /// What a target is made from, as of its last build.
    ///
    /// # Errors
    /// If ninja cannot be run or does not know the target.
    pub fn inputs(&self, target: &str) -> Result<Inputs, NinjaError> {
        // `-t inputs` would say the same, and is missing in ninja 1.10 and quotes for a shell in later ones.
        let known = parse_graph(&self.ask(&["-t", "graph", target], "graph")?);
        let deps = parse_deps(&self.ask(&["-t", "deps"], "deps")?);
        let configure = parse_query(&self.ask(&["-t", "query", "build.ninja"], "query")?);
        let absolute = |path: &str| resolve(self.build, Path::new(path));
        let mut files: BTreeSet<PathBuf> = known.iter().map(|path| absolute(path)).collect();
        for (output, inputs) in &deps {
            if known.contains(output) {
                files.extend(inputs.iter().map(|path| absolute(path)));
            }
        }
        Ok(Inputs { files, configure: configure.iter().map(|path| absolute(path)).collect() })
    }

    fn ask(&self, args: &[&str], name: &str) -> Result<String, NinjaError> {
        let log = self.logs.join(format!("ninja-{name}"));
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let finished = self.run(&args, &log, Some(Duration::from_secs(300)))?;
        let bytes =
            std::fs::read(&log).map_err(|source| ProcessError::Output { path: log.clone(), source })?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if finished.how.is_success() && !finished.truncated {
            return Ok(text);
        }
        let said = text.lines().last().unwrap_or_default().to_owned();
        Err(NinjaError::Refused { asked: args.join(" "), said })
    }

    fn run(&self, args: &[String], log: &Path, timeout: Option<Duration>) -> Result<Finished, ProcessError> {
        let mut env = self.env.clone();
        env.set("NINJA_STATUS", "[%f/%t] ");
        process::run(&Program {
            program: self.program.to_owned(),
            args: args.iter().map(Into::into).collect(),
            dir: self.build.to_owned(),
            env,
            stdout: log.to_owned(),
            stderr: log.to_owned(),
            timeout,
            cap: OUTPUT_CAP,
        })
    }
}

/// Why ninja did not answer.
#[derive(Debug)]
pub enum NinjaError {
    /// It could not be run.
    Process(ProcessError),
    /// It ran and did not know.
    Refused {
        /// The question.
        asked: String,
        /// Its last line.
        said: String,
    },
}

impl From<ProcessError> for NinjaError {
    fn from(error: ProcessError) -> Self {
        NinjaError::Process(error)
    }
}

impl std::fmt::Display for NinjaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NinjaError::Process(error) => error.fmt(f),
            NinjaError::Refused { asked, said } => write!(f, "`ninja {asked}` failed: {said}"),
        }
    }
}

impl std::error::Error for NinjaError {}

/// How many steps a build took: 0 if there was no work to do.
#[must_use]
pub fn count_steps(log: &str) -> usize {
    let done = |line: &str| line.strip_prefix('[')?.split_once('/')?.0.parse().ok();
    // CMake may have run first, and then ninja counts anew: the last count is that of the real build.
    log.lines().filter_map(done).next_back().unwrap_or(0)
}

/// The output of the first step that failed, if ninja said so.
#[must_use]
pub fn failed_step(log: &str) -> Option<&str> {
    // Newer versions of ninja write the exit code first: `FAILED: [code=1] a.o`.
    let line = log.lines().find_map(|line| line.strip_prefix("FAILED: "))?;
    let outputs = match line.strip_prefix('[') {
        Some(rest) => rest.split_once("] ").map_or(rest, |(_, outputs)| outputs),
        None => line,
    };
    outputs.split_whitespace().next()
}

/// Whether an output is made by a rule of CMake's own for compilers and linkers, and by nothing else: not by a
/// command of the project, which may look at anything. `rules` is the text of `build.ninja`.
#[must_use]
pub fn is_made_by_compiler(rules: &str, output: &str) -> bool {
    let mut lines = rules.lines();
    let statement = lines.by_ref().find_map(|line| {
        let (outputs, rest) = line.strip_prefix("build ")?.split_once(": ")?;
        outputs.split(' ').any(|made| made == output).then_some(rest)
    });
    let Some(rule) = statement.and_then(|rest| rest.split(' ').next()) else { return false };
    let commands =
        lines.take_while(|line| line.starts_with(' ')).filter_map(|line| line.trim().split_once(" = "));
    let mut own = commands.filter(|(name, _)| ["PRE_LINK", "POST_BUILD", "PRE_BUILD"].contains(name));
    (rule.contains("_COMPILER__") || rule.contains("_LINKER__"))
        && own.all(|(_, command)| command.trim() == ":")
}

/// `ninja -t graph`: a box for each file, an ellipse or an arrow for each step.
fn parse_graph(text: &str) -> BTreeSet<String> {
    let node = |line: &str| {
        let (id, label) = line.strip_prefix("\"0x")?.split_once("\" [label=\"")?;
        let is_node = id.bytes().all(|b| b.is_ascii_hexdigit());
        Some(label.strip_suffix("\"]").filter(|_| is_node)?.to_owned())
    };
    text.lines().filter_map(node).collect()
}

/// `ninja -t deps`: a paragraph for each output, its inputs indented by four spaces. Records that ninja
/// calls stale count, too: a build came just before.
fn parse_deps(text: &str) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        if let Some(input) = line.strip_prefix("    ") {
            if let Some((_, inputs)) = all.last_mut() {
                inputs.push(input.to_owned());
            }
        } else if let Some((output, _)) = line.split_once(": #deps ") {
            all.push((output.to_owned(), Vec::new()));
        }
    }
    all
}

/// `ninja -t query build.ninja`: the inputs are the files that CMake read.
fn parse_query(text: &str) -> BTreeSet<String> {
    text.lines()
        .skip_while(|line| !line.starts_with("  input:"))
        .skip(1)
        .map_while(|line| line.strip_prefix("    "))
        .map(|line| line.trim_start_matches("|| ").trim_start_matches("| ").to_owned())
        .collect()
}

/// A path as ninja writes it (relative to the build folder) made absolute, `..` resolved by name.
fn resolve(build: &Path, path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in build.join(path).components() {
        match component {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            other => resolved.push(other),
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deps_are_read_a_paragraph_at_a_time() {
        let text = "a.o: #deps 2, deps mtime 17 (VALID)\n    /s/a.cpp\n    ../s/a b.h\n\n\
                    b.o: #deps 1, deps mtime 18 (STALE)\n    /s/b.cpp\n\n";
        assert_eq!(
            parse_deps(text),
            [
                ("a.o".to_owned(), vec!["/s/a.cpp".to_owned(), "../s/a b.h".to_owned()]),
                ("b.o".to_owned(), vec!["/s/b.cpp".to_owned()]),
            ]
        );
    }

    #[test]
    fn the_files_of_a_target_are_the_boxes_of_its_graph() {
        let text = "digraph ninja {\nnode [fontsize=10, shape=box, height=0.25]\n\"0x55\" [label=\"t\"]\n\
                    \"0x56\" [label=\"CXX_LINK\", shape=ellipse]\n\"0x57\" -> \"0x56\" [label=\" phony\"]\n\
                    \"0x57\" [label=\"a b.o\"]\n}\n";
        assert_eq!(parse_graph(text).into_iter().collect::<Vec<_>>(), ["a b.o", "t"]);
    }

    #[test]
    fn the_files_that_cmake_read_are_the_inputs_of_the_build_file() {
        let text = "build.ninja:\n  input: RERUN_CMAKE\n    | /s/CMakeLists.txt\n    | CMakeCache.txt\n  outputs:\n    all\n";
        assert_eq!(
            parse_query(text).into_iter().collect::<Vec<_>>(),
            ["/s/CMakeLists.txt", "CMakeCache.txt"]
        );
    }

    #[test]
    fn steps_are_counted_after_cmake_has_run_again() {
        assert_eq!(count_steps("[0/1] Re-running CMake...\n-- done\n[1/3] A\n[2/3] B\n[3/3] C\n"), 3);
        assert_eq!(count_steps("ninja: no work to do.\n"), 0);
    }

    #[test]
    fn the_step_that_failed_is_named() {
        assert_eq!(failed_step("[1/3] x\nFAILED: a/b.o \n/usr/bin/c++ ...\n"), Some("a/b.o"));
        assert_eq!(failed_step("FAILED: [code=1] a/b.o \n"), Some("a/b.o"));
        assert_eq!(failed_step("[3/3] ok\n"), None);
    }

    #[test]
    fn a_step_of_the_project_is_no_step_of_the_compiler() {
        let rules = "build a.o: CXX_COMPILER__a_unscanned_ /s/a.cpp || x\n  FLAGS = -O2\n\n\
                     build a: CXX_EXECUTABLE_LINKER__a_ a.o\n  POST_BUILD = :\n  PRE_LINK = :\n\n\
                     build b: CXX_EXECUTABLE_LINKER__b_ a.o\n  POST_BUILD = cd /s && ./check\n\n\
                     build c.o: CUSTOM_COMMAND gen\n  COMMAND = ./gen\n";
        let made = ["a.o", "a", "b", "c.o", "d"].map(|output| is_made_by_compiler(rules, output));
        assert_eq!(made, [true, true, false, false, false]);
    }

    #[test]
    fn paths_are_made_absolute_by_name() {
        assert_eq!(resolve(Path::new("/w/build"), Path::new("../tree/./a.h")), Path::new("/w/tree/a.h"));
        assert_eq!(resolve(Path::new("/w/build"), Path::new("/usr/x.h")), Path::new("/usr/x.h"));
    }
}
