//! One worker's scanner of files: reads into one buffer and hands chunks to the engine.
//!
//! It takes open descriptors and bytes, never paths, and does not decide what is scanned. Files are read,
//! not mapped: a mapping of a file that somebody truncates kills its reader. Holes are skipped. A file is
//! read up to the size it had at the start, so that one that keeps growing ends; its growth is another
//! change. A panic while scanning one input is caught here, once for all commands: it costs that input, and
//! the scanner goes on with fresh memory. Memory: `READ_LEN` and the engine's overlap; nothing is allocated
//! per file.

use std::fmt;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use engine::{Confidence, Decision, Engine, EngineError, Finding, Scratch, Secret, Sink};
use rustix::fs::{Advice, SeekFrom, Stat, fadvise, seek};
use rustix::io::{Errno, pread};

use crate::limits::{DECISIONS_MAX, READ_LEN};
use crate::panics::{Panicked, guarded};

/// Files up to this size are read in one go, and advice on how would only cost a call.
const ADVISED_LEN_MIN: u64 = 128 * 1024;

/// Size up to which a file that claims to be empty is read, as files of `/proc` do.
const UNSIZED_LEN_MAX: u64 = 16 * 1024 * 1024;

/// What was seen of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scanned {
    /// Bytes read; holes do not count.
    pub bytes: u64,
    /// Whether the file became shorter while it was read.
    pub shrank: bool,
}

/// A scanner with its memory.
pub struct FileScanner {
    engine: Arc<Engine>,
    scratch: Scratch,
    buffer: Box<[u8]>,
    min_confidence: Confidence,
    decisions: Option<Vec<Decision>>,
}

impl FileScanner {
    /// Allocates all that scanning needs. Findings below `min_confidence` are not reported.
    ///
    /// # Errors
    ///
    /// If the engine has no memory for another worker.
    pub fn new(engine: Arc<Engine>, min_confidence: Confidence) -> Result<Self, EngineError> {
        let scratch = engine.scratch()?;
        let buffer = vec![0; READ_LEN + engine.overlap_max()].into_boxed_slice();
        Ok(Self { engine, scratch, buffer, min_confidence, decisions: None })
    }

    /// From now on keeps what is decided about each match, for [`take_decisions`](Self::take_decisions).
    pub fn keep_decisions(&mut self) {
        self.decisions = Some(Vec::new());
    }

    /// What was decided since this was asked last; at most `DECISIONS_MAX` of it.
    pub fn take_decisions(&mut self) -> Vec<Decision> {
        self.decisions.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Scans a regular file from its start; `stat` is of this descriptor.
    ///
    /// # Errors
    ///
    /// The kernel's, with what was found before it already reported.
    pub fn scan_file(
        &mut self,
        file: BorrowedFd<'_>,
        stat: &Stat,
        sink: &mut Sink<'_>,
    ) -> io::Result<Scanned> {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let allocated = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
        if size > ADVISED_LEN_MIN {
            // Advice may fail on odd file systems; reading works all the same.
            let _ = fadvise(file, 0, None, Advice::Sequential);
        }
        let sparse = allocated < size;
        self.scan(&mut FileSource { file, size, position: 0, sparse, read: 0 }, sink)
    }

    /// Scans a stream to its end.
    ///
    /// # Errors
    ///
    /// The stream's, with what was found before it already reported.
    pub fn scan_stream(&mut self, stream: impl Read, sink: &mut Sink<'_>) -> io::Result<Scanned> {
        self.scan(&mut StreamSource { stream, read: 0 }, sink)
    }

    fn scan(&mut self, source: &mut impl Source, sink: &mut Sink<'_>) -> io::Result<Scanned> {
        guarded(|| self.scan_chunks(source, sink)).unwrap_or_else(|Panicked| {
            self.scratch = self.engine.scratch().map_err(io::Error::other)?;
            Err(io::Error::other("not scanned because of a bug in lapwing"))
        })
    }

    fn scan_chunks(
        &mut self,
        source: &mut impl Source,
        sink: &mut Sink<'_>,
    ) -> io::Result<Scanned> {
        let min = self.min_confidence;
        let mut sink = |finding: &Finding, secret: Secret<'_>| {
            if finding.confidence >= min {
                sink(finding, secret);
            }
        };
        let mut observe;
        let mut scan = self.engine.scan(&mut self.scratch);
        if let Some(decisions) = &mut self.decisions {
            observe = |decision: &Decision| {
                if decisions.len() < DECISIONS_MAX {
                    decisions.push(decision.clone());
                }
            };
            scan = scan.observed_by(&mut observe);
        }
        let mut kept = 0;
        loop {
            if let Some(gap) = source.gap()? {
                scan.gap(&self.buffer[..kept], gap, &mut sink);
                kept = 0;
            }
            let len = source.read(&mut self.buffer[kept..kept + READ_LEN])?;
            let end = kept + len;
            let last = len == 0 || source.is_at_end();
            let keep = scan.chunk(&self.buffer[..end], last, &mut sink);
            if last {
                return Ok(source.scanned());
            }
            self.buffer.copy_within(end - keep..end, 0);
            kept = keep;
        }
    }
}

impl fmt::Debug for FileScanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The buffer holds what was scanned last, secrets included.
        f.debug_struct("FileScanner").finish_non_exhaustive()
    }
}

/// Where bytes come from.
trait Source {
    /// Moves over a hole, if there is one here, and returns its length.
    fn gap(&mut self) -> io::Result<Option<u64>>;
    /// Reads on; 0 bytes are the end.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
    /// Whether the end is known to be here.
    fn is_at_end(&self) -> bool;
    /// What was seen.
    fn scanned(&self) -> Scanned;
}

/// A stream, whose end shows only when it comes.
struct StreamSource<R> {
    stream: R,
    read: u64,
}

impl<R: Read> Source for StreamSource<R> {
    fn gap(&mut self) -> io::Result<Option<u64>> {
        Ok(None)
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = loop {
            match self.stream.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.read += len as u64;
        Ok(len)
    }

    fn is_at_end(&self) -> bool {
        false
    }

    fn scanned(&self) -> Scanned {
        Scanned { bytes: self.read, shrank: false }
    }
}

/// A regular file being read.
struct FileSource<'a> {
    file: BorrowedFd<'a>,
    size: u64,
    position: u64,
    sparse: bool,
    read: u64,
}

impl Source for FileSource<'_> {
    fn gap(&mut self) -> io::Result<Option<u64>> {
        if !self.sparse || self.position >= self.size {
            return Ok(None);
        }
        let data = match seek(self.file, SeekFrom::Data(self.position)) {
            Ok(data) => data.min(self.size),
            // Nothing but a hole up to the end.
            Err(Errno::NXIO) => self.size,
            // This file system does not know its holes: read the zeros.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => {
                self.sparse = false;
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let gap = data.saturating_sub(self.position);
        self.position = self.position.max(data);
        Ok((gap > 0).then_some(gap))
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = if self.size == 0 { UNSIZED_LEN_MAX } else { self.size };
        let left = usize::try_from(end.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let room = buffer.len().min(left);
        let len = loop {
            match pread(self.file, &mut buffer[..room], self.position) {
                Err(Errno::INTR) => {}
                other => break other?,
            }
        };
        self.position += len as u64;
        self.read += len as u64;
        Ok(len)
    }

    /// All of the size known at the start was read.
    fn is_at_end(&self) -> bool {
        self.size > 0 && self.position >= self.size
    }

    fn scanned(&self) -> Scanned {
        Scanned { bytes: self.read, shrank: self.position < self.size }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    use engine::{FingerprintKey, expand, parse_rules};

    use super::*;

    const RULE: &str = "provider = 'Test'\n[[rules]]\nid = 'r'\ndescription = 'd'\n\
                        regex = '''\\b(tok_[0-9a-f]{32})\\b'''\nconfidence = 'high'\n";

    fn scanner() -> FileScanner {
        let rules = parse_rules("test.toml", RULE).unwrap();
        let engine = Engine::new(rules, FingerprintKey::new(&[0; 32])).unwrap();
        FileScanner::new(Arc::new(engine), Confidence::Medium).unwrap()
    }

    fn token() -> Vec<u8> {
        expand(" tok_%{hex:32}\n", 1, None).unwrap()
    }

    fn offsets(scanner: &mut FileScanner, file: &File) -> (Scanned, Vec<u64>) {
        let stat = rustix::fs::fstat(file).unwrap();
        let mut offsets = Vec::new();
        let scanned = scanner
            .scan_file(file.as_fd(), &stat, &mut |finding, _| offsets.push(finding.offset))
            .unwrap();
        (scanned, offsets)
    }

    #[test]
    fn large_files_are_scanned_to_the_end_and_over_every_boundary() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("large");
        let mut text = b"x ".repeat(2 * READ_LEN);
        let token = token();
        let places = [0, READ_LEN - 20, 2 * READ_LEN - 35, text.len() - token.len()];
        for place in places {
            text[place..place + token.len()].copy_from_slice(&token);
        }
        fs::write(&path, &text).unwrap();
        let (scanned, found) = offsets(&mut scanner(), &File::open(&path).unwrap());
        assert_eq!(scanned, Scanned { bytes: text.len() as u64, shrank: false });
        assert_eq!(found, places.map(|place| place as u64 + 1));
        let mut streamed = Vec::new();
        scanner().scan_stream(&text[..], &mut |finding, _| streamed.push(finding.offset)).unwrap();
        assert_eq!(streamed, found);
    }

    #[test]
    fn holes_are_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sparse");
        let mut options = File::options();
        let file = options.create(true).truncate(true).read(true).write(true).open(&path).unwrap();
        let at = 10 << 30;
        file.write_at(&token(), 0).unwrap();
        file.write_at(&token(), at).unwrap();
        file.set_len(at + (1 << 30)).unwrap();
        let (scanned, found) = offsets(&mut scanner(), &file);
        assert_eq!(found, [1, at + 1]);
        assert!(scanned.bytes < 8 << 20, "{} bytes read", scanned.bytes);
        assert!(!scanned.shrank);
    }

    #[test]
    fn files_without_a_size_are_read() {
        let (scanned, _) = offsets(&mut scanner(), &File::open("/proc/self/status").unwrap());
        assert!(scanned.bytes > 100);
    }

    #[test]
    fn a_panic_costs_one_input_only() {
        let mut scanner = scanner();
        let error = scanner.scan_stream(&token()[..], &mut |_, _| panic!("a bug")).unwrap_err();
        assert!(error.to_string().contains("a bug in lapwing"), "{error}");
        let mut count = 0;
        scanner.scan_stream(&token()[..], &mut |_, _| count += 1).unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn debug_shows_nothing_of_what_was_scanned() {
        let mut scanner = scanner();
        scanner.scan_stream(&token()[..], &mut |_, _| {}).unwrap();
        assert_eq!(format!("{scanner:?}"), "FileScanner { .. }");
    }

    #[test]
    fn a_file_that_shrinks_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::write(&path, token()).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let stat = rustix::fs::fstat(&file).unwrap();
        file.set_len(4).unwrap();
        let scanned = scanner().scan_file(file.as_fd(), &stat, &mut |_, _| {}).unwrap();
        assert_eq!(scanned, Scanned { bytes: 4, shrank: true });
    }
}
