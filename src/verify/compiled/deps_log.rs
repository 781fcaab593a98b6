//! `.ninja_deps`, in which ninja keeps what compilers read.
//!
//! The format: the line `# ninjadeps`, a version (3 or 4), then records. A record starts with its size; the highest
//! bit tells a record of dependencies from one that gives the next path its number. All integers have four bytes, in the
//! byte order of the machine. A record of dependencies has the number of the output, the time of the output (seconds in
//! version 3, nanoseconds in eight bytes in version 4) and the numbers of the inputs. A later record of an output replaces
//! an earlier one. A record that is cut off at the end was being written when ninja ended; ninja drops it, too.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

const HEADER: &[u8] = b"# ninjadeps\n";
/// What ninja itself takes for a damaged record.
const MOST: usize = 1 << 19;

/// What a step read, as ninja names it: relative to the build folder or absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// When the output was made, as ninja saw it.
    pub made: SystemTime,
    /// What was read.
    pub inputs: Vec<PathBuf>,
}

/// Why a log cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogError {
    /// It does not begin as such a log does.
    NotALog,
    /// A version that is not known here.
    Version(u32),
    /// A record that cannot be.
    Damaged,
}

impl std::fmt::Display for LogError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LogError::NotALog => f.write_str("it is no log of ninja's"),
            LogError::Version(version) => write!(f, "it has version {version}; 3 and 4 are known"),
            LogError::Damaged => f.write_str("it is damaged"),
        }
    }
}

impl std::error::Error for LogError {}

/// Reads a log: by output, the last record.
///
/// # Errors
/// If it is none, or damaged.
pub fn parse(log: &[u8]) -> Result<BTreeMap<PathBuf, Record>, LogError> {
    let rest = log.strip_prefix(HEADER).ok_or(LogError::NotALog)?;
    let (version, mut rest) = take_word(rest).ok_or(LogError::NotALog)?;
    if version != 3 && version != 4 {
        return Err(LogError::Version(version));
    }
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut records = BTreeMap::new();
    while let Some((head, after)) = take_word(rest) {
        let size = (head & 0x7fff_ffff) as usize;
        if size > MOST || !size.is_multiple_of(4) {
            return Err(LogError::Damaged);
        }
        let Some((record, after)) = after.split_at_checked(size) else { break };
        rest = after;
        if head >> 31 == 0 {
            paths.push(parse_path(record, paths.len())?);
        } else {
            let (output, record) = parse_record(record, version, &paths)?;
            records.insert(output, record);
        }
    }
    Ok(records)
}

fn take_word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (word, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_ne_bytes(*word), rest))
}

/// A path, padded with zeroes to four bytes, and the complement of its number.
fn parse_path(record: &[u8], number: usize) -> Result<PathBuf, LogError> {
    use std::os::unix::ffi::OsStrExt;
    let (path, check) = record.split_last_chunk::<4>().ok_or(LogError::Damaged)?;
    if usize::try_from(!u32::from_ne_bytes(*check)) != Ok(number) {
        return Err(LogError::Damaged);
    }
    let padding = path.iter().rev().take(3).take_while(|&&byte| byte == 0).count();
    let path = &path[..path.len() - padding];
    if path.is_empty() {
        return Err(LogError::Damaged);
    }
    Ok(PathBuf::from(std::ffi::OsStr::from_bytes(path)))
}

fn parse_record(record: &[u8], version: u32, paths: &[PathBuf]) -> Result<(PathBuf, Record), LogError> {
    let known = |number: u32| paths.get(number as usize).cloned().ok_or(LogError::Damaged);
    let (output, rest) = take_word(record).ok_or(LogError::Damaged)?;
    let (low, rest) = take_word(rest).ok_or(LogError::Damaged)?;
    let (time, mut rest) = match version {
        3 => (Duration::from_secs(low.into()), rest),
        _ => {
            let (high, rest) = take_word(rest).ok_or(LogError::Damaged)?;
            (Duration::from_nanos((u64::from(high) << 32) | u64::from(low)), rest)
        }
    };
    let mut inputs = Vec::with_capacity(rest.len() / 4);
    while let Some((number, after)) = take_word(rest) {
        inputs.push(known(number)?);
        rest = after;
    }
    Ok((known(output)?, Record { made: SystemTime::UNIX_EPOCH + time, inputs }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(log: &mut Vec<u8>, number: u32, path: &[u8]) {
        let padded = path.len().div_ceil(4) * 4;
        log.extend_from_slice(&u32::try_from(padded + 4).unwrap().to_ne_bytes());
        log.extend_from_slice(path);
        log.resize(log.len() + padded - path.len(), 0);
        log.extend_from_slice(&(!number).to_ne_bytes());
    }

    fn record(log: &mut Vec<u8>, output: u32, time: u64, inputs: &[u32]) {
        let size = 12 + 4 * u32::try_from(inputs.len()).unwrap();
        log.extend_from_slice(&(size | 1 << 31).to_ne_bytes());
        log.extend_from_slice(&output.to_ne_bytes());
        log.extend_from_slice(&((time & 0xffff_ffff) as u32).to_ne_bytes());
        log.extend_from_slice(&((time >> 32) as u32).to_ne_bytes());
        inputs.iter().for_each(|input| log.extend_from_slice(&input.to_ne_bytes()));
    }

    fn log() -> Vec<u8> {
        let mut log = b"# ninjadeps\n".to_vec();
        log.extend_from_slice(&4u32.to_ne_bytes());
        path(&mut log, 0, b"a.o");
        path(&mut log, 1, b"/s/a.c");
        record(&mut log, 0, 5_000_000_001, &[1]);
        path(&mut log, 2, b"/s/abcd.h");
        record(&mut log, 0, 7_000_000_000, &[1, 2]);
        log
    }

    #[test]
    fn the_last_record_of_an_output_counts() {
        let records = parse(&log()).unwrap();
        let record = &records[&PathBuf::from("a.o")];
        assert_eq!(record.inputs, [PathBuf::from("/s/a.c"), PathBuf::from("/s/abcd.h")]);
        assert_eq!(record.made, SystemTime::UNIX_EPOCH + Duration::from_secs(7));
    }

    #[test]
    fn a_record_that_is_cut_off_is_dropped() {
        let log = log();
        for cut in 1..20 {
            let records = parse(&log[..log.len() - cut]).unwrap();
            assert_eq!(records[&PathBuf::from("a.o")].inputs, [PathBuf::from("/s/a.c")]);
        }
    }

    #[test]
    fn what_is_no_log_is_none() {
        assert_eq!(parse(b""), Err(LogError::NotALog));
        assert_eq!(parse(b"# ninjadeps\n\x09\0\0\0"), Err(LogError::Version(9)));
        let mut damaged = log();
        damaged[28] ^= 1;
        assert_eq!(parse(&damaged), Err(LogError::Damaged));
    }
}
