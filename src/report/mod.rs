//! Reports: what may be said of an overlay, to whom, and on what grounds.
//!
//! Decides what a report says ([`kind`]), from which measurements it was made ([`facts`]), what stands in its tables
//! ([`table`]), which lines of the upstream it quotes ([`quote`]), what a person wrote in it ([`sections`]), and whether
//! all that still holds ([`check`]); how the page of all overlays is laid out ([`page`]), with pictures of their cells
//! ([`picture`]); which overlay needs a hand first ([`hand`]); formats for CI ([`ci`]); what words mean ([`explain`]). Never says why something is wrong: causes are written by a person. Never reads a
//! file, and never sends anything anywhere.
//!
//! A report is a Markdown file. What the program writes follows from the facts at its end, so a second run writes the
//! same bytes, and an edit by hand shows.

pub mod check;
pub mod ci;
pub mod claims;
pub mod delta;
pub mod explain;
pub mod facts;
pub mod hand;
pub mod kind;
pub mod links;
pub mod markdown;
pub mod page;
pub mod picture;
mod proof_view;
pub mod quote;
pub mod render;
pub mod retired;
pub mod sections;
pub mod table;
pub mod templates;
