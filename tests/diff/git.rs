//! The reference: git itself, in folders of its own, with nothing of the machine's settings.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use overlaid::id::UpstreamPath;
use overlaid::tree::{Content, Mode};

use super::generate::Tree;

/// A folder that goes away with the value.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("diff-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a run of git gave.
pub struct Output {
    pub ok: bool,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// Runs git in a folder, never in a repository around it.
pub fn git(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new("git");
    command.env_clear().current_dir(folder).args(arguments);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
    command.env("GIT_CEILING_DIRECTORIES", env!("CARGO_TARGET_TMPDIR"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // Git may end before it has read all.
        scope.spawn(move || stdin.write_all(input).ok());
        child.wait_with_output().unwrap()
    });
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Output { ok: output.status.success(), stdout: output.stdout, stderr }
}

pub fn write_tree(folder: &Path, tree: &Tree) {
    for (path, content) in tree {
        let file = folder.join(path.to_os_path());
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        if content.mode == Mode::Symlink {
            std::os::unix::fs::symlink(OsStr::from_bytes(&content.bytes), file).unwrap();
            continue;
        }
        std::fs::write(&file, &content.bytes).unwrap();
        if content.mode == Mode::Executable {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
}

pub fn read_tree(folder: &Path) -> Tree {
    let mut tree = Tree::new();
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry.unwrap();
        let name = entry.path().strip_prefix(folder).unwrap().as_os_str().as_bytes().to_vec();
        let kind = entry.file_type();
        let content = if kind.is_symlink() {
            let target = std::fs::read_link(entry.path()).unwrap().into_os_string().into_vec();
            Content { mode: Mode::Symlink, bytes: target.into() }
        } else if kind.is_file() {
            let executable = entry.metadata().unwrap().permissions().mode() & 0o100 != 0;
            let mode = if executable { Mode::Executable } else { Mode::File };
            Content { mode, bytes: std::fs::read(entry.path()).unwrap().into() }
        } else {
            continue;
        };
        tree.insert(UpstreamPath::parse(name).unwrap(), content);
    }
    tree
}

/// What `git apply` makes of a tree, or what it says.
pub fn git_apply(tree: &Tree, patch: &[u8]) -> Result<Tree, String> {
    let folder = Folder::new();
    write_tree(folder.path(), tree);
    let output = git(folder.path(), &["apply", "--whitespace=nowarn"], patch);
    if output.ok { Ok(read_tree(folder.path())) } else { Err(output.stderr) }
}

/// The diffs that git exports for pairs of trees, all by one process for each set of options.
pub fn git_diffs(
    pairs: &[(&Tree, &Tree)],
    options: impl Fn(usize) -> &'static [&'static str],
) -> Vec<Vec<u8>> {
    let folder = Folder::new();
    assert!(git(folder.path(), &["init", "-q", "--bare", "."], b"").ok);
    let mut stream = Vec::new();
    for (index, (before, after)) in pairs.iter().enumerate() {
        import(&mut stream, 2 * index + 1, before, None);
        import(&mut stream, 2 * index + 2, after, Some(2 * index + 1));
    }
    let imported = git(folder.path(), &["fast-import", "--quiet", "--export-marks=marks"], &stream);
    assert!(imported.ok, "{}", imported.stderr);
    let marks = std::fs::read_to_string(folder.path().join("marks")).unwrap();
    let mut commits = vec![String::new(); pairs.len()];
    for line in marks.lines() {
        let (mark, id) = line.strip_prefix(':').unwrap().split_once(' ').unwrap();
        let mark: usize = mark.parse().unwrap();
        if mark.is_multiple_of(2) {
            commits[mark / 2 - 1] = id.to_owned();
        }
    }
    let mut sets: Vec<(&[&str], Vec<usize>)> = Vec::new();
    for index in 0..pairs.len() {
        match sets.iter_mut().find(|(set, _)| *set == options(index)) {
            Some((_, members)) => members.push(index),
            None => sets.push((options(index), vec![index])),
        }
    }
    let mut diffs = vec![Vec::new(); pairs.len()];
    for (set, members) in sets {
        let input: String = members.iter().map(|&index| format!("{}\n", commits[index])).collect();
        let arguments = [&["diff-tree", "--stdin", "-r", "-p", "--binary"], set].concat();
        let output = git(folder.path(), &arguments, input.as_bytes());
        assert!(output.ok, "{}", output.stderr);
        let ids: HashMap<Vec<u8>, usize> =
            members.iter().map(|&index| (format!("{}\n", commits[index]).into_bytes(), index)).collect();
        let mut current = None;
        for line in output.stdout.split_inclusive(|&byte| byte == b'\n') {
            // A line of a diff is never an id alone: it starts with a sign or a word.
            match ids.get(line) {
                Some(&index) => current = Some(index),
                None => diffs[current.unwrap()].extend_from_slice(line),
            }
        }
    }
    diffs
}

fn import(stream: &mut Vec<u8>, mark: usize, tree: &Tree, parent: Option<usize>) {
    writeln!(stream, "commit refs/heads/c{mark}\nmark :{mark}\ncommitter A <a@b> 0 +0000\ndata 0").unwrap();
    if let Some(parent) = parent {
        writeln!(stream, "from :{parent}").unwrap();
    }
    stream.extend(b"deleteall\n");
    for (path, content) in tree {
        write!(stream, "M {} inline \"", content.mode.as_octal()).unwrap();
        for byte in path.as_bytes().iter() {
            write!(stream, "\\{byte:03o}").unwrap();
        }
        writeln!(stream, "\"\ndata {}", content.bytes.len()).unwrap();
        stream.extend(&content.bytes[..]);
        stream.push(b'\n');
    }
}
