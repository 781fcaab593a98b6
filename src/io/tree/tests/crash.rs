//! Runs that are killed, or refused by the file system, at every system call that changes something.
