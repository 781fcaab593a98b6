//! Patches become overlays, in their order.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::escape::for_terminal;
use crate::id::{Name, UpstreamPath};
use crate::import::Format;
use crate::import::needs::{self, Found};
use crate::import::plan::{Draft, draft, keys_of_patch};
use crate::io::import_source::Raw;
use crate::io::staged_files::Staged;
use crate::manifest::UpstreamStatus;
use crate::manifest::edit::add_overlay;
use crate::overlay::diff::{Applied, Patch, apply};
use crate::overlay::{At, Loaded, Resolution, content_at, resolve};
use crate::tree::Content;
use crate::upstream::UpstreamError;

use super::super::{Failure, Ui};
use super::{Row, Target};

/// What the manifest will say, and the rows of the table.
pub(super) fn plan(
    target: &Target<'_>,
    format: Format,
    raw: Vec<Raw>,
    ui: &mut Ui,
) -> Result<(Staged, Vec<Row>), Failure> {
    let manifest = &target.workspace.manifest;
    let mut taken = target.taken();
    let (mut drafts, mut problems) = (Vec::new(), Vec::new());
    for Raw { from, file, bytes, strip, meta } in raw {
        match draft(format, &from, file, &bytes, strip, meta, &mut taken) {
            Ok(draft) => drafts.push(draft),
            Err(why) => problems.push(problem(&from, &why)),
        }
    }
    if problems.is_empty() && drafts.is_empty() {
        problems.push(Diagnostic::error("import", "there is no patch in it").hint("is this what is meant?"));
    }
    if !problems.is_empty() {
        return Err(Failure::diagnostics(problems));
    }
    ui.progress("trying which patch builds on which");
    let ground = Ground::of(target)?;
    let patches: Vec<&Patch> = drafts.iter().map(|draft| &draft.patch).collect();
    let found = needs::find(&patches, &|path| ground.content(path))?;
    ui.end_progress();
    if !found.refused.is_empty() {
        return Err(refused(&drafts, &found, target));
    }
    let folder = manifest.overlay_folder();
    let mut staged = Staged::new(&target.context.root, std::collections::BTreeMap::new());
    let mut text = manifest.text.to_string();
    let mut rows = Vec::new();
    for (number, draft) in drafts.iter().enumerate() {
        let needs = match draft.needs.as_slice() {
            [] => {
                let mut needs: Vec<Name> = ground.needed(number, &drafts, &found)?;
                needs.extend(found.needs[number].iter().map(|other| drafts[*other].name.clone()));
                needs
            }
            // An exported overlay says more than trying can find; what did not come along cannot be named.
            said => said.iter().filter(|name| taken.contains(*name)).cloned().collect(),
        };
        let keys = keys_of_patch(draft, manifest.upstream.pin.value, &target.args.when, &needs);
        text = add_overlay(&text, &draft.name, &keys).map_err(|error| Failure::input(error.to_string()))?;
        place(&mut staged, &folder.join(&draft.file), Content::file(draft.bytes.clone()))?;
        rows.push(Row {
            from: draft.from.clone(),
            overlay: draft.name.clone(),
            content: content(&draft.patch),
            needs,
            base: "pin".to_owned(),
            is_doubtful: false,
            notes: notes(draft, found.offsets[number]),
        });
    }
    staged.put(manifest.file.clone(), Content::file(Arc::<[u8]>::from(text.into_bytes())));
    Ok((staged, rows))
}

/// Stages a file, if no other is at its place.
pub(super) fn place(staged: &mut Staged, file: &Path, content: Content) -> Result<(), Failure> {
    let is_staged = staged.files().any(|(known, other)| known == file && other.bytes != content.bytes);
    match staged.on_disk(file)? {
        Some(there) if there.bytes != content.bytes => {
            Err(Failure::input(format!("`{}` is there already, with other content", file.display()))
                .with_hint("move it away, or rename the file that is imported"))
        }
        _ if is_staged => Err(Failure::input(format!("two patches would become `{}`", file.display()))
            .with_hint("rename one of them")),
        _ => {
            staged.put(file.to_owned(), content);
            Ok(())
        }
    }
}

fn content(patch: &Patch) -> String {
    let touched = patch.touched();
    match touched.first() {
        Some(first) if touched.len() == 1 => format!("{first}"),
        Some(first) => format!("{first} and {} more", touched.len() - 1),
        None => String::new(),
    }
}

/// What a person may want to know, and would not see.
fn notes(draft: &Draft, offsets: usize) -> Vec<String> {
    let meta = &draft.meta;
    let mut notes = Vec::new();
    if draft.is_releveled {
        notes.push("the names in it were written anew, as git writes them".to_owned());
    }
    if offsets > 0 {
        notes.push(format!("{offsets} of its hunks lie at other lines than they say"));
    }
    if !meta.kept.is_empty() {
        notes.push(format!("stays in the patch only: {}", meta.kept.join(", ")));
    }
    if meta.status == Some(UpstreamStatus::Unknown) {
        notes.push("what it says of its upstream status has no evidence: unknown".to_owned());
    }
    notes
}

fn problem(from: &str, why: &str) -> Diagnostic {
    Diagnostic::error("import", for_terminal(format!("{from} cannot be taken over: {why}")))
        .hint("make the patch anew with git format-patch or git diff")
}

fn refused(drafts: &[Draft], found: &Found, target: &Target<'_>) -> Failure {
    let pin = target.workspace.manifest.upstream.pin.value;
    let diagnostics = found.refused.iter().flat_map(|(number, rejections)| {
        let draft = &drafts[*number];
        let before = match number {
            0 => String::new(),
            number => format!(", behind the {number} before it"),
        };
        rejections.iter().map(move |rejection| {
            let message =
                format!("{} does not apply to the pin {}{before}: {rejection}", draft.from, pin.short());
            Diagnostic::error("import", for_terminal(message))
                .hint("is the pin the commit that the patches were made for? see: overlaid status")
        })
    });
    Failure::diagnostics(diagnostics.collect())
}

/// The pin with the overlays that the manifest has.
struct Ground<'a> {
    target: &'a Target<'a>,
    resolution: Resolution,
}

impl<'a> Ground<'a> {
    fn of(target: &'a Target<'a>) -> Result<Self, Failure> {
        let active: Vec<&Loaded> =
            target.workspace.overlays.iter().filter(|loaded| loaded.overlay.active).collect();
        let pin = target.workspace.manifest.upstream.pin.value;
        let resolution = resolve(&active, At::Pin(pin), target.store)?;
        Failure::if_refused(&resolution)?;
        Ok(Self { target, resolution })
    }

    fn at_pin(&self, path: &UpstreamPath) -> Result<Option<Content>, UpstreamError> {
        content_at(self.target.store, self.target.workspace.manifest.upstream.pin.value, path)
    }

    fn content(&self, path: &UpstreamPath) -> Result<Option<Content>, UpstreamError> {
        match self.resolution.changes.get(path) {
            Some(content) => Ok(content.clone()),
            None => self.at_pin(path),
        }
    }

    /// Overlays of the manifest without which a patch does not apply.
    fn needed(&self, number: usize, drafts: &[Draft], found: &Found) -> Result<Vec<Name>, Failure> {
        let patch = &drafts[number].patch;
        let paths = needs::concerned(patch);
        let makers: BTreeSet<&Name> =
            paths.iter().filter_map(|path| self.resolution.by.get(path)).flatten().collect();
        // What it needs of its own series stands on the same overlays.
        if makers.is_empty() || !found.needs[number].is_empty() {
            return Ok(Vec::new());
        }
        let applied = apply(patch, &|path: &UpstreamPath| self.at_pin(path))?;
        Ok(match applied {
            Applied::Applied { .. } => Vec::new(),
            Applied::Refused(_) => makers.into_iter().cloned().collect(),
        })
    }
}
