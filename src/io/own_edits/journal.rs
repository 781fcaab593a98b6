//! What is about to be done to files of ours, written down before it starts.
//!
//! A file `journal`: the steps have begun. A file `journal.undo`: they are being taken back. Neither: nothing has begun.
//! Each change between these is one rename.

use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{OwnEditError, failed, flush_folder, remove};
use crate::id::BlobId;

pub(super) const FORWARD: &str = "journal";
pub(super) const BACKWARD: &str = "journal.undo";
const DRAFT: &str = "journal.new";
const VERSION: u32 = 1;

/// The steps of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Journal {
    pub(super) steps: Vec<Step>,
}

/// A file that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) file: PathBuf,
    pub(super) before: Option<BlobId>,
    pub(super) after: Option<BlobId>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    version: u32,
    steps: Vec<WrittenStep>,
}

/// A path is bytes, not text.
#[derive(Serialize, Deserialize)]
struct WrittenStep {
    file: Vec<u8>,
    before: Option<BlobId>,
    after: Option<BlobId>,
}

impl Journal {
    /// Writes the journal.
    pub(super) fn begin(&self, home: &Path) -> Result<(), OwnEditError> {
        let steps = self.steps.iter().map(|step| WrittenStep {
            file: step.file.as_os_str().as_bytes().to_vec(),
            before: step.before,
            after: step.after,
        });
        let written = Written { version: VERSION, steps: steps.collect() };
        let draft = home.join(DRAFT);
        let text = serde_json::to_vec(&written)
            .map_err(|error| failed("write", &draft)(std::io::Error::other(error)))?;
        for folder in ["new", "old"] {
            flush_folder(&home.join(folder))?;
        }
        let mut file = fs::File::create(&draft).map_err(failed("write", &draft))?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(failed("write", &draft))?;
        fs::rename(&draft, home.join(FORWARD)).map_err(failed("write", &home.join(FORWARD)))?;
        flush_folder(home)
    }

    /// Reads the journal of either way.
    pub(super) fn load(home: &Path) -> Result<Self, OwnEditError> {
        let backward = home.join(BACKWARD);
        let file = if backward.exists() { backward } else { home.join(FORWARD) };
        let text = fs::read(&file).map_err(failed("read", &file))?;
        match serde_json::from_slice::<Written>(&text) {
            Ok(Written { version: VERSION, steps }) => Ok(Self {
                steps: steps
                    .into_iter()
                    .map(|step| Step {
                        file: PathBuf::from(std::ffi::OsString::from_vec(step.file)),
                        before: step.before,
                        after: step.after,
                    })
                    .collect(),
            }),
            _ => Err(OwnEditError::Damaged(file)),
        }
    }

    /// From here on the change is taken back.
    pub(super) fn turn_round(home: &Path) -> Result<(), OwnEditError> {
        let (forward, backward) = (home.join(FORWARD), home.join(BACKWARD));
        if backward.exists() {
            return Ok(());
        }
        fs::rename(&forward, &backward).map_err(failed("write", &backward))?;
        flush_folder(home)
    }

    /// The change is done, or taken back.
    pub(super) fn end(home: &Path) -> Result<(), OwnEditError> {
        for name in [FORWARD, BACKWARD, DRAFT] {
            remove(&home.join(name))?;
        }
        flush_folder(home)
    }
}
