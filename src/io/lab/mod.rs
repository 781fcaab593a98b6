//! The lab: variants on disk, built and tested.

pub mod builds;
pub mod make;
pub mod site;
pub mod sources;
pub mod trial;
