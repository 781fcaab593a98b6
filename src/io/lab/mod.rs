//! The lab: variants on disk, built and tested.
//!
//! | what | where |
//! | --- | --- |
//! | the files of a variant, as values | `sources` |
//! | the variants of a workspace | `subjects` |
//! | the folders of a commit, and who may use them | `site` |
//! | configuring and building, and what that read | `make` |
//! | what a build reads and does not say | `undeclared` |
//! | whether what stands there is still what we made | `pristine` |
//! | what of the machine a build stood on | `ground` |
//! | one run of a test, fresh processes after crashes | `trial` |
//! | what goes in | `inputs` |
//! | builds with a sanitizer in them | `instrumented` |
//! | runs that a sanitizer watches | `sanitizing` |
//! | runs that were left off | `left_off` |
//! | running it, and what that opens | `running` |
//! | running some of its cases alone | `alone` |
//! | options and tools | `steering` |
//! | records on disk | `records` |
//! | which of them still hold | `recall` |
//! | those of other places | `elsewhere` |
//! | what records say wherever they were made, to be shown | `on_file` |
//! | those of other machines, in place of our own | `other_machine` |
//! | a verdict for each other device | `by_device` |
//! | which of them stand for nothing any more | `standing` |
//! | all of it together | `measure` |
//! | answers of earlier times | `answers` |
//! | since when an overlay is not needed | `bisection` |
//! | what verdicts want, until they want no more | `campaign` |
//! | how long that may take, and will | `budget` |
//! | several overlays at once: drops, rivals | `together` |
//! | what a decision was made from, for reports | `account` |

#[cfg(feature = "cli")]
mod account;
pub mod alone;
#[cfg(feature = "git")]
pub mod answers;
#[cfg(feature = "git")]
pub mod bisection;
#[cfg(feature = "git")]
pub mod budget;
#[cfg(feature = "git")]
pub mod by_device;
#[cfg(feature = "git")]
pub mod campaign;
pub mod elsewhere;
pub mod event;
#[cfg(feature = "git")]
mod faulty;
mod flip;
pub mod ground;
pub mod inputs;
mod instrumented;
mod left_off;
pub mod make;
pub mod measure;
#[cfg(feature = "git")]
pub mod on_file;
mod other_machine;
mod pristine;
mod recall;
pub mod records;
mod running;
mod sanitizing;
pub mod site;
pub mod sources;
#[cfg(feature = "git")]
pub mod standing;
pub mod steering;
#[cfg(feature = "git")]
pub mod subjects;
#[cfg(feature = "git")]
pub mod together;
pub mod trial;
mod undeclared;
