//! All tests that need git, files or the program.

mod store;
