use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("overlaid-process-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn sh(&self, script: &str) -> Program {
        let mut env = Environment::empty();
        env.set("PATH", "/usr/bin:/bin");
        Program {
            program: "sh".into(),
            args: vec!["-c".into(), script.into()],
            dir: self.0.clone(),
            env,
            stdout: self.0.join("out"),
            stderr: self.0.join("err"),
            timeout: Some(Duration::from_secs(20)),
            cap: OUTPUT_CAP,
        }
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether a process is gone within a moment.
fn is_gone(pid: &str) -> bool {
    (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        !std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
            .is_ok_and(|stat| !stat.contains(") Z "))
    })
}

#[test]
fn a_program_ends_with_its_code_and_its_outputs_are_kept_apart() {
    let folder = Folder::new("code");
    let finished = run(&folder.sh("echo good; echo bad >&2; exit 7")).unwrap();
    assert_eq!(finished.how, How::Exited(7));
    assert_eq!((folder.read("out").as_str(), folder.read("err").as_str()), ("good\n", "bad\n"));
}

#[test]
fn both_outputs_in_one_file_stay_in_order() {
    let folder = Folder::new("one-file");
    let mut program = folder.sh("echo 1; echo 2 >&2; echo 3");
    program.stderr = program.stdout.clone();
    run(&program).unwrap();
    assert_eq!(folder.read("out"), "1\n2\n3\n");
}

#[test]
fn a_crash_is_a_signal_and_has_a_name() {
    let folder = Folder::new("crash");
    let finished = run(&folder.sh("kill -SEGV $$")).unwrap();
    assert_eq!(finished.how, How::Signaled(11));
    assert_eq!(finished.how.to_string(), "ended by signal 11 (SIGSEGV)");
}

#[test]
fn a_timeout_ends_what_the_program_started_too_even_if_it_does_not_listen() {
    let folder = Folder::new("timeout");
    let mut program =
        folder.sh("trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 1; done' & wait");
    program.timeout = Some(Duration::from_millis(300));
    let finished = run(&program).unwrap();
    assert_eq!(finished.how, How::TimedOut);
    assert!(finished.wall < Duration::from_secs(10), "{:?}", finished.wall);
    assert!(is_gone(&folder.read("pid")));
}

#[test]
fn what_a_program_leaves_behind_does_not_keep_us_waiting_and_is_ended() {
    let folder = Folder::new("left");
    let finished = run(&folder.sh("sleep 100 & echo $! > pid; exit 0")).unwrap();
    assert_eq!(finished.how, How::Exited(0));
    assert!(finished.wall < Duration::from_secs(10), "{:?}", finished.wall);
    assert!(is_gone(&folder.read("pid")));
}

#[test]
fn endless_output_does_not_fill_the_disk() {
    let folder = Folder::new("endless");
    let mut program = folder.sh("yes");
    program.cap = 1000;
    program.timeout = Some(Duration::from_millis(200));
    let finished = run(&program).unwrap();
    assert!(finished.truncated);
    assert_eq!(folder.read("out").len(), 1000);
}

#[test]
fn a_program_gets_only_the_variables_that_it_is_given() {
    let folder = Folder::new("env");
    let mut program = folder.sh("env");
    program.env.set("A", "1");
    run(&program).unwrap();
    let out = folder.read("out");
    assert!(out.contains("A=1\n") && !out.contains("HOME="), "{out}");
}

#[test]
fn a_program_that_is_not_there_is_said_so() {
    let folder = Folder::new("none");
    let mut program = folder.sh("");
    program.program = "no-such-program".into();
    assert!(matches!(run(&program), Err(ProcessError::NotFound { .. })));
    program.program = folder.0.join("absent");
    assert!(matches!(run(&program), Err(ProcessError::NotFound { .. })));
}

#[test]
fn gits_and_cmakes_steering_variables_are_not_passed_on() {
    let given = [("GIT_DIR", "/x"), ("CMAKE_GENERATOR", "Xcode"), ("CXX", "clang++"), ("LC_ALL", "de_DE")];
    let env = Environment::scrubbed(given.map(|(name, value)| (name.into(), value.into())));
    assert_eq!(env.get("GIT_DIR"), None);
    assert_eq!(env.get("CMAKE_GENERATOR"), None);
    assert_eq!(env.get("CXX"), Some(OsStr::new("clang++")));
    assert_eq!(env.get("LC_ALL"), Some(OsStr::new("C")));
}
