//! Patches become overlays, in their order.

use std::collections::BTreeSet;

use crate::diagnostic::Diagnostic;
use crate::escape::for_terminal;
use crate::id::{Name, UpstreamPath};
use crate::import::Format;
use crate::import::line_ends;
use crate::import::needs::{self, Found, Refused};
use crate::import::plan::{Draft, Raw, draft, keys_of_patch};
use crate::manifest::UpstreamStatus;
use crate::manifest::edit::add_overlay;
use crate::overlay::diff::{Applied, Patch, apply};
use crate::overlay::{At, Loaded, Resolution, content_at, resolve};
use crate::tree::Content;
use crate::upstream::UpstreamError;

use super::super::{Failure, Ui};
use super::write::Edits;
use super::{Row, Target};

/// What the manifest will say, and the rows of the table.
pub(super) fn plan(
    target: &Target<'_>,
    format: Format,
    raw: Vec<Raw>,
    ui: &mut Ui,
) -> Result<(Edits, Vec<Row>), Failure> {
    let manifest = &target.workspace.manifest;
    let mut taken = target.taken();
    let (mut drafts, mut problems) = (Vec::new(), Vec::new());
    let ground = Ground::of(target)?;
    for raw in raw {
        let described = raw.described();
        match draft(format, raw, &|path| ground.has_crlf(path), &mut taken) {
            Ok(draft) => drafts.push(draft),
            Err(why) => problems.push(problem(&described, &why)),
        }
    }
    if problems.is_empty() && drafts.is_empty() {
        problems.push(Diagnostic::error("import", "there is no patch in it").hint("is this what is meant?"));
    }
    if !problems.is_empty() {
        return Err(Failure::diagnostics(problems));
    }
    ui.progress("trying which patch builds on which");
    let patches: Vec<&Patch> = drafts.iter().map(|draft| &draft.patch).collect();
    let found = needs::find(&patches, &|path| ground.content(path))?;
    ui.end_progress();
    if !found.refused.is_empty() {
        return Err(refused(&drafts, &found, target));
    }
    let folder = manifest.overlay_folder();
    let mut edits = Edits::new(target);
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
        edits.place(folder.join(&draft.file), Content::file(draft.bytes.clone()))?;
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
    edits.manifest(manifest, &text);
    Ok((edits, rows))
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
    if draft.had_cr {
        notes.push("all its lines ended with CR LF; now those do that the upstream has so".to_owned());
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
    let pin = target.workspace.manifest.upstream.pin.value.short();
    let mut diagnostics = Vec::new();
    for refused in &found.refused {
        let draft = &drafts[refused.number];
        let before = match refused.number {
            0 => String::new(),
            number => format!(", behind the {number} before it"),
        };
        let hint = hint(draft, refused, target);
        for rejection in &refused.rejections {
            let message =
                format!("{} does not apply to the pin {pin}{before}: {rejection}", draft.described());
            diagnostics.push(Diagnostic::error("import", for_terminal(message)).hint(for_terminal(&hint)));
        }
    }
    if found.untried > 0
        && let Some(last) = diagnostics.pop()
    {
        let note = format!("{} after it on the same files were not tried", found.untried);
        diagnostics.push(last.note(note));
    }
    Failure::diagnostics(diagnostics)
}

/// What to do about a patch that does not apply.
fn hint(draft: &Draft, refused: &Refused, target: &Target<'_>) -> String {
    let has_its_text =
        |loaded: &&Loaded| loaded.patch.as_ref().is_some_and(|patch| patch.files == draft.patch.files);
    if let Some(known) = target.workspace.overlays.iter().find(has_its_text) {
        return format!("overlay `{}` is this patch: it was imported before", known.name());
    }
    match refused.fuzz {
        Some(fuzz) => format!(
            "GNU patch would apply it with fuzz {fuzz}, which can be the wrong place: look at it there, and make the \
             patch anew (quilt push, quilt refresh)"
        ),
        None => "is the pin the commit that the patches were made for? If not: overlaid init with --pin COMMIT, in a \
                 folder without the manifest; then overlaid bump"
            .to_owned(),
    }
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

    /// Whether the lines of a path end with CR LF; what cannot be read is told when the patch is tried.
    fn has_crlf(&self, path: &UpstreamPath) -> bool {
        matches!(self.content(path), Ok(Some(content)) if line_ends::has_crlf(&content.bytes))
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
