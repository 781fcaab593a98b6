//! The lab: variants on disk, built and tested.

pub mod builds;
pub mod evidence;
pub mod make;
// pub mod measure;
pub mod site;
pub mod sources;
pub mod trial;
