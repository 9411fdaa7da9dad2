//! The name of a git object: a SHA-1 or a SHA-256 digest, see hash-function-transition among
//! git's technical documents.
//!
//! An id is plain data held inline, cheap to copy, compare and hash. It must not allocate, and it
//! must not claim that an object of that name exists.
//!
//! Every value of the type is a valid id: the length is part of the variant. Ids of one format
//! sort as their bytes do, which is the order of a pack index.

use std::fmt;

/// The name of one object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectId {
    /// The SHA-1 digest of an object.
    Sha1([u8; 20]),
    /// The SHA-256 digest of an object.
    Sha256([u8; 32]),
}

/// The digest by which a repository names its objects (`extensions.objectFormat` in
/// git-config(1)). A repository has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectFormat {
    /// SHA-1, the format of a repository that does not say otherwise.
    Sha1,
    /// SHA-256.
    Sha256,
}

/// Why some bytes are not an object id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectIdError {
    /// The input is too short or too long for the format.
    #[error("an object id of {expected} bytes was expected, {actual} were given")]
    Length {
        /// How many bytes the format asks for.
        expected: usize,
        /// How many there were.
        actual: usize,
    },
    /// A byte is not a hexadecimal digit.
    #[error("byte {index} of an object id is not a hexadecimal digit")]
    Digit {
        /// Index of the first byte at fault.
        index: usize,
    },
}

// Object ids are held by the million; an id must not grow beyond its digest and its format.
const _: () = assert!(size_of::<ObjectId>() == 33);

impl ObjectId {
    /// Reads an id from hexadecimal digits, all of them and nothing else. Like git, it takes
    /// capital letters too.
    ///
    /// # Errors
    ///
    /// When the number of digits is not that of `format`, or a byte is not a digit.
    pub fn from_hex(format: ObjectFormat, hex: &[u8]) -> Result<Self, ObjectIdError> {
        match format {
            ObjectFormat::Sha1 => decode_hex(hex).map(Self::Sha1),
            ObjectFormat::Sha256 => decode_hex(hex).map(Self::Sha256),
        }
    }

    /// Takes the digest itself, as trees and packs hold it.
    ///
    /// # Errors
    ///
    /// When the number of bytes is not that of `format`.
    pub fn from_bytes(format: ObjectFormat, bytes: &[u8]) -> Result<Self, ObjectIdError> {
        let length = ObjectIdError::Length { expected: format.digest_bytes(), actual: bytes.len() };
        match format {
            ObjectFormat::Sha1 => bytes.try_into().map(Self::Sha1).map_err(|_| length),
            ObjectFormat::Sha256 => bytes.try_into().map(Self::Sha256).map_err(|_| length),
        }
    }

    /// The digest.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Sha1(bytes) => bytes,
            Self::Sha256(bytes) => bytes,
        }
    }

    /// The format of this id.
    #[must_use]
    pub const fn format(&self) -> ObjectFormat {
        match self {
            Self::Sha1(_) => ObjectFormat::Sha1,
            Self::Sha256(_) => ObjectFormat::Sha256,
        }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectId({self})")
    }
}

impl ObjectFormat {
    /// The format that git calls `name`. git compares the name byte for byte, so `SHA256` is
    /// none.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Option<Self> {
        [Self::Sha1, Self::Sha256].into_iter().find(|format| format.name().as_bytes() == name)
    }

    /// What git calls this format.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
        }
    }

    /// Length of a digest.
    #[must_use]
    pub const fn digest_bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// Length of an id written in hexadecimal digits.
    #[must_use]
    pub const fn hex_bytes(self) -> usize {
        2 * self.digest_bytes()
    }
}

fn decode_hex<const N: usize>(hex: &[u8]) -> Result<[u8; N], ObjectIdError> {
    if hex.len() != 2 * N {
        return Err(ObjectIdError::Length { expected: 2 * N, actual: hex.len() });
    }
    if let Some(index) = hex.iter().position(|&byte| digit_value(byte).is_none()) {
        return Err(ObjectIdError::Digit { index });
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
        *byte = pair
            .iter()
            .filter_map(|&digit| digit_value(digit))
            .fold(0, |high, low| high << 4 | low);
    }
    Ok(bytes)
}

const fn digit_value(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of the empty blob in both formats, as `git hash-object -t blob /dev/null` has it.
    const EMPTY_SHA1: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
    const EMPTY_SHA256: &str = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813";

    #[test]
    fn hex_survives_a_round_trip() {
        for (format, hex) in
            [(ObjectFormat::Sha1, EMPTY_SHA1), (ObjectFormat::Sha256, EMPTY_SHA256)]
        {
            let id = ObjectId::from_hex(format, hex.as_bytes()).unwrap();
            assert_eq!(id.to_string(), hex);
            assert_eq!(id.format(), format);
            assert_eq!(id.as_bytes().len(), format.digest_bytes());
            assert_eq!(hex.len(), format.hex_bytes());
            assert_eq!(ObjectId::from_bytes(format, id.as_bytes()), Ok(id));
            assert_eq!(ObjectId::from_hex(format, hex.to_uppercase().as_bytes()), Ok(id));
            assert_eq!(format!("{id:?}"), format!("ObjectId({hex})"));
        }
    }

    #[test]
    fn every_byte_value_is_judged() {
        for byte in 0..=u8::MAX {
            let mut hex = [b'0'; 40];
            hex[39] = byte;
            let id = ObjectId::from_hex(ObjectFormat::Sha1, &hex);
            match char::from(byte).to_digit(16) {
                Some(value) => assert_eq!(u32::from(id.unwrap().as_bytes()[19]), value),
                None => assert_eq!(id, Err(ObjectIdError::Digit { index: 39 })),
            }
        }
    }

    #[test]
    fn a_wrong_length_is_refused() {
        for actual in [0, 1, 39, 41, 64] {
            let hex = vec![b'0'; actual];
            let error = ObjectIdError::Length { expected: 40, actual };
            assert_eq!(ObjectId::from_hex(ObjectFormat::Sha1, &hex), Err(error));
        }
        let error = ObjectIdError::Length { expected: 32, actual: 20 };
        assert_eq!(ObjectId::from_bytes(ObjectFormat::Sha256, &[0; 20]), Err(error));
    }

    #[test]
    fn ids_sort_as_their_bytes() {
        let low = ObjectId::Sha1([0x0f; 20]);
        let high = ObjectId::Sha1([0xf0; 20]);
        assert!(low < high);
        assert!(low.to_string() < high.to_string());
    }

    #[test]
    fn formats_are_known_by_their_exact_name() {
        assert_eq!(ObjectFormat::from_name(b"sha1"), Some(ObjectFormat::Sha1));
        assert_eq!(ObjectFormat::from_name(b"sha256"), Some(ObjectFormat::Sha256));
        for name in [&b""[..], b"SHA256", b"sha256\0", b"md5", b"\xff"] {
            assert_eq!(ObjectFormat::from_name(name), None);
        }
    }
}
