//! Ways into a tree that never follow a symbolic link.
//!
//! Everything below a tree's top is reached through descriptors of folders: a link that somebody puts in the
//! place of a folder is found, not followed, no matter when it was put there.
//!
//! What takes folders and names of any type hands them on to an inner function that is compiled once: build scripts
//! compile this, too.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::error::TreeError;
use super::execute_bit;
use crate::id::{BlobId, UpstreamPath};
use crate::tree;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A descriptor that only names a folder: opening it needs no permission to read it.
#[cfg(target_os = "linux")]
const FOLDER_NAME: OFlags = FOLDER.union(OFlags::PATH);
#[cfg(not(target_os = "linux"))]
const FOLDER_NAME: OFlags = FOLDER.union(OFlags::RDONLY);

/// The modes of new folders and files before the umask, as git has them.
const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);

/// The top folder of a tree.
#[derive(Debug)]
pub(super) struct Root {
    fd: OwnedFd,
    path: PathBuf,
    /// Whether its file system keeps the execute bit, once that was asked.
    keeps_execute_bit: OnceLock<bool>,
}

/// What is where a folder should be.
#[derive(Debug)]
pub(super) enum Way {
    /// The folder.
    Open(OwnedFd),
    /// Nothing, or the way there ends early.
    Absent,
    /// A folder on the way is none.
    Behind { ancestor: BString, link: bool },
}

impl Root {
    /// Opens the top folder. Links on the way to it are the user's and are followed.
    pub(super) fn open(path: &Path) -> Result<Self, TreeError> {
        let flags = FOLDER.difference(OFlags::NOFOLLOW);
        let fd = rustix::fs::open(path, flags | OFlags::RDONLY, Mode::empty())
            .map_err(|error| TreeError::io("open", path, error))?;
        Ok(Self::of(fd, path.to_owned()))
    }

    /// A folder in this one as a top of its own; `None` if nothing is there.
    pub(super) fn inside(&self, name: impl AsRef<[u8]>) -> Result<Option<Self>, TreeError> {
        let name = name.as_ref();
        match self.folder(name.as_bstr())? {
            Way::Open(fd) => Ok(Some(Self::of(fd, self.at(name)))),
            Way::Absent => Ok(None),
            Way::Behind { .. } => Err(TreeError::io("open", self.at(name), Errno::NOTDIR)),
        }
    }

    /// As [`Root::inside`]; makes the folder if it is not there.
    pub(super) fn make_inside(&self, name: impl AsRef<[u8]>) -> Result<Self, TreeError> {
        let name = name.as_ref();
        let fd = self.make_folder(name.as_bstr(), &mut Vec::new())?;
        Ok(Self::of(fd, self.at(name)))
    }

    fn of(fd: OwnedFd, path: PathBuf) -> Self {
        Self { fd, path, keeps_execute_bit: OnceLock::new() }
    }

    /// Whether its file system keeps the execute bit: [`execute_bit::is_kept`].
    pub(super) fn keeps_execute_bit(&self) -> bool {
        *self.keeps_execute_bit.get_or_init(|| execute_bit::is_kept(self))
    }

    /// The names in this folder, without `.` and `..`.
    pub(super) fn names(&self) -> Result<Vec<BString>, TreeError> {
        names_in(&self.fd).map_err(|error| TreeError::io("list", &self.path, error))
    }

    /// Makes the names in this folder survive a power failure.
    pub(super) fn flush(&self) -> Result<(), TreeError> {
        open_at(&self.fd, ".", FOLDER | OFlags::RDONLY, Mode::empty())
            .and_then(rustix::fs::fsync)
            .map_err(|error| TreeError::io("flush", &self.path, error))
    }

    /// Removes a folder of ours with all that is in it, following no link. That it is not there is fine.
    pub(super) fn remove_all(&self, name: impl AsRef<[u8]>) -> Result<(), TreeError> {
        let name = name.as_ref();
        remove_all_at(self.fd.as_fd(), name).map_err(|error| TreeError::io("remove", self.at(name), error))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where a path of the tree is, for messages.
    pub(super) fn at(&self, path: impl AsRef<[u8]>) -> PathBuf {
        self.path.join(path.as_ref().to_os_str_lossy())
    }

    /// The folder at a relative path; the top for an empty one.
    pub(super) fn folder(&self, path: &BStr) -> Result<Way, TreeError> {
        let failed = |error| TreeError::io("open", self.at(path), error);
        if path.is_empty() {
            let top = open_at(&self.fd, ".", FOLDER_NAME, Mode::empty()).map_err(failed)?;
            return Ok(Way::Open(top));
        }
        if let Some(fd) = open_beneath(&self.fd, path) {
            return Ok(Way::Open(fd));
        }
        let mut reached: Option<OwnedFd> = None;
        for (end, component) in components(path) {
            let from = reached.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
            match open_at(from, component, FOLDER_NAME, Mode::empty()) {
                Ok(fd) => reached = Some(fd),
                Err(Errno::NOENT) => return Ok(Way::Absent),
                Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => {
                    let link = stat_at(from, component)
                        .map_err(failed)?
                        .is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
                    return Ok(Way::Behind { ancestor: path[..end].into(), link });
                }
                Err(error) => return Err(failed(error)),
            }
        }
        reached.map(Way::Open).ok_or_else(|| failed(Errno::INVAL))
    }

    /// The folder at a relative path, made if it is not there, with all folders above it.
    /// What had to be made is added to `made`, outermost first.
    pub(super) fn make_folder(&self, path: &BStr, made: &mut Vec<BString>) -> Result<OwnedFd, TreeError> {
        match self.folder(path)? {
            Way::Open(fd) => return Ok(fd),
            Way::Behind { ancestor, .. } => {
                return Err(TreeError::io("make a folder at", self.at(ancestor), Errno::NOTDIR));
            }
            Way::Absent => {}
        }
        let mut reached: Option<OwnedFd> = None;
        for (end, component) in components(path) {
            let from = reached.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
            let failed = |error| TreeError::io("make the folder", self.at(&path[..end]), error);
            let fd = match open_at(from, component, FOLDER_NAME, Mode::empty()) {
                Err(Errno::NOENT) => {
                    match rustix::fs::mkdirat(from, component, NEW_FOLDER) {
                        Ok(()) => made.push(path[..end].into()),
                        Err(Errno::EXIST) => {}
                        Err(error) => return Err(failed(error)),
                    }
                    open_at(from, component, FOLDER_NAME, Mode::empty())
                }
                opened => opened,
            };
            reached = Some(fd.map_err(failed)?);
        }
        reached.ok_or_else(|| TreeError::io("make the folder", self.at(path), Errno::INVAL))
    }

    /// The folder that holds a path, and the path's name in it.
    pub(super) fn parent<'p>(&self, path: &'p UpstreamPath) -> Result<(Way, &'p BStr), TreeError> {
        let (parent, name) = split(path.as_bytes());
        Ok((self.folder(parent)?, name))
    }

    /// What stands at a path, without its content.
    pub(super) fn stat(&self, path: &UpstreamPath) -> Result<Option<Stat>, TreeError> {
        match self.parent(path)? {
            (Way::Open(folder), name) => stat_at(&folder, name)
                .map_err(|error| TreeError::io("look at", self.at(path.as_bytes()), error)),
            _ => Ok(None),
        }
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The folder that was used last: paths come sorted, so that the next one is mostly in the same folder.
#[derive(Debug)]
pub(super) struct Walker<'r> {
    root: &'r Root,
    last: Option<(BString, Way)>,
}

impl<'r> Walker<'r> {
    pub(super) fn new(root: &'r Root) -> Self {
        Self { root, last: None }
    }

    /// The folder that holds a path, and the path's name in it.
    pub(super) fn parent<'p>(&mut self, path: &'p UpstreamPath) -> Result<(&Way, &'p BStr), TreeError> {
        let (parent, name) = split(path.as_bytes());
        let way = match self.last.take() {
            Some((last, way)) if last == parent => way,
            _ => self.root.folder(parent)?,
        };
        let (_, way) = self.last.insert((parent.into(), way));
        Ok((way, name))
    }

    /// The folder that holds a path, made if it is not there.
    #[cfg(any(feature = "git", feature = "proof"))]
    pub(super) fn make_parent<'p>(
        &mut self,
        path: &'p UpstreamPath,
        made: &mut Vec<BString>,
    ) -> Result<(&OwnedFd, &'p BStr), TreeError> {
        let (parent, name) = split(path.as_bytes());
        let fd = match self.last.take() {
            Some((last, Way::Open(fd))) if last == parent => fd,
            _ => self.root.make_folder(parent, made)?,
        };
        match self.last.insert((parent.into(), Way::Open(fd))) {
            (_, Way::Open(fd)) => Ok((fd, name)),
            _ => Err(TreeError::io("open", self.root.at(parent), Errno::INVAL)),
        }
    }
}

/// One system call for the whole way, where the kernel has it (Linux 5.6).
#[cfg(target_os = "linux")]
fn open_beneath(top: &OwnedFd, path: &BStr) -> Option<OwnedFd> {
    use rustix::fs::ResolveFlags;
    static MISSING: AtomicBool = AtomicBool::new(false);
    if MISSING.load(Ordering::Relaxed) {
        return None;
    }
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened = rustix::fs::openat2(top, path.as_bytes(), FOLDER_NAME, Mode::empty(), inside);
    // Some sandboxes answer EPERM to calls they do not know.
    if matches!(opened, Err(Errno::NOSYS | Errno::PERM)) {
        MISSING.store(true, Ordering::Relaxed);
    }
    opened.ok()
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(_: &OwnedFd, _: &BStr) -> Option<OwnedFd> {
    None
}

/// The components of a path with where each ends.
fn components(path: &BStr) -> impl Iterator<Item = (usize, &[u8])> {
    let mut start = 0;
    path.split_str("/").map(move |component| {
        let end = start + component.len();
        start = end + 1;
        (end, component)
    })
}

/// The folder of a path (empty for the top) and the last component.
pub(super) fn split(path: &BStr) -> (&BStr, &BStr) {
    match path.rfind_byte(b'/') {
        Some(slash) => (path[..slash].as_bstr(), path[slash + 1..].as_bstr()),
        None => (b"".as_bstr(), path),
    }
}

/// `lstat` in a folder; `None` if nothing is there.
pub(super) fn stat_at(folder: impl AsFd, name: impl AsRef<[u8]>) -> Result<Option<Stat>, Errno> {
    fn stat_at(folder: BorrowedFd<'_>, name: &[u8]) -> Result<Option<Stat>, Errno> {
        match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }
    stat_at(folder.as_fd(), name.as_ref())
}

/// Opens a path that is relative to a folder.
pub(super) fn open_at(
    folder: impl AsFd,
    path: impl AsRef<[u8]>,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    fn open_at(folder: BorrowedFd<'_>, path: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        rustix::fs::openat(folder, path, flags, mode)
    }
    open_at(folder.as_fd(), path.as_ref(), flags, mode)
}

/// Renames from one folder to another, in one step.
pub(super) fn rename_at(
    from: impl AsFd,
    old: impl AsRef<[u8]>,
    to: impl AsFd,
    new: impl AsRef<[u8]>,
) -> Result<(), Errno> {
    fn rename_at(from: BorrowedFd<'_>, old: &[u8], to: BorrowedFd<'_>, new: &[u8]) -> Result<(), Errno> {
        rustix::fs::renameat(from, old, to, new)
    }
    rename_at(from.as_fd(), old.as_ref(), to.as_fd(), new.as_ref())
}

/// The kind of a file as git sees it; `Err` for what git does not know.
pub(super) fn mode_of(stat: &Stat) -> Result<tree::Mode, &'static str> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_mode & 0o100 != 0 => Ok(tree::Mode::Executable),
        FileType::RegularFile => Ok(tree::Mode::File),
        FileType::Symlink => Ok(tree::Mode::Symlink),
        FileType::Directory => Ok(tree::Mode::Submodule),
        FileType::Fifo => Err("a named pipe"),
        FileType::Socket => Err("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Err("a device"),
        _ => Err("something that is no file"),
    }
}

/// The id of a file's content or of a link's target, read without following links and without waiting
/// (somebody may have put a pipe there since it was looked at).
pub(super) fn hash_at(folder: impl AsFd, name: &BStr, stat: &Stat) -> Result<BlobId, Errno> {
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        let target = rustix::fs::readlinkat(folder, name.as_bytes(), Vec::new())?;
        return Ok(BlobId::of(target.as_bytes()));
    }
    Ok(BlobId::of(&read_at(folder, name)?))
}

/// The content of a regular file.
pub(super) fn read_at(folder: impl AsFd, name: impl AsRef<[u8]>) -> Result<Vec<u8>, Errno> {
    read_from(folder.as_fd(), name.as_ref())
}

fn read_from(folder: BorrowedFd<'_>, name: &[u8]) -> Result<Vec<u8>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let fd = open_at(folder, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&fd)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    let mut content = Vec::with_capacity(usize::try_from(stat.st_size).unwrap_or(0) + 1);
    let mut file = std::fs::File::from(fd);
    std::io::Read::read_to_end(&mut file, &mut content)
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(content)
}

/// Writes a new regular file and gives its descriptor.
pub(super) fn create_at(
    folder: impl AsFd,
    name: impl AsRef<[u8]>,
    executable: bool,
    content: &[u8],
) -> Result<OwnedFd, Errno> {
    create_in(folder.as_fd(), name.as_ref(), executable, content)
}

fn create_in(
    folder: BorrowedFd<'_>,
    name: &[u8],
    executable: bool,
    content: &[u8],
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(if executable { 0o777 } else { 0o666 });
    let fd = open_at(folder, name, flags, mode)?;
    let mut rest = content;
    while !rest.is_empty() {
        match rustix::io::write(&fd, rest) {
            Ok(0) => return Err(Errno::IO),
            Ok(written) => rest = &rest[written..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(fd)
}

/// Removes a file or a link; that nothing is there is fine.
pub(super) fn unlink_at(folder: impl AsFd, name: impl AsRef<[u8]>) -> Result<(), Errno> {
    match remove_at(folder.as_fd(), name.as_ref(), AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        result => result,
    }
}

/// Removes an empty folder.
pub(super) fn remove_folder_at(folder: impl AsFd, name: impl AsRef<[u8]>) -> Result<(), Errno> {
    remove_at(folder.as_fd(), name.as_ref(), AtFlags::REMOVEDIR)
}

fn remove_at(folder: BorrowedFd<'_>, name: &[u8], flags: AtFlags) -> Result<(), Errno> {
    rustix::fs::unlinkat(folder, name, flags)
}

/// The names in a folder, without `.` and `..`.
pub(super) fn names_in(folder: impl AsFd) -> Result<Vec<BString>, Errno> {
    let fd = open_at(folder, ".", FOLDER | OFlags::RDONLY, Mode::empty())?;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::new(fd)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.into());
        }
    }
    Ok(names)
}

fn remove_all_at(folder: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    match remove_at(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        // A folder: Linux says EISDIR, others EPERM.
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error),
    }
    let inner = open_at(folder, name, FOLDER_NAME, Mode::empty())?;
    for name in names_in(&inner)? {
        remove_all_at(inner.as_fd(), &name)?;
    }
    remove_at(folder, name, AtFlags::REMOVEDIR)
}
