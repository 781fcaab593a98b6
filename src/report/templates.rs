//! The templates that come with the program. A file of the same name in the repository's templates folder takes the place
//! of one.

use serde::{Deserialize, Serialize};

/// A template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Template {
    /// A draft for upstream.
    Draft,
    /// There is nothing to file upstream.
    Retraction,
    /// The text of an issue.
    Issue,
    /// Notes for a pull request.
    PullRequest,
    /// Notes for the removal of an overlay.
    Removal,
    /// What a move of the pin makes of the overlays.
    Bump,
}

impl Template {
    /// All of them.
    pub const ALL: [Template; 6] = [
        Template::Draft,
        Template::Retraction,
        Template::Issue,
        Template::PullRequest,
        Template::Removal,
        Template::Bump,
    ];

    /// Its name, and that of its file in `report/` of the templates folder.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Template::Draft => "draft.md",
            Template::Retraction => "retraction.md",
            Template::Issue => "issue.md",
            Template::PullRequest => "pull-request.md",
            Template::Removal => "removal.md",
            Template::Bump => "bump.md",
        }
    }

    /// The name, without the ending of the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.file().trim_end_matches(".md")
    }
}

/// The files that a user can replace, with what they are otherwise. `parts.md` has what several use.
pub const BUILT_IN: [(&str, &str); 7] = [
    ("parts.md", include_str!("../../templates/report/parts.md")),
    ("draft.md", include_str!("../../templates/report/draft.md")),
    ("retraction.md", include_str!("../../templates/report/retraction.md")),
    ("issue.md", include_str!("../../templates/report/issue.md")),
    ("pull-request.md", include_str!("../../templates/report/pull-request.md")),
    ("removal.md", include_str!("../../templates/report/removal.md")),
    ("bump.md", include_str!("../../templates/report/bump.md")),
];
