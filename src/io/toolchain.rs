//! Which tools build and run here, and what makes each of them itself.
//!
//! Decides what is there and what is missing. A tool's identity is the hash of its file, a device's what the
//! driver says about it; only the driver is asked by a program. Missing is a value: it makes a verdict
//! inconclusive, never right or wrong.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::cuda;
use super::device::{self, Device};
use super::hashes::{Hashes, sha256_of};
use super::process::Environment;

/// The programs that configure and build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tools {
    /// CMake.
    pub cmake: PathBuf,
    /// ninja.
    pub ninja: PathBuf,
}

/// Something that is needed and not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What is not here.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

/// A compiler that CMake chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// `C`, `CXX`, `CUDA` ...
    pub language: String,
    /// Its file.
    pub path: PathBuf,
    /// CMake's name for its maker: `GNU`, `Clang`, `NVIDIA` ...
    pub maker: String,
    /// Its version.
    pub version: String,
}

/// Whether this machine has what a profile requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// Nothing special is required.
    Nothing,
    /// It is here.
    Device(Device),
    /// A tool for it is not here.
    NoTool(Missing),
    /// The device is not here.
    NoDevice(Missing),
}

/// The user's environment with the project's own tool folders in front of `PATH`: where `make` puts
/// CMake and ninja when the machine has none.
#[must_use]
pub fn environment(root: &Path) -> Environment {
    let mut env = Environment::of_the_user();
    let own = [root.join(".overlaid/tools/bin"), root.join("target/tools/bin")];
    let own: Vec<PathBuf> = own.into_iter().filter(|folder| folder.is_dir()).collect();
    if !own.is_empty() {
        let users = env.get("PATH").map(ToOwned::to_owned).unwrap_or_default();
        // What is on PATH already comes first: it is what the user means.
        let all: Vec<PathBuf> = std::env::split_paths(&users).chain(own).collect();
        if let Ok(joined) = std::env::join_paths(all) {
            env.set("PATH", joined);
        }
    }
    env
}

/// CMake and ninja on `PATH`.
///
/// # Errors
/// The first that is not there.
pub fn find_tools(env: &Environment) -> Result<Tools, Missing> {
    let find = |names: &[&str], what: &str| {
        names.iter().find_map(|name| env.find(Path::new(name))).ok_or_else(|| Missing {
            what: format!("{what} is not on PATH"),
            hint: format!("install it: `apt-get install {what}-build` or `pip install {what}`")
                .replace("cmake-build", "cmake"),
        })
    };
    Ok(Tools { cmake: find(&["cmake"], "cmake")?, ninja: find(&["ninja", "ninja-build"], "ninja")? })
}

/// The compilers that a configured build folder uses, from what CMake wrote there.
#[must_use]
pub fn compilers(build: &Path) -> Vec<Compiler> {
    let Ok(folders) = std::fs::read_dir(build.join("CMakeFiles")) else {
        return Vec::new();
    };
    let mut compilers: Vec<Compiler> = folders
        .filter_map(Result::ok)
        .filter(|folder| folder.file_name().to_string_lossy().starts_with(|c: char| c.is_ascii_digit()))
        .filter_map(|folder| std::fs::read_dir(folder.path()).ok())
        .flatten()
        .filter_map(Result::ok)
        .filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            let language = name.strip_prefix("CMake")?.strip_suffix("Compiler.cmake")?.to_owned();
            parse_compiler(&language, &std::fs::read_to_string(file.path()).ok()?)
        })
        .collect();
    compilers.sort_by(|a, b| a.language.cmp(&b.language));
    compilers
}

fn parse_compiler(language: &str, text: &str) -> Option<Compiler> {
    let value = |what: &str| {
        let start = format!("set(CMAKE_{language}_{what} \"");
        let line = text.lines().find_map(|line| line.strip_prefix(&start))?;
        Some(line.split('"').next()?.to_owned())
    };
    Some(Compiler {
        path: value("COMPILER")?.into(),
        maker: value("COMPILER_ID").unwrap_or_default(),
        version: value("COMPILER_VERSION").unwrap_or_default(),
        language: language.to_owned(),
    })
}

/// What makes a build here differ from one elsewhere, before anything is configured: the files of
/// CMake and ninja, the compilers that CMake would find, and the variables that steer them. [`all_variables`] counts besides.
///
/// # Errors
/// If a tool's file cannot be read.
pub fn steering(
    tools: &Tools,
    env: &Environment,
    hashes: &mut Hashes,
) -> std::io::Result<BTreeMap<String, String>> {
    /// Variables that CMake and compilers read.
    const VARIABLES: [&str; 24] = [
        "ASFLAGS",
        "CC",
        "CCC_OVERRIDE_OPTIONS",
        "CFLAGS",
        "COMPILER_PATH",
        "CPATH",
        "CPLUS_INCLUDE_PATH",
        "CPPFLAGS",
        "CUDAARCHS",
        "CUDACXX",
        "CUDAFLAGS",
        "CUDAHOSTCXX",
        "CUDA_PATH",
        "CXX",
        "CXXFLAGS",
        "C_INCLUDE_PATH",
        "GCC_EXEC_PREFIX",
        "HIPCXX",
        "LDFLAGS",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "LIBRARY_PATH",
        "NVCC_APPEND_FLAGS",
        "NVCC_PREPEND_FLAGS",
    ];
    let mut steering = BTreeMap::new();
    for (name, value) in env.iter() {
        let name = name.to_string_lossy();
        if VARIABLES.contains(&name.as_ref()) || name.starts_with("CMAKE_") || name.ends_with("_ROOT") {
            steering.insert(format!("variable {name}"), value.to_string_lossy().into_owned());
        }
    }
    for (name, file) in
        [("cmake", Some(tools.cmake.clone())), ("ninja", Some(tools.ninja.clone()))].into_iter().chain(
            ["cc", "c++", "gcc", "g++", "clang", "clang++", "nvcc", "as", "ld", "ccache"]
                .map(|name| (name, env.find(Path::new(name)))),
        )
    {
        if let Some(file) = file {
            steering.insert(
                format!("program {name}"),
                format!("{} {}", real(&file).display(), hashes.sha256(&file)?),
            );
        }
    }
    let by_variable = ["CC", "CXX", "CUDACXX", "CUDAHOSTCXX", "HIPCXX", "CMAKE_TOOLCHAIN_FILE"];
    for name in by_variable {
        let value = env.get(name).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
        for (index, file) in named_files(&value, env, hashes).into_iter().enumerate() {
            steering.insert(format!("program of {name} {index}"), file);
        }
    }
    Ok(steering)
}

/// The file behind links: found by way of another folder it is the same program.
fn real(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

/// A compiler that is named by a variable or an option may be followed by arguments, or be a launcher with a
/// compiler: every word that is a file counts. Gives the files, each with its hash.
pub fn named_files(value: &str, env: &Environment, hashes: &mut Hashes) -> Vec<String> {
    let words = value.split([' ', ';']).filter(|word| !word.is_empty() && !word.starts_with('-'));
    let files = words.filter_map(|word| env.find(Path::new(word))).filter(|file| file.is_file());
    files
        .map(|file| {
            let hash = hashes.sha256(&file).unwrap_or_else(|error| error.kind().to_string());
            format!("{} {hash}", file.display())
        })
        .collect()
}

/// The folders of `PATH` that make a difference, in order. What a build or a test looks up there is not known, so
/// each folder counts in which something is found that no folder before it has: a folder that is not there, is
/// empty, or has only what others have first, is no other `PATH`. A folder of programs beside which packages may be
/// (CMake looks there) always counts, and so does one that is not absolute.
#[must_use]
pub fn path_that_counts(env: &Environment) -> String {
    let mut counted: Vec<PathBuf> = Vec::new();
    let mut real: Vec<PathBuf> = Vec::new();
    for folder in std::env::split_paths(env.get("PATH").unwrap_or_default()) {
        if !folder.is_absolute() {
            counted.push(folder);
            continue;
        }
        let target = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let mut names = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        let is_new = |name: &std::ffi::OsStr| !real.iter().any(|before| before.join(name).exists());
        let finds_more = !real.contains(&target) && names.any(|entry| is_new(&entry.file_name()));
        let is_bin = folder.ends_with("bin") || folder.ends_with("sbin");
        let beside = |name: &str| folder.parent().is_some_and(|prefix| prefix.join(name).is_dir());
        let has_packages = is_bin && ["cmake", "include", "lib", "lib64", "share"].into_iter().any(beside);
        if has_packages && !real.contains(&target) {
            counted.push(folder);
        } else if finds_more {
            // By its real name: a link to it is the same place.
            counted.push(target.clone());
        }
        real.push(target);
    }
    counted.iter().map(|folder| format!("{}:", folder.display())).collect()
}

/// A hash over all variables that programs are given, save those that say where and by whom they are run:
/// nobody knows which of them a build or a test heeds. Of `PATH` that counts what is found there. Values are not
/// kept: some are secrets.
#[must_use]
pub fn all_variables(env: &Environment) -> String {
    const NO_MATTER: [&str; 42] = [
        "_",
        "COLORTERM",
        "COLUMNS",
        "CI",
        "DISPLAY",
        "EDITOR",
        "HOME",
        "HOSTNAME",
        "INVOCATION_ID",
        "JOURNAL_STREAM",
        "LESS",
        "LESSCLOSE",
        "LESSOPEN",
        "LINES",
        "LOGNAME",
        "LS_COLORS",
        "MAIL",
        "MOTD_SHOWN",
        "OLDPWD",
        "PAGER",
        "PROMPT",
        "PROMPT_COMMAND",
        "PS1",
        "PS2",
        "PWD",
        "RUST_BACKTRACE",
        "RUST_LIB_BACKTRACE",
        "SHELL",
        "SHLVL",
        "STY",
        "TERM",
        "TERM_PROGRAM",
        "TERM_PROGRAM_VERSION",
        "TMPDIR",
        "TMUX",
        "TMUX_PANE",
        "USER",
        "USERNAME",
        "VISUAL",
        "WINDOWID",
        "http_proxy",
        "https_proxy",
    ];
    const NO_MATTER_BEGINNINGS: [&str; 14] = [
        "CARGO", "CI_", "DBUS_", "GITHUB_", "GITLAB_", "GPG_", "HIST", "RUNNER_", "RUSTUP", "SSH_",
        "SYSTEMD_", "VSCODE_", "WAYLAND_", "XDG_",
    ];
    let counts = |name: &str| {
        !NO_MATTER.contains(&name)
            && !NO_MATTER_BEGINNINGS.iter().any(|start| name.starts_with(start))
            && !["_TOKEN", "_SECRET", "_PASSWORD"].iter().any(|end| name.ends_with(end))
    };
    let mut text = String::new();
    for (name, value) in env.iter() {
        let name = name.to_string_lossy();
        if name == "PATH" {
            text.push_str(&format!("{name}={:?}\n", path_that_counts(env)));
        } else if counts(&name) {
            text.push_str(&format!("{name}={value:?}\n"));
        }
    }
    sha256_of(text.as_bytes())
}

/// Whether this machine has what a profile requires. Tells CMake of a toolkit that it would not look for.
#[must_use]
pub fn require(what: Option<&str>, root: &Path, env: &mut Environment) -> Requirement {
    match what {
        None => Requirement::Nothing,
        Some("cuda") => require_cuda(root, env),
        Some(other) => Requirement::NoDevice(Missing {
            what: format!("the profile requires `{other}`, and nothing here knows how to look for that"),
            hint: "`requires` can be \"cuda\"".to_owned(),
        }),
    }
}

fn require_cuda(root: &Path, env: &mut Environment) -> Requirement {
    let toolkit = match cuda::find(root, env) {
        Ok(toolkit) => toolkit,
        Err(missing) => return Requirement::NoTool(missing),
    };
    toolkit.tell(env);
    match device::find(env, &root.join(".overlaid")) {
        Err(missing) => Requirement::NoDevice(missing),
        Ok(device) => match toolkit.version() {
            Some(version) if !device::is_new_enough(&device.driver, &version) => {
                Requirement::NoDevice(device::too_old(&device.driver, &version))
            }
            _ => Requirement::Device(device),
        },
    }
}

/// The processor, as the system names it.
#[must_use]
pub fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    name.unwrap_or(std::env::consts::ARCH).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cmake_wrote_about_a_compiler_is_read() {
        let text = "set(CMAKE_CXX_COMPILER \"/usr/bin/c++\")\nset(CMAKE_CXX_COMPILER_ARG1 \"\")\n\
                    set(CMAKE_CXX_COMPILER_ID \"GNU\")\nset(CMAKE_CXX_COMPILER_VERSION \"12.2.0\")\n";
        let compiler = parse_compiler("CXX", text).unwrap();
        assert_eq!(compiler.path, Path::new("/usr/bin/c++"));
        assert_eq!((compiler.maker.as_str(), compiler.version.as_str()), ("GNU", "12.2.0"));
    }

    #[test]
    fn of_path_that_counts_which_finds_something() {
        let top = std::env::temp_dir().join(format!("overlaid-path-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&top);
        for file in ["one/x", "two/x", "two/y", "p/bin/x", "p/lib/z", "q/bin/x"] {
            std::fs::create_dir_all(top.join(file).parent().unwrap()).unwrap();
            std::fs::write(top.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink(top.join("two"), top.join("link")).unwrap();
        let counts = |folders: &[&str]| {
            let mut env = Environment::empty();
            env.set("PATH", std::env::join_paths(folders.iter().map(|folder| top.join(folder))).unwrap());
            path_that_counts(&env)
        };
        let plain = counts(&["one", "two"]);
        assert_eq!(plain.matches(':').count(), 2);
        // Not there, found before, the same by another name, nothing but what others have first.
        assert_eq!(counts(&["gone", "one", "two", "one", "link", "q/bin"]), plain);
        assert_eq!(counts(&["one", "link"]), plain);
        // Another order; a folder with more in it; packages beside it.
        for other in [&["two", "one"][..], &["q/bin", "one", "two"], &["one", "two", "p/bin"], &["one"]] {
            assert_ne!(counts(other), plain, "{other:?}");
        }
        // It comes to be.
        std::fs::create_dir(top.join("gone")).unwrap();
        std::fs::write(top.join("gone/z"), "").unwrap();
        assert_ne!(counts(&["gone", "one", "two"]), plain);
        std::fs::remove_dir_all(&top).unwrap();
    }

    #[test]
    fn a_machine_without_tools_or_devices_says_what_is_missing() {
        let mut env = Environment::empty();
        env.set("PATH", "/nowhere");
        assert!(find_tools(&env).unwrap_err().what.starts_with("cmake"));
        let root = std::env::temp_dir();
        assert!(matches!(require(Some("tpu"), &root, &mut env), Requirement::NoDevice(_)));
        env.set("CUDACXX", "/nowhere/nvcc");
        assert!(matches!(require(Some("cuda"), &root, &mut env), Requirement::NoTool(_)));
    }
}
