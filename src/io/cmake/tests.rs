use super::*;
use crate::io::toolchain;

struct Sample {
    folder: PathBuf,
    tools: Tools,
    env: Environment,
}

impl Sample {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("overlaid-cmake-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("source")).unwrap();
        let env = Environment::of_the_user();
        let tools = toolchain::find_tools(&env).expect("these tests need CMake and ninja");
        let sample = Self { folder, tools, env };
        sample.write(
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.20)\nproject(sample LANGUAGES CXX)\n\
             set(KIND plain CACHE STRING \"\")\nadd_executable(hello hello.cpp other.cpp)\n\
             target_compile_definitions(hello PRIVATE KIND_${KIND})\n",
        );
        sample.write(
            "hello.cpp",
            "#include \"value.h\"\nint other();\nint main() { return VALUE + other(); }\n",
        );
        sample.write("other.cpp", "int other() { return 0; }\n");
        sample.write("value.h", "#define VALUE 0\n");
        sample
    }

    fn write(&self, name: &str, text: &str) {
        // ninja compares times: a change must be newer than what was built.
        std::thread::sleep(Duration::from_millis(20));
        std::fs::write(self.folder.join("source").join(name), text).unwrap();
    }

    fn project(&self) -> Project<'_> {
        Project {
            tools: &self.tools,
            env: &self.env,
            source: self.folder.join("source"),
            build: self.folder.join("build"),
            variables: BTreeMap::new(),
        }
    }

    fn configure(&self, names: &str) -> Option<BuildFailure> {
        let now = ConfiguredFor { names: names.to_owned(), ..ConfiguredFor::default() };
        self.project().configure(&now).unwrap()
    }

    fn build(&self, target: &str) -> Outcome {
        self.project().build(&[target.to_owned()]).unwrap()
    }

    fn failure(&self, target: &str) -> BuildFailure {
        match self.build(target) {
            Outcome::Failed(failure) => failure,
            Outcome::Built(built) => panic!("it builds: {built:?}"),
        }
    }

    fn steps(&self) -> usize {
        match self.build("hello") {
            Outcome::Built(built) => built.steps,
            Outcome::Failed(failure) => panic!("{failure:?}"),
        }
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn what_is_built_is_not_built_again_and_a_change_builds_what_depends_on_it() {
    let sample = Sample::new("steps");
    assert_eq!(sample.configure("1"), None);
    assert_eq!(sample.steps(), 3);
    assert_eq!(sample.configure("1"), None);
    assert_eq!(sample.steps(), 0);
    sample.write("value.h", "#define VALUE 1\n");
    assert_eq!(sample.steps(), 2);
    // Configuring anew with the same sources compiles nothing.
    assert_eq!(sample.configure("2"), None);
    assert_eq!(sample.steps(), 0);
}

#[test]
fn a_target_is_made_from_what_the_compiler_read() {
    let sample = Sample::new("inputs");
    assert_eq!(sample.configure("1"), None);
    sample.write("unused.h", "");
    sample.steps();
    let project = sample.project();
    let notes = project.notes();
    let inputs = project.ninja(&notes).inputs("hello").unwrap();
    let source = sample.folder.join("source");
    for file in ["hello.cpp", "other.cpp", "value.h"] {
        assert!(inputs.files.contains(&source.join(file)), "{file}: {inputs:?}");
    }
    assert!(!inputs.files.contains(&source.join("unused.h")));
    assert!(inputs.configure.contains(&source.join("CMakeLists.txt")));
    let compilers = toolchain::compilers(&sample.folder.join("build"));
    assert_eq!(compilers.iter().map(|c| c.language.as_str()).collect::<Vec<_>>(), ["CXX"]);
}

#[test]
fn values_of_another_variant_do_not_stay_behind_in_cmakes_cache() {
    let sample = Sample::new("cache");
    assert_eq!(sample.configure("1"), None);
    let lists = sample.folder.join("source/CMakeLists.txt");
    let text = std::fs::read_to_string(&lists).unwrap().replace("KIND plain", "KIND fancy");
    sample.write("CMakeLists.txt", &text);
    assert_eq!(sample.configure("2"), None);
    let cache = std::fs::read_to_string(sample.folder.join("build/CMakeCache.txt")).unwrap();
    assert!(cache.contains("KIND:STRING=fancy"), "{cache}");
}

#[test]
fn failures_of_the_sources_say_where_and_what() {
    let sample = Sample::new("failures");
    assert_eq!(sample.configure("1"), None);
    assert_eq!(sample.failure("absent").stage, Stage::Target);

    sample.write("value.h", "#error \"no value\"\n");
    let failure = sample.failure("hello");
    assert_eq!(failure.stage, Stage::Compile);
    assert!(failure.what.contains("no value"), "{failure:?}");

    sample.write("value.h", "#define VALUE 0\n");
    sample.write("other.cpp", "int another() { return 0; }\n");
    let failure = sample.failure("hello");
    assert_eq!(failure.stage, Stage::Link);
    assert!(failure.what.contains("other"), "{failure:?}");

    sample.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(sample LANGUAGES CXX)\nmessage(FATAL_ERROR \"stop here\")\n");
    let failure = sample.configure("2").unwrap();
    assert_eq!(failure.stage, Stage::Configure);
    assert!(failure.what.contains("stop here"), "{failure:?}");
}

#[test]
fn a_machine_without_a_compiler_is_not_a_failure_of_the_sources() {
    let mut sample = Sample::new("machine");
    sample.env.set("CXX", "/nowhere/c++");
    let error = sample.project().configure(&ConfiguredFor::default()).unwrap_err();
    assert!(matches!(error, BuildError::Environment { .. }), "{error}");
    sample.env.set("CXX", "/bin/false");
    let error = sample.project().configure(&ConfiguredFor::default()).unwrap_err();
    assert!(matches!(error, BuildError::Environment { .. }), "{error}");
}

#[test]
fn killed_and_full_disks_are_the_machines_fault() {
    assert!(machine_trouble(How::Signaled(9), "").is_some());
    let full = "/tmp/cc.s: fatal error: error writing to /tmp/x: No space left on device\n";
    assert!(machine_trouble(How::Exited(1), full).is_some());
    let killed = "c++: fatal error: Killed signal terminated program cc1plus\n";
    assert!(machine_trouble(How::Exited(1), killed).is_some());
    assert_eq!(machine_trouble(How::Exited(1), "a.cpp:1:1: error: expected ';'\n"), None);
}
