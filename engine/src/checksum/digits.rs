//! Numbers in a fixed count of digits of any base, highest digit first.

pub(super) const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
pub(super) const BASE36: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
pub(super) const BASE62: &[u8; 62] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
pub(super) const HEX_LOWER: &[u8; 16] = b"0123456789abcdef";
pub(super) const HEX_UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// The lowest `N` digits of `value`, padded with the alphabet's first character.
pub(super) fn digits<const N: usize>(value: u64, alphabet: &[u8]) -> [u8; N] {
    let base = alphabet.len() as u64;
    assert!(base >= 2, "a base has two digits");
    let mut rest = value;
    let mut digits = [alphabet[0]; N];
    for digit in digits.iter_mut().rev() {
        // Less than the alphabet's length.
        *digit = alphabet[usize::try_from(rest % base).unwrap_or(0)];
        rest /= base;
    }
    digits
}

/// Whether every byte of `text` is a digit of the base.
pub(super) fn all_in(text: &[u8], alphabet: &[u8]) -> bool {
    text.iter().all(|byte| alphabet.contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_padded_and_take_the_largest_value() {
        assert_eq!(&digits::<6>(0, BASE62), b"000000");
        assert_eq!(&digits::<6>(61, BASE62), b"00000z");
        assert_eq!(&digits::<6>(u32::MAX.into(), BASE62), b"4gfFC3");
        assert_eq!(&digits::<7>(u32::MAX.into(), BASE36), b"1z141z3");
        assert_eq!(&digits::<8>(0xdead_beef, HEX_LOWER), b"deadbeef");
    }
}
