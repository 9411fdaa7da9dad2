//! Marvin32, the keyed hash that Azure's keys are checked with. Constant memory, linear time.
//!
//! Source: microsoft/security-utilities, `Marvin.cs` (MIT); the algorithm is that of .NET's string hashes.

/// The 32-bit hash of `bytes` under `seed`.
pub(super) fn marvin32(bytes: &[u8], seed: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the halves of the seed")]
    let (low, high) = (seed as u32, (seed >> 32) as u32);
    let mut state = (low, high);
    let (words, rest) = bytes.as_chunks::<4>();
    for &word in words {
        state.0 = state.0.wrapping_add(u32::from_le_bytes(word));
        state = mix(state);
    }
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    state.0 = state.0.wrapping_add(u32::from_le_bytes(last));
    state = mix(mix(state));
    state.0 ^ state.1
}

fn mix((mut low, mut high): (u32, u32)) -> (u32, u32) {
    high ^= low;
    low = low.rotate_left(20).wrapping_add(high);
    high = high.rotate_left(9) ^ low;
    low = low.rotate_left(27).wrapping_add(high);
    (low, high.rotate_left(19))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seed that Azure uses, so that the vectors can be made with its own tools.
    const SEED: u64 = 0x4465_6661_756c_7430;

    #[test]
    fn the_reference_gives_the_same() {
        // marvin32(b"a"*n, 0x44656661756c7430)
        for (len, hash) in MARVIN_VECTORS {
            assert_eq!(marvin32(&b"a".repeat(len), SEED), hash, "{len} bytes");
        }
    }

    const MARVIN_VECTORS: [(usize, u32); 7] = [
        (0, 0xcfd9_b134),
        (1, 0x7182_8de7),
        (2, 0xcd9e_e9b2),
        (3, 0x3161_ea44),
        (4, 0x2c39_ff7d),
        (7, 0xa9f3_2464),
        (60, 0x6fc0_9537),
    ];
}
