//! The lab: variants on disk, built and tested.

pub mod site;
