//! The stores of submodules, opened and added to that of their upstream.

use bstr::ByteSlice;

use super::Store;
use super::environment::Environment;
use super::error::StoreError;
use super::git::Progress;
use super::open::{Need, StoreSpec, open, variable};
use crate::id::{CommitId, Name, UpstreamPath};

/// A submodule that was declared.
#[derive(Debug, Clone)]
pub struct SubmoduleSpec {
    /// Where the upstream has it.
    pub path: UpstreamPath,
    /// Where its commits are: as the URL of an upstream.
    pub url: String,
}

/// A submodule that cannot be read.
#[derive(Debug)]
pub struct SubmoduleError {
    /// Where the upstream has it.
    pub path: UpstreamPath,
    /// The commit that is needed of it.
    pub commit: CommitId,
    /// The variable that can name a clone of it.
    pub variable: String,
    /// Why.
    pub error: Box<StoreError>,
}

/// The name under which a submodule is cached, and from which its variable is made.
fn name_of(upstream: &Name, path: &UpstreamPath) -> Name {
    let plain = |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte) } else { '-' };
    let path: String = path.as_bytes().bytes().map(plain).collect();
    let mut name = format!("{upstream}-{path}");
    name.truncate(100);
    Name::parse(&name).unwrap_or_else(|_| upstream.clone())
}

/// The environment variable that names a clone of a submodule: `OVERLAID_UPSTREAM_MLX_CSRC_CUTLASS`.
#[must_use]
pub fn submodule_variable(upstream: &Name, path: &UpstreamPath) -> String {
    variable(&name_of(upstream, path))
}

/// Opens the stores of submodules and adds them to that of their upstream.
///
/// The commits that `must` names (the pin) are needed; those that `may` names (bases) are fetched with them, and
/// missed only by what asks for them. A submodule that a commit does not have is not needed for it.
///
/// # Errors
/// If a commit that is needed cannot be had.
pub fn add_submodules(
    mut store: Store,
    spec: &StoreSpec,
    submodules: &[SubmoduleSpec],
    must: CommitId,
    may: &[CommitId],
    environment: &Environment,
    progress: &mut dyn FnMut(Progress),
) -> Result<Store, SubmoduleError> {
    let mut outermost_first: Vec<&SubmoduleSpec> = submodules.iter().collect();
    outermost_first.sort_by_key(|submodule| submodule.path.as_bytes().len());
    for submodule in outermost_first {
        let path = &submodule.path;
        let failed = |commit: CommitId, error: StoreError| SubmoduleError {
            path: path.clone(),
            commit,
            variable: submodule_variable(&spec.name, path),
            error: Box::new(error),
        };
        let at_pin = store.submodule_at(must, path).map_err(|error| failed(must, error.into()))?;
        let mut also: Vec<CommitId> =
            may.iter().filter_map(|commit| store.submodule_at(*commit, path).ok().flatten()).collect();
        also.sort();
        also.dedup();
        let Some(first) = at_pin.or(also.first().copied()) else { continue };
        let all: Vec<Need> = at_pin.into_iter().chain(also).map(Need::from).collect();
        let needs = [all, at_pin.into_iter().map(Need::from).collect()];
        let mut opened = None;
        // What bases name is welcome; only what the pin names has to be there.
        for need in needs {
            let spec = StoreSpec {
                name: name_of(&spec.name, path),
                url: submodule.url.clone(),
                remotes: Vec::new(),
                need,
                ..spec.clone()
            };
            match open(&spec, environment, progress) {
                Ok(store) => opened = Some(Ok(store)),
                Err(
                    error @ (StoreError::Offline { .. }
                    | StoreError::NotFound { .. }
                    | StoreError::Fetch { .. }),
                ) => {
                    opened = Some(Err(error));
                    continue;
                }
                Err(error) => opened = Some(Err(error)),
            }
            break;
        }
        match opened {
            Some(Ok(inner)) => store.attach(path, inner),
            // No commit of the pin's is missing, so nothing is that has to be there.
            Some(Err(_)) if at_pin.is_none() => {}
            Some(Err(error)) => return Err(failed(first, error)),
            None => {}
        }
    }
    Ok(store)
}
