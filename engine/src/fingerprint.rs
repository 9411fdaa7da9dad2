//! Fingerprints: the name of a secret that can be written down without giving it away.
//!
//! HMAC-SHA-256 (RFC 2104) under a key of the host. A plain hash would not do: passwords are guessable,
//! and whoever reads a journal could try them. The engine is given the key; it never makes or stores one.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The key of a host, 32 bytes of good randomness.
#[derive(Clone)]
pub struct FingerprintKey(Hmac<Sha256>);

impl FingerprintKey {
    /// Prepares the key. The bytes themselves are not kept.
    ///
    /// # Panics
    ///
    /// Never: HMAC takes keys of any length.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"))
    }

    /// The fingerprint of `secret`.
    #[must_use]
    pub fn fingerprint(&self, secret: &[u8]) -> Fingerprint {
        let mut hmac = self.0.clone();
        hmac.update(secret);
        Fingerprint(hmac.finalize().into_bytes().into())
    }
}

impl fmt::Debug for FingerprintKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FingerprintKey(…)")
    }
}

/// HMAC-SHA-256 of a secret; shown as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_an_independent_computation() {
        // printf test | openssl dgst -sha256 -mac HMAC -macopt hexkey:$(printf '00%.0s' {1..32})
        let fingerprint = FingerprintKey::new(&[0; 32]).fingerprint(b"test");
        assert_eq!(
            fingerprint.to_string(),
            "43b0cef99265f9e34c10ea9d3501926d27b39f57c6d674561d8ba236e7a819fb"
        );
    }

    #[test]
    fn depends_on_the_key_and_on_the_secret() {
        let (one, two) = (FingerprintKey::new(&[1; 32]), FingerprintKey::new(&[2; 32]));
        assert_ne!(one.fingerprint(b"a"), two.fingerprint(b"a"));
        assert_ne!(one.fingerprint(b"a"), one.fingerprint(b"b"));
        assert_eq!(one.fingerprint(b"a"), one.clone().fingerprint(b"a"));
    }
}
