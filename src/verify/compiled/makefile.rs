//! The records of builds that CMake makes with make: `DependInfo.cmake` of a target, `Makefile.cmake`, and the
//! dependency files that compilers write.

use std::path::PathBuf;

use bstr::ByteSlice;

/// An object of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// The object, relative to the build folder.
    pub output: PathBuf,
    /// What it is compiled from.
    pub source: PathBuf,
    /// Where the compiler writes what it read, relative to the build folder; `None` if it does not.
    pub depfile: Option<PathBuf>,
}

/// The objects of a target, from its `DependInfo.cmake`.
#[must_use]
pub fn objects(depend_info: &[u8]) -> Vec<Object> {
    let recorded = quoted(depend_info, b"set(CMAKE_DEPENDS_DEPENDENCY_FILES");
    let mut objects: Vec<Object> = recorded
        .chunks_exact(4)
        .map(|four| Object {
            source: to_path(&four[0]),
            output: to_path(&four[1]),
            depfile: Some(to_path(&four[3])).filter(|file| !file.as_os_str().is_empty()),
        })
        .collect();
    // Compilers that CMake lets write no such file: it looks for includes itself.
    let languages = depend_info.lines().filter_map(|line| line.strip_prefix(b"set(CMAKE_DEPENDS_CHECK_"));
    for language in languages {
        let name: Vec<u8> =
            language.iter().copied().take_while(|byte| byte.is_ascii_alphanumeric()).collect();
        let block = [b"set(CMAKE_DEPENDS_CHECK_".as_slice(), name.as_slice()].concat();
        objects.extend(quoted(depend_info, &block).chunks_exact(2).map(|two| Object {
            source: to_path(&two[0]),
            output: to_path(&two[1]),
            depfile: None,
        }));
    }
    objects
}

/// The files that CMake read, from `Makefile.cmake`.
#[must_use]
pub fn configure_inputs(makefile_cmake: &[u8]) -> Vec<PathBuf> {
    quoted(makefile_cmake, b"set(CMAKE_MAKEFILE_DEPENDS").iter().map(|path| to_path(path)).collect()
}

/// The quoted arguments of a command.
fn quoted(text: &[u8], command: &[u8]) -> Vec<Vec<u8>> {
    let Some(start) = text.find(command) else { return Vec::new() };
    let mut arguments = Vec::new();
    let mut current: Option<Vec<u8>> = None;
    let mut bytes = text[start + command.len()..].iter().copied();
    while let Some(byte) = bytes.next() {
        match (&mut current, byte) {
            (Some(argument), b'\\') => argument.extend(bytes.next()),
            (Some(_), b'"') => arguments.extend(current.take()),
            (Some(argument), byte) => argument.push(byte),
            (None, b'"') => current = Some(Vec::new()),
            (None, b')') => break,
            (None, _) => {}
        }
    }
    arguments
}

/// The files that a dependency file of a compiler names, without what it says is made of them.
#[must_use]
pub fn dependencies(depfile: &[u8]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut current = Vec::new();
    let mut in_inputs = false;
    let mut bytes = depfile.iter().copied().peekable();
    let mut end = |current: &mut Vec<u8>, in_inputs: bool| {
        let word = std::mem::take(current);
        if in_inputs && !word.is_empty() {
            files.push(to_path(&word));
        }
    };
    while let Some(byte) = bytes.next() {
        match (byte, bytes.peek()) {
            (b'\\', Some(b'\n')) => {
                bytes.next();
                end(&mut current, in_inputs);
            }
            (b'\\', Some(&next)) if matches!(next, b' ' | b'#' | b':' | b'\\') => {
                bytes.next();
                current.push(next);
            }
            (b'$', Some(b'$')) => {
                bytes.next();
                current.push(b'$');
            }
            (b':', next) if !in_inputs && next.is_none_or(|next| next.is_ascii_whitespace()) => {
                current.clear();
                in_inputs = true;
            }
            (b'\n', _) => {
                end(&mut current, in_inputs);
                in_inputs = false;
            }
            (byte, _) if byte.is_ascii_whitespace() => end(&mut current, in_inputs),
            (byte, _) => current.push(byte),
        }
    }
    end(&mut current, in_inputs);
    files
}

fn to_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_file_names_its_inputs() {
        let text = b"out/a.o: /s/b\\ c.c \\\n /usr/x.h /s/d$$e.h\n\n/usr/x.h:\n";
        let expected = ["/s/b c.c", "/usr/x.h", "/s/d$e.h"].map(PathBuf::from);
        assert_eq!(dependencies(text), expected);
    }

    #[test]
    fn the_objects_of_a_target_are_those_with_and_without_a_dependency_file() {
        let text = b"set(CMAKE_DEPENDS_LANGUAGES\n  \"CUDA\"\n  )\nset(CMAKE_DEPENDS_CHECK_CUDA\n  \"/s/k.cu\" \"k.o\"\n  )\n\
            set(CMAKE_DEPENDS_DEPENDENCY_FILES\n  \"/s/a\\\"b.c\" \"a.o\" \"gcc\" \"a.o.d\"\n  )\n";
        let objects = objects(text);
        assert_eq!(objects[0].source, PathBuf::from("/s/a\"b.c"));
        assert_eq!(objects[0].depfile, Some(PathBuf::from("a.o.d")));
        assert_eq!(objects[1].output, PathBuf::from("k.o"));
        assert_eq!(objects[1].depfile, None);
    }

    #[test]
    fn the_files_that_cmake_read_are_listed() {
        let text =
            b"set(CMAKE_MAKEFILE_DEPENDS\n  \"CMakeCache.txt\"\n  \"/s/CMakeLists.txt\"\n  )\nset(X \"y\")\n";
        assert_eq!(configure_inputs(text), ["CMakeCache.txt", "/s/CMakeLists.txt"].map(PathBuf::from));
    }
}
