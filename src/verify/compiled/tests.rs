use std::time::Duration;

use super::*;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn overlaid(path: &str) -> Overlaid {
    let file = PathBuf::from("/t").join(path);
    Overlaid {
        path: UpstreamPath::parse(path).unwrap(),
        overlay: None,
        target: file.clone(),
        file,
        written: Some(at(10)),
        deleted: false,
    }
}

fn files(names: &[&str]) -> BTreeSet<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

fn step(output: &str, made: Option<u64>, inputs: Inputs) -> Step {
    Step { output: output.to_owned(), made: made.map(at), inputs }
}

fn build(steps: Vec<Step>) -> Build {
    Build { steps, ..Build::default() }
}

/// The readings of `/t/a.h`, written at 10, by the steps of a build.
fn reading(steps: Vec<Step>) -> Reading {
    judge(&overlaid("a.h"), &build(steps))
}

#[test]
fn only_what_a_compiler_recorded_after_the_file_was_written_is_compiled() {
    let read = |made| step("a.o", made, Inputs::Recorded(files(&["/t/a.h"])));
    assert_eq!(reading(vec![read(Some(11))]), Reading::Compiled);
    assert_eq!(reading(vec![read(Some(9))]), Reading::Behind { output: "a.o".to_owned() });
    assert_eq!(reading(vec![read(None)]), Reading::NotBuilt { output: "a.o".to_owned() });
    assert_eq!(reading(vec![step("b.o", Some(11), Inputs::Recorded(files(&["/t/b.h"])))]), Reading::NotRead);
}

#[test]
fn one_reader_that_is_older_makes_the_build_behind() {
    let read = |output, made| step(output, Some(made), Inputs::Recorded(files(&["/t/a.h"])));
    let steps = vec![read("new.o", 20), read("old.o", 5)];
    assert_eq!(reading(steps), Reading::Behind { output: "old.o".to_owned() });
}

#[test]
fn a_record_of_an_earlier_run_and_a_build_that_records_nothing_are_unknown() {
    let outdated = step("a.o", Some(11), Inputs::Outdated(files(&["/t/a.h"])));
    assert!(matches!(reading(vec![outdated]), Reading::Unknown { .. }));
    let blind = Build { blind: true, ..Build::default() };
    assert!(matches!(judge(&overlaid("a.h"), &blind), Reading::Unknown { .. }));
}

#[test]
fn what_a_build_file_says_is_less_than_what_a_compiler_recorded() {
    let declared = step("a.txt", Some(11), Inputs::Declared(files(&["/t/a.h"])));
    assert_eq!(reading(vec![declared.clone()]), Reading::Declared { output: "a.txt".to_owned() });
    let recorded = step("a.o", Some(11), Inputs::Recorded(files(&["/t/a.h"])));
    assert_eq!(reading(vec![declared, recorded]), Reading::Compiled);
}

#[test]
fn cmake_reads_its_own_files_only() {
    let build = Build {
        configure: files(&["/t/a.h", "/t/x/CMakeLists.txt", "/t/old.cmake"]),
        configured: Some(at(11)),
        ..Build::default()
    };
    assert_eq!(judge(&overlaid("x/CMakeLists.txt"), &build), Reading::Configured);
    assert_eq!(judge(&overlaid("a.h"), &build), Reading::NotRead);
    assert_eq!(judge(&overlaid("y/CMakeLists.txt"), &build), Reading::NotRead);
    let mut edited = overlaid("old.cmake");
    edited.written = Some(at(12));
    assert!(matches!(judge(&edited, &build), Reading::Behind { .. }));
}

#[test]
fn a_deleted_path_must_be_in_nothing_that_is_there() {
    let mut gone = overlaid("a.h");
    (gone.deleted, gone.written) = (true, None);
    let read = |made| build(vec![step("a.o", made, Inputs::Recorded(files(&["/t/a.h"])))]);
    assert_eq!(judge(&gone, &read(Some(11))), Reading::Behind { output: "a.o".to_owned() });
    assert_eq!(judge(&gone, &read(None)), Reading::Gone);
    assert_eq!(judge(&gone, &build(Vec::new())), Reading::Gone);
}
