//! Secrets for tests, made at run time: nothing token-shaped stands in the tree.

use std::sync::atomic::{AtomicU64, Ordering};

use engine::{Checksum, expand};

/// A new GitHub token with a valid checksum, different each time.
pub(crate) fn token() -> String {
    static SEED: AtomicU64 = AtomicU64::new(1);
    let process = u64::from(std::process::id()) << 32;
    let seed = SEED.fetch_add(1, Ordering::Relaxed) | process;
    let checksum = Some(Checksum::Crc32Base62);
    let token = expand("gh%{}p_%{base62:30}%{checksum}", seed, checksum).unwrap();
    String::from_utf8(token).unwrap()
}

/// Fails if `output` holds any eight successive bytes of the token's random part.
pub(crate) fn assert_absent(output: &[u8], token: &str, place: &str) {
    for part in token.as_bytes()[4..].windows(8) {
        let found = output.windows(part.len()).any(|window| window == part);
        assert!(!found, "a part of the secret is in {place}");
    }
}
