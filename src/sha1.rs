//! SHA-1: git's name for content, and the last bytes of files of ours.

/// SHA-1 of parts, one after the other.
///
/// Whole trees are hashed with the processor's own instructions. A build script hashes little, and compiles a crate
/// that has no dependencies.
#[must_use]
pub fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    #[cfg(any(feature = "git", feature = "proof"))]
    {
        use sha1::{Digest, Sha1};
        let mut hash = Sha1::new();
        parts.iter().for_each(|part| hash.update(part));
        hash.finalize().into()
    }
    #[cfg(not(any(feature = "git", feature = "proof")))]
    small(parts)
}

#[cfg(any(test, not(any(feature = "git", feature = "proof"))))]
fn small(parts: &[&[u8]]) -> [u8; 20] {
    let mut hash = sha1_smol::Sha1::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.digest().bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_crates_say_what_the_standard_says() {
        let abc = [
            0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e, 0x25, 0x71, 0x78, 0x50, 0xc2, 0x6c,
            0x9c, 0xd0, 0xd8, 0x9d,
        ];
        assert_eq!((sha1(&[b"a", b"", b"bc"]), small(&[b"a", b"", b"bc"])), (abc, abc));
        for length in 0..300 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
            assert_eq!(sha1(&[&bytes]), small(&[&bytes]), "{length} bytes");
        }
    }
}
