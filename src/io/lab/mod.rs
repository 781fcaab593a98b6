//! The lab: variants on disk, built and tested.
//!
//! | what | where |
//! | --- | --- |
//! | the files of a variant, as values | `sources` |
//! | the folders of a commit, and who may use them | `site` |
//! | configuring and building, and what that read | `make` |
//! | what a build reads and does not say | `undeclared` |
//! | whether what stands there is still what we made | `pristine` |
//! | what of the machine a build stood on | `ground` |
//! | one run of a test, fresh processes after crashes | `trial` |
//! | what goes in | `inputs` |
//! | runs that were left off | `left_off` |
//! | running it, and what that opens | `running` |
//! | options and tools | `steering` |
//! | records on disk | `records` |
//! | which of them still hold | `recall` |
//! | all of it together | `measure` |
//! | answers of earlier times | `answers` |
//! | what verdicts want, until they want no more | `campaign` |
//! | what a decision was made from, for reports | `account` |

#[cfg(feature = "cli")]
mod account;
#[cfg(feature = "git")]
pub mod answers;
#[cfg(feature = "git")]
pub mod campaign;
pub mod event;
#[cfg(feature = "git")]
mod faulty;
pub mod ground;
pub mod inputs;
mod left_off;
pub mod make;
pub mod measure;
mod pristine;
mod recall;
pub mod records;
mod running;
pub mod site;
pub mod sources;
pub mod steering;
pub mod trial;
mod undeclared;
