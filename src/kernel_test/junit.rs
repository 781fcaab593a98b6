//! (comes next)
