//! The parser of what read(2) on a fanotify group returns.
//!
//! It takes a byte slice and trusts no length in it: a record that does not fit ends the buffer with an
//! error, and an information record of unknown type is skipped by its length. It opens and closes
//! nothing; the pidfds that it reports belong to the caller, which must close each one, also those
//! ahead of an error. Names are raw bytes. Source: fanotify(7), `linux/fanotify.h`.

use super::handle::{FileHandle, FileSystemId, Name};

/// `sizeof(struct fanotify_event_metadata)`.
const METADATA_LEN: usize = 24;
/// `FANOTIFY_METADATA_VERSION`.
const METADATA_VERSION: u8 = 3;
/// `sizeof(struct fanotify_event_info_header)`.
const HEADER_LEN: usize = 4;
/// A file system id of 8 bytes, then `handle_bytes` and `handle_type` of 4 each.
const FID_LEN: usize = 16;

/// A buffer that no kernel makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// An event does not fit into the buffer, or into itself.
    #[error("an event of {0} bytes does not fit")]
    Length(usize),
    /// The kernel speaks another version of the format.
    #[error("event format {0}, expected {METADATA_VERSION}: the agent is too old for this kernel")]
    Version(u8),
}

/// A directory and a name in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The directory.
    pub directory: FileHandle,
    /// The name; `None` where the event is about the directory itself.
    pub name: Option<Name>,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// What happened, a set of `FAN_…` bits.
    pub mask: u64,
    /// Who did it, in our pid namespace; 0 for a process outside of it.
    pub pid: i32,
    /// A descriptor for that process, for the caller to close.
    pub pidfd: Option<i32>,
    /// The file itself.
    pub target: Option<FileHandle>,
    /// Where the file is, or was before a rename.
    pub entry: Option<Entry>,
    /// Where a renamed file is now.
    pub new_entry: Option<Entry>,
}

/// The events of one read.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Records<'a> {
    /// Parses what one read returned.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Record, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        match split_event(self.rest) {
            Ok((event, rest)) => {
                self.rest = rest;
                Some(Ok(parse_event(&event)))
            }
            Err(error) => {
                self.rest = &[];
                Some(Err(error))
            }
        }
    }
}

/// An event whose lengths have been checked.
struct Event<'a> {
    metadata: &'a [u8],
    information: &'a [u8],
}

fn split_event(bytes: &[u8]) -> Result<(Event<'_>, &[u8]), RecordError> {
    let (fixed, _) =
        bytes.split_at_checked(METADATA_LEN).ok_or(RecordError::Length(bytes.len()))?;
    let event_len = word(fixed, 0) as usize;
    let metadata_len = usize::from(u16::from_ne_bytes([fixed[6], fixed[7]]));
    if fixed[4] != METADATA_VERSION {
        return Err(RecordError::Version(fixed[4]));
    }
    let (event, rest) = bytes.split_at_checked(event_len).ok_or(RecordError::Length(event_len))?;
    if metadata_len < METADATA_LEN {
        return Err(RecordError::Length(metadata_len));
    }
    let (metadata, information) =
        event.split_at_checked(metadata_len).ok_or(RecordError::Length(metadata_len))?;
    Ok((Event { metadata, information }, rest))
}

fn parse_event(event: &Event<'_>) -> Record {
    let (low, high) = (word(event.metadata, 8), word(event.metadata, 12));
    let (low, high) = if cfg!(target_endian = "little") { (low, high) } else { (high, low) };
    let mut record = Record {
        mask: u64::from(high) << 32 | u64::from(low),
        pid: word(event.metadata, 20).cast_signed(),
        pidfd: None,
        target: None,
        entry: None,
        new_entry: None,
    };
    let mut rest = event.information;
    while let Some((header, _)) = rest.split_at_checked(HEADER_LEN) {
        let len = usize::from(u16::from_ne_bytes([header[2], header[3]]));
        if len < HEADER_LEN || len > rest.len() {
            // What is behind it cannot be found. The event stands as far as it is known.
            break;
        }
        let (information, behind) = rest.split_at(len);
        parse_information(header[0], &information[HEADER_LEN..], &mut record);
        rest = behind;
    }
    record
}

fn parse_information(kind: u8, body: &[u8], record: &mut Record) {
    match kind {
        libc::FAN_EVENT_INFO_TYPE_FID => record.target = parse_handle(body).map(|(fid, _)| fid),
        libc::FAN_EVENT_INFO_TYPE_DFID
        | libc::FAN_EVENT_INFO_TYPE_DFID_NAME
        | libc::FAN_EVENT_INFO_TYPE_OLD_DFID_NAME => record.entry = parse_entry(body),
        libc::FAN_EVENT_INFO_TYPE_NEW_DFID_NAME => record.new_entry = parse_entry(body),
        libc::FAN_EVENT_INFO_TYPE_PIDFD if body.len() >= 4 && record.pidfd.is_none() => {
            let pidfd = word(body, 0).cast_signed();
            record.pidfd = (pidfd >= 0).then_some(pidfd);
        }
        _ => {}
    }
}

/// A handle and the bytes behind it.
fn parse_handle(body: &[u8]) -> Option<(FileHandle, &[u8])> {
    let (fid, rest) = body.split_at_checked(FID_LEN)?;
    let file_system = FileSystemId(fid[..8].try_into().ok()?);
    let (handle, rest) = rest.split_at_checked(word(fid, 8) as usize)?;
    let kind = word(fid, 12).cast_signed();
    Some((FileHandle::new(file_system, kind, handle)?, rest))
}

fn parse_entry(body: &[u8]) -> Option<Entry> {
    let (directory, rest) = parse_handle(body)?;
    let name = rest.split(|&byte| byte == 0).next().unwrap_or_default();
    let name = Name::new(name).filter(|name| name.bytes() != b"." && name.bytes() != b"..");
    Some(Entry { directory, name })
}

/// The four bytes at `at`, which the caller has checked to be there.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Builds one information record.
    fn information(kind: u8, body: &[u8]) -> Vec<u8> {
        let padded = body.len().next_multiple_of(4);
        let len = u16::try_from(HEADER_LEN + padded).unwrap();
        let mut bytes = vec![kind, 0];
        bytes.extend(len.to_ne_bytes());
        bytes.extend(body);
        bytes.resize(HEADER_LEN + padded, 0);
        bytes
    }

    fn fid(handle: &[u8], name: Option<&[u8]>) -> Vec<u8> {
        let mut bytes = vec![9; 8];
        bytes.extend(u32::try_from(handle.len()).unwrap().to_ne_bytes());
        bytes.extend(1_i32.to_ne_bytes());
        bytes.extend(handle);
        if let Some(name) = name {
            bytes.extend(name);
            bytes.push(0);
        }
        bytes
    }

    fn event(mask: u64, information: &[Vec<u8>]) -> Vec<u8> {
        let information = information.concat();
        let mut bytes = Vec::new();
        bytes.extend(u32::try_from(METADATA_LEN + information.len()).unwrap().to_ne_bytes());
        bytes.extend([METADATA_VERSION, 0]);
        bytes.extend(u16::try_from(METADATA_LEN).unwrap().to_ne_bytes());
        bytes.extend(mask.to_ne_bytes());
        bytes.extend((-1_i32).to_ne_bytes());
        bytes.extend(77_i32.to_ne_bytes());
        bytes.extend(information);
        bytes
    }

    /// What the kernel sends for the kinds of events that the agent asks for.
    pub(crate) fn samples() -> Vec<Vec<u8>> {
        let named = |kind, name: &[u8]| information(kind, &fid(b"dirhandl", Some(name)));
        let target = information(libc::FAN_EVENT_INFO_TYPE_FID, &fid(b"filehand", None));
        let pidfd = information(libc::FAN_EVENT_INFO_TYPE_PIDFD, &(-1_i32).to_ne_bytes());
        vec![
            event(
                libc::FAN_CLOSE_WRITE,
                &[named(libc::FAN_EVENT_INFO_TYPE_DFID_NAME, b"a.env"), target.clone(), pidfd],
            ),
            event(
                libc::FAN_RENAME,
                &[
                    named(libc::FAN_EVENT_INFO_TYPE_OLD_DFID_NAME, b"old"),
                    named(libc::FAN_EVENT_INFO_TYPE_NEW_DFID_NAME, b"new\xff\n"),
                    target,
                ],
            ),
            event(libc::FAN_Q_OVERFLOW, &[]),
        ]
    }

    #[test]
    fn the_three_kinds_of_events_are_read() {
        let bytes = samples().concat();
        let records: Vec<Record> = Records::new(&bytes).map(Result::unwrap).collect();
        assert_eq!(records.len(), 3);
        let name = |entry: Option<Entry>| entry.unwrap().name.unwrap().bytes().to_vec();
        assert_eq!(records[0].mask, libc::FAN_CLOSE_WRITE);
        assert_eq!(records[0].pid, 77);
        assert_eq!(records[0].pidfd, None);
        assert_eq!(records[0].target.unwrap().bytes(), b"filehand");
        assert_eq!(name(records[0].entry), b"a.env");
        assert_eq!(name(records[1].entry), b"old");
        assert_eq!(name(records[1].new_entry), b"new\xff\n");
        assert_eq!(records[2].mask, libc::FAN_Q_OVERFLOW);
        assert_eq!(records[2].target, None);
    }

    #[test]
    fn unknown_information_is_skipped_in_any_order() {
        let target = information(libc::FAN_EVENT_INFO_TYPE_FID, &fid(b"filehand", None));
        let entry = information(libc::FAN_EVENT_INFO_TYPE_DFID_NAME, &fid(b"d", Some(b"n")));
        let bytes = event(8, &[information(200, &[1; 13]), target, information(201, &[]), entry]);
        let record = Records::new(&bytes).next().unwrap().unwrap();
        assert!(record.target.is_some());
        assert!(record.entry.is_some());
    }

    #[test]
    fn lengths_that_lie_are_errors_or_missing_parts() {
        let good = samples().remove(0);
        assert_eq!(Records::new(&good[..10]).next(), Some(Err(RecordError::Length(10))));
        let mut long = good.clone();
        long[0] = 0xff;
        assert!(matches!(Records::new(&long).next(), Some(Err(RecordError::Length(_)))));
        let mut zero = good.clone();
        zero[0] = 0;
        assert!(matches!(Records::new(&zero).next(), Some(Err(RecordError::Length(_)))));
        let mut version = good.clone();
        version[4] = 9;
        assert_eq!(Records::new(&version).next(), Some(Err(RecordError::Version(9))));
        let mut header = good.clone();
        header[METADATA_LEN + 2] = 0;
        let record = Records::new(&header).next().unwrap().unwrap();
        assert_eq!(record.target, None);
        let mut handle = good;
        handle[METADATA_LEN + HEADER_LEN + 8] = 0xff;
        assert_eq!(Records::new(&handle).next().unwrap().unwrap().entry, None);
    }

    #[test]
    fn names_that_are_no_names_are_left_out() {
        for name in [&b"."[..], b"..", b"a/b", b""] {
            let information =
                information(libc::FAN_EVENT_INFO_TYPE_DFID_NAME, &fid(b"d", Some(name)));
            let bytes = event(8, &[information]);
            let entry = Records::new(&bytes).next().unwrap().unwrap().entry.unwrap();
            assert_eq!(entry.name, None);
        }
    }

    /// Fuzzing from a seed: no bytes make the parser panic, loop, or read past what it was given.
    #[test]
    fn fuzzed_buffers_always_end() {
        let samples = samples();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move |bound: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % bound as u64).unwrap()
        };
        let mut parsed = 0_usize;
        for _ in 0..200_000 {
            let mut bytes: Vec<u8> =
                (0..=next(4)).flat_map(|_| samples[next(samples.len())].clone()).collect();
            for _ in 0..next(8) {
                let at = next(bytes.len());
                bytes[at] = match next(4) {
                    0 => 0,
                    1 => 0xff,
                    2 => bytes[at].wrapping_add(1),
                    _ => u8::try_from(next(256)).unwrap(),
                };
            }
            bytes.truncate(1 + next(bytes.len()));
            let count = Records::new(&bytes).count();
            assert!(count <= 1 + bytes.len() / METADATA_LEN);
            parsed += count;
        }
        assert!(parsed > 200_000);
    }
}
