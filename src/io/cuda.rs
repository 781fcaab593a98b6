//! The CUDA toolkit: where its compiler is, and what must be said so that CMake finds and can use it.
//!
//! Decides nothing about devices. In this order: the compiler that `CUDACXX` names, `nvcc` on `PATH`, the toolkit
//! below `CUDA_PATH` or in its usual place, and wheels of nvcc in a folder of our repository (`target/cuda` or
//! `.overlaid/cuda`, as `pip install --target` leaves them). Starts no program.

use std::path::{Path, PathBuf};

use super::process::Environment;
use super::toolchain::Missing;

/// A CUDA toolkit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolkit {
    /// Its compiler, as it was named.
    pub nvcc: PathBuf,
    /// The folder of its `bin`, `include` and libraries, links followed.
    prefix: PathBuf,
}

/// The toolkit for this environment and repository.
///
/// # Errors
/// If there is none.
pub fn find(root: &Path, env: &Environment) -> Result<Toolkit, Missing> {
    let file = |file: PathBuf| Some(file).filter(|file| file.is_file());
    let nvcc = match env.get("CUDACXX").filter(|named| !named.is_empty()) {
        // A compiler that is named and not there is not replaced by another one.
        Some(named) => env.find(Path::new(named)).and_then(file),
        None => env
            .find(Path::new("nvcc"))
            .or_else(|| file(PathBuf::from(env.get("CUDA_PATH")?).join("bin/nvcc")))
            .or_else(|| file("/usr/local/cuda/bin/nvcc".into()))
            .or_else(|| in_wheels(root)),
    };
    let named = env.get("CUDACXX").map(|named| named.to_string_lossy().into_owned()).unwrap_or_default();
    let nvcc = nvcc.ok_or_else(|| Missing {
        what: match named.as_str() {
            "" => "no CUDA compiler: nvcc is not on PATH".to_owned(),
            named => format!("no CUDA compiler: CUDACXX is `{named}`, and that is not there"),
        },
        hint: "install the CUDA toolkit or its wheels (docs/cuda.md says which), or name its compiler in CUDACXX"
            .to_owned(),
    })?;
    let real = nvcc.canonicalize().unwrap_or_else(|_| nvcc.clone());
    let prefix = real.parent().and_then(Path::parent).unwrap_or(Path::new("/")).to_owned();
    Ok(Toolkit { nvcc, prefix })
}

/// The nvcc of wheels in a folder of ours: `nvidia/cu13/bin/nvcc`. Of several versions the newest.
fn in_wheels(root: &Path) -> Option<PathBuf> {
    [".overlaid/cuda", "target/cuda"].into_iter().find_map(|folder| {
        let versions = std::fs::read_dir(root.join(folder).join("nvidia")).ok()?;
        let mut found: Vec<PathBuf> = versions
            .filter_map(|entry| Some(entry.ok()?.path().join("bin/nvcc")))
            .filter(|nvcc| nvcc.is_file())
            .collect();
        found.sort();
        found.pop()
    })
}

impl Toolkit {
    /// Tells CMake of a compiler that it would not look for, and the compiler of libraries where wheels have them:
    /// in `lib`, and nvcc links with `lib64`.
    pub fn tell(&self, env: &mut Environment) {
        if env.get("CUDACXX").is_none_or(|named| named.is_empty()) && env.find(Path::new("nvcc")).is_none() {
            env.set("CUDACXX", &self.nvcc);
        }
        let lib = self.prefix.join("lib");
        let is_wheel = lib.join("libcudart_static.a").is_file() && !self.prefix.join("lib64").exists();
        let users = env.get("NVCC_APPEND_FLAGS").map(|flags| flags.to_string_lossy().into_owned());
        let users = users.unwrap_or_default();
        let more = format!("-L{}", lib.display());
        if is_wheel && !users.split(' ').any(|flag| flag == more) {
            env.set("NVCC_APPEND_FLAGS", [users.as_str(), more.as_str()].join(" ").trim());
        }
    }

    /// Its version, from the header that says it: `13.0`. `None`: it is not where headers are.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        let folders = ["include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"];
        let headers = folders.map(|folder| self.prefix.join(folder).join("cuda_runtime_api.h"));
        let text = headers.iter().find_map(|header| std::fs::read_to_string(header).ok())?;
        let digits = text.lines().find_map(|line| line.trim().strip_prefix("#define CUDART_VERSION"))?;
        let number: u32 = digits.trim().parse().ok()?;
        Some(format!("{}.{}", number / 1000, number % 1000 / 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with wheels as pip unpacks them.
    fn wheels(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("overlaid-cuda-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        for file in ["bin/nvcc", "lib/libcudart_static.a", "include/cuda_runtime_api.h"] {
            let file = root.join("target/cuda/nvidia/cu13").join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "/* */\n#define CUDART_VERSION  13010\n").unwrap();
        }
        root.canonicalize().unwrap()
    }

    fn empty() -> Environment {
        let mut env = Environment::empty();
        env.set("PATH", "/nowhere");
        env.set("CUDA_PATH", "/nowhere");
        env
    }

    #[test]
    fn wheels_in_our_repository_are_a_toolkit_and_cmake_is_told() {
        let root = wheels("told");
        let mut env = empty();
        let toolkit = find(&root, &env).unwrap();
        assert_eq!(toolkit.version().as_deref(), Some("13.1"));
        env.set("NVCC_APPEND_FLAGS", "-lineinfo");
        toolkit.tell(&mut env);
        toolkit.tell(&mut env);
        let prefix = root.join("target/cuda/nvidia/cu13");
        assert_eq!(env.get("CUDACXX").unwrap(), prefix.join("bin/nvcc").as_os_str());
        let flags = format!("-lineinfo -L{}", prefix.join("lib").display());
        assert_eq!(env.get("NVCC_APPEND_FLAGS").unwrap(), flags.as_str());
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_toolkit_with_lib64_is_told_nothing() {
        let root = wheels("whole");
        let prefix = root.join("target/cuda/nvidia/cu13");
        std::fs::create_dir(prefix.join("lib64")).unwrap();
        let mut env = empty();
        env.set("CUDACXX", prefix.join("bin/nvcc"));
        let before = env.clone();
        find(&root, &env).unwrap().tell(&mut env);
        assert_eq!(env, before);
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_compiler_that_is_named_and_not_there_is_not_replaced() {
        let root = wheels("named");
        let mut env = empty();
        env.set("CUDACXX", "/nowhere/nvcc");
        assert!(find(&root, &env).unwrap_err().what.contains("CUDACXX is `/nowhere/nvcc`"));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
