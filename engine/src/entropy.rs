//! Shannon entropy: how evenly the bytes of a value are spread.
//!
//! Pure arithmetic on one slice, without allocation. C. E. Shannon, "A Mathematical Theory of
//! Communication", 1948, section 6.

/// Entropy of `bytes` in bits per byte, from 0 (empty, or one byte repeated) to 8.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub fn shannon(bytes: &[u8]) -> f64 {
    if bytes.is_empty() {
        return 0.0;
    }
    let mut counts = [0_u32; 256];
    for &byte in bytes {
        counts[usize::from(byte)] += 1;
    }
    let total = bytes.len() as f64;
    let sum: f64 = counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| f64::from(count) * f64::from(count).log2())
        .sum();
    (total.log2() - sum / total).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let close = |bytes: &[u8], expected: f64| (shannon(bytes) - expected).abs() < 1e-9;
        assert!(close(b"", 0.0));
        assert!(close(b"aaaaaaaa", 0.0));
        assert!(close(b"abababab", 1.0));
        assert!(close(b"abcdefgh", 3.0));
        assert!(close(&(0..=255).collect::<Vec<u8>>(), 8.0));
    }
}
