//! A message about a place in a text: what is wrong, where, why, and what to do.
//!
//! Decides how such a message looks, as text in the form that rustc made known and as a record for
//! `--json`. Never prints, and never decides what is wrong. Text from manifests and upstreams is foreign:
//! what could steer a terminal or reorder a line is made visible.

#[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "only drawings need all of it"))]
mod escape;
#[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "only drawings need all of it"))]
mod excerpt;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "cli")]
use annotate_snippets::renderer::DecorStyle;
#[cfg(feature = "cli")]
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

pub use escape::{escaped, quoted};

#[cfg(feature = "cli")]
use escape::escaped_path;
#[cfg(feature = "cli")]
use excerpt::Excerpt;
use excerpt::{floor_char, line_end, line_start};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Severity {
    /// Nothing can be done with this input.
    Error,
    /// Probably not what was meant.
    Warning,
    /// Worth knowing.
    Note,
}

/// A part of a text, and what is to be said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, as the user named it.
    pub file: PathBuf,
    /// The whole text of the file.
    pub text: Arc<str>,
    /// Bytes of the text. Out of range is cut to what is there.
    pub span: Range<usize>,
    /// What is written below the marked part; may be empty.
    pub label: String,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable name for this kind of message, such as `unknown-key`.
    pub code: &'static str,
    /// What is wrong: a fragment that starts in lower case.
    pub message: String,
    /// Where.
    pub at: Option<Place>,
    /// Other places that belong to it.
    pub more: Vec<Place>,
    /// Why, or what else to know.
    pub notes: Vec<String>,
    /// What to do.
    pub hint: Option<String>,
}

/// A diagnostic for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Record {
    /// A stable name for this kind of message.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The file, if it concerns one.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column, from 1, in characters.
    pub column: Option<usize>,
    /// What to do.
    pub hint: Option<String>,
}

#[cfg(feature = "cli")]
/// Lines that lie further apart are shown as two snippets.
const APART: usize = 1000;
#[cfg(feature = "cli")]
/// A place further right than this is named, and not drawn.
const FAR_RIGHT: usize = 4000;

impl Place {
    /// The line and the column, both from 1, the column in characters.
    #[must_use]
    pub fn line_and_column(&self) -> (usize, usize) {
        let start = self.range().start;
        let line_start = line_start(&self.text, start);
        let line = self.text.as_bytes()[..line_start].iter().filter(|&&b| b == b'\n').count() + 1;
        (line, self.text[line_start..start].chars().count() + 1)
    }

    /// The span, cut to the text, to whole characters and to its first line.
    fn range(&self) -> Range<usize> {
        let text = &*self.text;
        let mut start = floor_char(text, self.span.start);
        if start == text.len() && text.ends_with('\n') {
            // The end of the text is shown at the end of its last line.
            start -= 1;
        }
        start = start.min(line_end(text, line_start(text, start)));
        let end = floor_char(text, self.span.end.max(start));
        start..end.min(line_end(text, start)).max(start)
    }
}

impl Diagnostic {
    /// A message with a code and nothing else.
    #[must_use]
    pub fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { severity, code, message, at: None, more: Vec::new(), notes: Vec::new(), hint: None }
    }

    /// An error with a code and nothing else.
    #[must_use]
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// The same message at a place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.at = Some(place);
        self
    }

    /// The same message with another place that belongs to it.
    #[must_use]
    pub fn and(mut self, place: Place) -> Self {
        self.more.push(place);
        self
    }

    /// The same message with a sentence of explanation.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The same message with what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The message on one line, `file:line:column: what is wrong`, and a second line with what to do.
    #[must_use]
    pub fn brief(&self) -> String {
        let mut text = String::new();
        if let Some(place) = &self.at {
            let (line, column) = place.line_and_column();
            text = format!("{}:{line}:{column}: ", escaped(&place.file.to_string_lossy()));
        }
        text.push_str(&escaped(&self.message));
        if let Some(hint) = &self.hint {
            text.push_str("\nhint: ");
            text.push_str(&escaped(hint));
        }
        text
    }

    /// As [`Diagnostic::brief`]: without the command line there is nobody to draw for.
    #[cfg(not(feature = "cli"))]
    #[must_use]
    pub fn render(&self, _color: bool, _width: usize) -> String {
        self.brief()
    }

    /// The message as text, without a line break at the end.
    ///
    /// `width` is that of the terminal; longer source lines are trimmed around what they show.
    #[cfg(feature = "cli")]
    #[must_use]
    pub fn render(&self, color: bool, width: usize) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let mut group = Group::with_title(level.primary_title(escaped(&self.message)).id(self.code));
        for element in self.snippets() {
            group = match element {
                Drawn::Source(snippet) => group.element(snippet),
                Drawn::Position(origin) => group.element(origin),
            };
        }
        for place in self.places().filter(|place| is_far_right(place) && !place.label.is_empty()) {
            group = group.element(Level::NOTE.message(escaped(&place.label)));
        }
        for note in &self.notes {
            group = group.element(Level::NOTE.message(escaped(note)));
        }
        if let Some(hint) = &self.hint {
            group = group.element(Level::HELP.with_name("hint").message(escaped(hint)));
        }
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.decor_style(DecorStyle::Ascii).term_width(width.max(40)).render(&[group])
    }

    /// The message for programs.
    #[must_use]
    pub fn to_record(&self) -> Record {
        let position = self.at.as_ref().map(Place::line_and_column);
        Record {
            code: self.code,
            severity: self.severity,
            message: self.message.clone(),
            file: self.at.as_ref().map(|place| place.file.to_string_lossy().into_owned()),
            line: position.map(|(line, _)| line),
            column: position.map(|(_, column)| column),
            hint: self.hint.clone(),
        }
    }

    /// The message as JSON: `{code, severity, message, file, line, column, hint}`.
    #[cfg(feature = "cli")]
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self.to_record()).unwrap_or_default()
    }

    #[cfg(feature = "cli")]
    fn places(&self) -> impl Iterator<Item = &Place> {
        self.at.iter().chain(&self.more)
    }

    #[cfg(feature = "cli")]
    /// One snippet for places that lie close together in a file, and one for each that does not.
    fn snippets(&self) -> Vec<Drawn<'_>> {
        let mut clusters: Vec<Vec<&Place>> = Vec::new();
        let mut drawn = Vec::new();
        for place in self.places() {
            if is_far_right(place) {
                let (line, column) = place.line_and_column();
                drawn.push(Drawn::Position(
                    Origin::path(escaped_path(&place.file)).line(line).char_column(column),
                ));
                continue;
            }
            match clusters.iter_mut().find(|cluster| cluster.iter().all(|other| is_near(place, other))) {
                Some(cluster) => cluster.push(place),
                None => clusters.push(vec![place]),
            }
        }
        drawn.splice(0..0, clusters.iter().map(|cluster| Drawn::Source(self.draw(cluster))));
        drawn
    }

    #[cfg(feature = "cli")]
    fn draw(&self, cluster: &[&Place]) -> Snippet<'static, annotate_snippets::Annotation<'static>> {
        let excerpt = Excerpt::of(cluster);
        let mut snippet = Snippet::source(excerpt.text)
            .line_start(excerpt.first_line)
            .path(cluster.first().map(|place| escaped_path(&place.file).into_owned()))
            .fold(true);
        for (place, span) in cluster.iter().zip(excerpt.spans) {
            let primary = self.at.as_ref().is_some_and(|at| std::ptr::eq(at, *place));
            let kind = if primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let label = (!place.label.is_empty()).then(|| escaped(&place.label).into_owned());
            snippet = snippet.annotation(kind.span(span).label(label));
        }
        snippet
    }
}

#[cfg(feature = "cli")]
enum Drawn<'a> {
    Source(Snippet<'static, annotate_snippets::Annotation<'static>>),
    Position(Origin<'a>),
}

#[cfg(feature = "cli")]
fn is_far_right(place: &Place) -> bool {
    let start = place.range().start;
    start - line_start(&place.text, start) > FAR_RIGHT
}

#[cfg(feature = "cli")]
fn is_near(a: &Place, b: &Place) -> bool {
    let (low, high) = (a.range().start.min(b.range().start), a.range().start.max(b.range().start));
    a.file == b.file
        && a.text == b.text
        && a.text.as_bytes()[low..high].iter().filter(|&&b| b == b'\n').count() <= APART
}

#[cfg(test)]
#[cfg(feature = "cli")]
mod tests;
