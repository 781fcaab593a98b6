//! Reports of overlays that `status` keeps, so that looking again at the same costs nothing.
//!
//! A report follows from commit ids and contents alone, so it is kept under a hash of all that it depends on, and
//! never grows old. Only what was found out for certain is kept. The file lies in the user's cache folder and is safe
//! to delete. One that is damaged, from another version of this program, or does not hash to what it says counts as
//! none; so does one that belongs to somebody else, or that others can write.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::hashes::write_atomically;
use super::store::Environment;
use crate::canonical_json;
use crate::id::CommitId;
use crate::manifest::{DropWhen, Kind};
use crate::overlay::Loaded;
use crate::provenance::{Condition, Look, OverlayReport, State};

/// The first line of the file, before the hash: its format. Another number when what a report says, or how it comes
/// about, changes.
const SCHEMA: &str = "overlaid.reports.v2";

/// A file with more bytes than that is none of ours.
const MOST_BYTES: u64 = 256 << 20;

/// Reports by the hash of what they depend on.
#[derive(Debug)]
pub struct Reports {
    file: Option<PathBuf>,
    /// What every report depends on.
    common: Value,
    known: BTreeMap<String, OverlayReport>,
    kept: BTreeMap<String, OverlayReport>,
}

#[derive(Serialize, Deserialize)]
struct Table {
    reports: BTreeMap<String, OverlayReport>,
}

impl Reports {
    /// None, and nothing is kept.
    #[must_use]
    pub fn none() -> Self {
        Self { file: None, common: Value::Null, known: BTreeMap::new(), kept: BTreeMap::new() }
    }

    /// The reports that are kept for a manifest, which is given by its absolute path.
    #[must_use]
    pub fn load(
        manifest: &Path,
        pin: CommitId,
        tip: Option<CommitId>,
        look: Look,
        environment: &Environment,
    ) -> Self {
        let absolute =
            |name: &str| environment.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        // However it was named: an editor asks with `-C`.
        let manifest = manifest.canonicalize().unwrap_or_else(|_| manifest.to_owned());
        let name = canonical_json::sha256_hex(manifest.as_os_str().as_encoded_bytes());
        let file = cache.map(|cache| cache.join("overlaid/reports").join(format!("{}.json", &name[..32])));
        let known = file.as_deref().and_then(read).unwrap_or_default();
        let common = json!({
            "program": program(),
            "pin": pin,
            "tip": tip,
            "deep": look.deep,
            "neighbours": look.neighbours,
        });
        Self { file, common, known, kept: BTreeMap::new() }
    }

    /// The report of an overlay, if it is kept. `all` are the overlays of the manifest.
    pub fn get(&mut self, loaded: &Loaded, all: &[Loaded]) -> Option<OverlayReport> {
        let key = self.key(loaded, all);
        let report = self.known.get(&key).filter(|report| report.name == *loaded.name())?.clone();
        self.kept.insert(key, report.clone());
        Some(report)
    }

    /// Keeps a report, if it is certain and follows from what its key names.
    pub fn put(&mut self, loaded: &Loaded, all: &[Loaded], report: &OverlayReport) {
        let is_known = report.paths.iter().all(|path| path.state != State::Unknown);
        let waits = matches!(report.drop_when, Some(Condition::Unknown(_)));
        // Whether a change that does not fit stands on another overlay, the key does not say.
        let is_alone = loaded.overlay.kind.is_whole()
            || report.paths.iter().all(|path| path.state != State::StaleConflict);
        // Names and texts that JSON cannot hold would not come back as they were.
        let is_text = report.paths.iter().all(|path| {
            let to = path.to.as_ref().map(|(to, _)| to);
            std::iter::once(&path.path).chain(to).all(|path| std::str::from_utf8(path.as_bytes()).is_ok())
        }) && serde_json::to_writer(std::io::sink(), report).is_ok();
        if report.state != State::Unknown && is_known && is_alone && !waits && is_text {
            self.kept.insert(self.key(loaded, all), report.clone());
        }
    }

    /// Writes the reports that were asked for or made, and with `others` also those that were there before. That it
    /// cannot be done costs time and nothing else.
    pub fn save(mut self, others: bool) {
        let Some(file) = self.file.take() else { return };
        let is_new = self.kept.keys().any(|key| !self.known.contains_key(key));
        let is_less = !others && self.known.keys().any(|key| !self.kept.contains_key(key));
        if !is_new && !is_less {
            return;
        }
        if others {
            for (key, report) in self.known {
                self.kept.entry(key).or_insert(report);
            }
        }
        let Ok(body) = serde_json::to_string(&Table { reports: self.kept }) else { return };
        let hash = canonical_json::sha256_hex(body.as_bytes());
        if write_atomically(&file, format!("{SCHEMA} {hash}\n{body}\n").as_bytes()).is_ok() {
            // Where a user's files are for the group, too, this one would not be read again.
            let _ = std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600));
        }
    }

    fn key(&self, loaded: &Loaded, all: &[Loaded]) -> String {
        let mut about = vec![self.common.clone(), describe(loaded)];
        let mut open: Vec<&str> = loaded.overlay.needs.iter().map(|need| need.as_str()).collect();
        let mut seen: Vec<&str> = Vec::new();
        while let Some(name) = open.pop() {
            if seen.contains(&name) {
                continue;
            }
            seen.push(name);
            if let Some(needed) = all.iter().find(|other| other.name().as_str() == name) {
                open.extend(needed.overlay.needs.iter().map(|need| need.as_str()));
                about.push(describe(needed));
            }
        }
        // The order of the manifest decides which of those that are needed goes first.
        about
            .push(all.iter().map(|other| other.name().as_str()).filter(|name| seen.contains(name)).collect());
        canonical_json::digest(&Value::Array(about))
    }
}

/// What a report depends on, of an overlay.
fn describe(loaded: &Loaded) -> Value {
    let overlay = &loaded.overlay;
    let kind = match &overlay.kind {
        Kind::Files(_) => {
            let entry = |(path, content): (&crate::id::UpstreamPath, &crate::tree::Content)| {
                json!([path.as_bytes().to_vec(), content.entry()])
            };
            json!({ "files": loaded.files.iter().map(entry).collect::<Vec<_>>() })
        }
        Kind::Patch(file) => json!({
            "patch": file.value,
            "own": loaded.own.iter().map(|own| json!([own.file, own.id])).collect::<Vec<_>>(),
        }),
        Kind::Commits { commits, .. } => {
            json!({ "commits": commits.iter().map(|commit| commit.value).collect::<Vec<_>>() })
        }
        Kind::HeldBack { commit, paths, .. } => json!({
            "commit": commit.value,
            "paths": paths.iter().map(|path| path.as_bytes().to_vec()).collect::<Vec<_>>(),
        }),
        Kind::Delete(paths) => {
            json!({ "delete": paths.iter().map(|path| path.as_bytes().to_vec()).collect::<Vec<_>>() })
        }
    };
    let waits_for = match overlay.drop_when.as_ref().map(|when| &when.value) {
        Some(DropWhen::PinContains(commit)) => Some(*commit),
        _ => None,
    };
    json!({
        "name": overlay.name.value,
        "base": overlay.base.as_ref().map(|base| base.value),
        "kind": kind,
        "waits-for": waits_for,
    })
}

/// This program: another build may say something else of the same.
fn program() -> Value {
    let data = std::env::current_exe().and_then(std::fs::metadata);
    let stat = data.map(|data| json!([data.len(), data.mtime(), data.mtime_nsec()])).unwrap_or(Value::Null);
    json!([env!("CARGO_PKG_VERSION"), stat])
}

fn read(file: &Path) -> Option<BTreeMap<String, OverlayReport>> {
    // A link could lead anywhere, and a pipe could wait forever.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).ok()?;
    let mut opened = std::fs::File::options().read(true).custom_flags(flags).open(file).ok()?;
    let data = opened.metadata().ok()?;
    let is_ours = data.uid() == rustix::process::geteuid().as_raw() && data.mode() & 0o022 == 0;
    if !data.is_file() || !is_ours || data.len() > MOST_BYTES {
        return None;
    }
    let mut text = String::new();
    opened.by_ref().take(MOST_BYTES).read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once('\n')?;
    let body = body.strip_suffix('\n')?;
    let hash = head.strip_prefix(SCHEMA)?.strip_prefix(' ')?;
    if hash != canonical_json::sha256_hex(body.as_bytes()) {
        return None;
    }
    serde_json::from_str::<Table>(body).ok().map(|table| table.reports)
}
