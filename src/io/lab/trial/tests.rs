use super::*;

/// A test in sh that announces `cases` and does what its second argument says for each; it leaves out what
/// `OVERLAID_SKIP` names.
const SCRIPT: &str = r#"
pass() { echo "{\"case\": {\"n\": $1}, \"metric\": \"e\", \"value\": 0, \"max\": 1}" >> "$OVERLAID_RESULTS"; }
for n in 1 2 3 4; do
  line="{\"n\":$n}"
  if [ -n "$OVERLAID_SKIP" ] && grep -qxF "$line" "$OVERLAID_SKIP"; then continue; fi
  if [ -n "$OVERLAID_ONLY" ] && ! grep -qxF "$line" "$OVERLAID_ONLY"; then continue; fi
  echo "{\"case\": {\"n\": $n}, \"status\": \"start\"}" >> "$OVERLAID_RESULTS"
  case "$n" in $BAD) eval "$HOW";; esac
  pass $n
done
"#;

struct Bench {
    folder: PathBuf,
    command: Vec<OsString>,
    env: Environment,
}

impl Bench {
    fn new(name: &str, bad: &str, how: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("overlaid-trial-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let mut env = Environment::empty();
        env.set("PATH", "/usr/bin:/bin");
        env.set("BAD", bad);
        env.set("HOW", how);
        Self { folder, command: ["sh", "-c", SCRIPT].map(OsString::from).to_vec(), env }
    }

    fn run(&self, format: Format) -> Run {
        let trial = Trial {
            command: &self.command,
            env: &self.env,
            format,
            timeout: Duration::from_millis(700),
            folder: &self.folder,
            patience: Duration::from_secs(20),
            no_device: None,
        };
        trial.run(7, 1).unwrap()
    }

    fn outcomes(&self) -> Vec<String> {
        let run = self.run(Format::Jsonl);
        run.cells.iter().map(|cell| format!("{} {:?}", cell.case, cell.outcome)).collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const PASS: [&str; 5] =
    [r#"{"n":1} Pass"#, r#"{"n":2} Pass"#, r#"{"n":3} Pass"#, r#"{"n":4} Pass"#, "run Pass"];

#[test]
fn a_run_without_trouble_takes_one_process() {
    let bench = Bench::new("plain", "none", "");
    assert_eq!(bench.outcomes(), PASS);
    assert_eq!(bench.run(Format::Jsonl).processes.len(), 1);
}

#[test]
fn a_crash_fails_its_case_and_the_rest_runs_in_fresh_processes() {
    let bench = Bench::new("crash", "[23]", "kill -SEGV $$");
    let mut expected = PASS.map(ToOwned::to_owned);
    expected[1] = r#"{"n":2} Fail { how: Crash { signal: 11 } }"#.to_owned();
    expected[2] = r#"{"n":3} Fail { how: Crash { signal: 11 } }"#.to_owned();
    assert_eq!(bench.outcomes(), expected);
    assert_eq!(bench.run(Format::Jsonl).processes.len(), 3);
}

#[test]
fn an_exit_in_a_case_is_the_cases_and_the_rest_runs() {
    let bench = Bench::new("exit", "1", "exit 3");
    let mut expected = PASS.map(ToOwned::to_owned);
    expected[0] = r#"{"n":1} Fail { how: Died { status: 3 } }"#.to_owned();
    assert_eq!(bench.outcomes(), expected);
}

#[test]
fn a_hang_takes_its_time_once_or_twice_and_not_for_every_case() {
    let bench = Bench::new("hang", "[123]", "sleep 100");
    let outcomes = bench.outcomes();
    assert!(outcomes[0].contains("Timeout") && outcomes[1].contains("Timeout"), "{outcomes:?}");
    assert!(!outcomes.iter().any(|outcome| outcome.starts_with(r#"{"n":3}"#)), "{outcomes:?}");
}

#[test]
fn a_test_that_does_not_leave_out_what_it_is_told_to_ends_after_one_more_process() {
    let mut bench = Bench::new("deaf", "2", "kill -SEGV $$");
    let deaf = SCRIPT.replace("OVERLAID_SKIP", "IGNORED");
    bench.command = vec!["sh".into(), "-c".into(), deaf.into()];
    assert_eq!(bench.run(Format::Jsonl).processes.len(), 2);
}

#[test]
fn a_crash_after_the_last_case_takes_no_case_with_it() {
    let mut bench = Bench::new("late", "none", "");
    bench.command = vec!["sh".into(), "-c".into(), format!("{SCRIPT}\nkill -SEGV $$").into()];
    assert_eq!(bench.outcomes(), PASS);
    bench.env.set("BAD", "2");
    bench.env.set("HOW", "kill -ABRT $$");
    let mut expected = PASS.map(ToOwned::to_owned);
    expected[1] = r#"{"n":2} Fail { how: Crash { signal: 6 } }"#.to_owned();
    assert_eq!(bench.outcomes(), expected);
}

#[test]
fn a_kill_from_outside_is_nobodys_fault_and_ends_the_run() {
    let bench = Bench::new("kill", "2", "kill -KILL $$");
    let outcomes = bench.outcomes();
    assert!(outcomes[1].contains("Killed"), "{outcomes:?}");
    assert_eq!(bench.run(Format::Jsonl).processes.len(), 1);
}

#[test]
fn results_can_go_to_standard_output() {
    let mut bench = Bench::new("stdout", "none", "");
    let script = SCRIPT.replace(">> \"$OVERLAID_RESULTS\"", "");
    bench.command = vec!["sh".into(), "-c".into(), format!("echo hello; {script}").into()];
    assert_eq!(bench.outcomes(), PASS);
}

#[test]
fn a_program_that_is_not_there_is_not_a_failure() {
    let mut bench = Bench::new("absent", "none", "");
    bench.command = vec![bench.folder.join("absent").into()];
    for format in [Format::Jsonl, Format::Junit, Format::Exit] {
        let run = bench.run(format);
        assert!(matches!(run.cells[0].outcome, CellOutcome::Unknown { .. }), "{run:?}");
    }
}

#[test]
fn exit_codes_say_pass_fail_and_skip() {
    for (code, word) in [(0, "Pass"), (1, "Fail"), (77, "Skip")] {
        let mut bench = Bench::new(&format!("code-{code}"), "none", "");
        bench.command = vec!["sh".into(), "-c".into(), format!("exit {code}").into()];
        let outcome = format!("{:?}", bench.run(Format::Exit).cells[0].outcome);
        assert!(outcome.starts_with(word), "{outcome}");
    }
}
