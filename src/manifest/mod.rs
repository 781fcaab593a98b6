//! The manifest: TOML as written, then a validated model.

mod model;

pub use model::*;
