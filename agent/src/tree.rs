//! The walk of `scan`: files and folders, every core, each worker with its own scanner.
//!
//! Workers take folders and batches of names from each other's deques. Symbolic links are not followed
//! below the paths given; file systems that the kernel makes up are not entered. No descriptor is held
//! between tasks, so neither depth nor width runs into a limit. A folder costs an allocation, a batch of
//! `NAMES_PER_TASK` names one more, a file none.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_deque::{Injector, Steal, Stealer, Worker};
use rustix::fs::{FileType, Stat};

use crate::file_system;
use crate::limits::{NAMES_PER_TASK, TASKS_OFFERED_MAX};
use crate::listing::{Listing, open_directory, open_regular};

/// Work that any worker can do.
#[derive(Debug)]
enum Task {
    /// A folder to list; `given` if a person named it.
    Folder { path: Arc<Path>, given: bool },
    /// Files of a folder, each name with its NUL.
    Files { folder: Arc<Path>, names: Box<[u8]> },
    /// A file that a person named.
    Given(PathBuf),
}

/// What a walk meets. One visitor serves one worker.
pub trait Visitor {
    /// A file that a person named, not opened yet.
    fn given(&mut self, path: &Path);
    /// A regular file, open for reading. `path` is its whole path.
    fn file(&mut self, path: &[u8], file: BorrowedFd<'_>, stat: &Stat);
    /// Something could not be opened or listed.
    fn failed(&mut self, path: &[u8], error: &io::Error);
    /// A file system was left out.
    fn left_out(&mut self, path: &[u8]);
}

/// Tasks and how many of them are not done.
#[derive(Debug)]
pub struct Walk {
    given: Injector<Task>,
    open: AtomicUsize,
    stopped: AtomicBool,
}

impl Walk {
    /// Begins with these folders and files.
    pub fn new(folders: Vec<PathBuf>, files: Vec<PathBuf>) -> Self {
        let walk = Self {
            given: Injector::new(),
            open: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        };
        let folders =
            folders.into_iter().map(|path| Task::Folder { path: path.into(), given: true });
        for task in folders.chain(files.into_iter().map(Task::Given)) {
            walk.open.fetch_add(1, Ordering::Relaxed);
            walk.given.push(task);
        }
        walk
    }

    /// Makes all workers end as soon as they have done what they are at.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// Walks with one worker for each visitor, and returns when all is done.
    pub fn run<V: Visitor + Send>(&self, visitors: &mut [V]) {
        let deques: Vec<Worker<Task>> = visitors.iter().map(|_| Worker::new_lifo()).collect();
        let stealers: Vec<Stealer<Task>> = deques.iter().map(Worker::stealer).collect();
        thread::scope(|scope| {
            for (visitor, deque) in visitors.iter_mut().zip(deques) {
                let stealers = &stealers;
                scope.spawn(move || {
                    let (listing, path) = (Listing::new(), Vec::with_capacity(4096));
                    let mut worker = TreeWorker { walk: self, deque, stealers, path, visitor };
                    worker.run(listing);
                });
            }
        });
    }
}

/// One worker of a walk.
struct TreeWorker<'a, V> {
    walk: &'a Walk,
    deque: Worker<Task>,
    stealers: &'a [Stealer<Task>],
    path: Vec<u8>,
    visitor: &'a mut V,
}

impl<V: Visitor> TreeWorker<'_, V> {
    fn run(&mut self, mut listing: Listing) {
        let mut idle = 0_u32;
        while !self.walk.stopped.load(Ordering::Acquire) {
            let Some(task) = self.next() else {
                if self.walk.open.load(Ordering::Acquire) == 0 {
                    return;
                }
                // Somebody else's folder will have work, or nobody's: wait a little, then longer.
                idle += 1;
                match idle {
                    0..64 => std::hint::spin_loop(),
                    64..128 => thread::yield_now(),
                    _ => thread::sleep(Duration::from_micros(100)),
                }
                continue;
            };
            idle = 0;
            match task {
                Task::Folder { path, given } => self.folder(&mut listing, &path, given),
                Task::Files { folder, names } => self.files(&folder, &names),
                Task::Given(path) => self.visitor.given(&path),
            }
            self.walk.open.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn next(&self) -> Option<Task> {
        self.deque.pop().or_else(|| {
            let once = || {
                self.walk
                    .given
                    .steal_batch_and_pop(&self.deque)
                    .or_else(|| self.stealers.iter().map(Stealer::steal).collect())
            };
            std::iter::repeat_with(once).find(|steal: &Steal<Task>| !steal.is_retry())?.success()
        })
    }

    fn push(&self, task: Task) {
        self.walk.open.fetch_add(1, Ordering::AcqRel);
        self.deque.push(task);
    }

    fn folder(&mut self, listing: &mut Listing, path: &Arc<Path>, given: bool) {
        let open = match open_folder(path, given) {
            Ok(Some(open)) => open,
            Ok(None) => return self.visitor.left_out(path.as_os_str().as_bytes()),
            Err(error) => return self.visitor.failed(path.as_os_str().as_bytes(), &error),
        };
        // The last names are scanned here; full batches before them are offered to others, too.
        let mut names: Vec<u8> = Vec::new();
        let mut count = 0;
        let listed = listing.read(open.as_fd(), |entry| match entry.kind {
            FileType::RegularFile => {
                names.extend_from_slice(entry.name.to_bytes_with_nul());
                count += 1;
                if count == NAMES_PER_TASK {
                    count = 0;
                    if self.walk.open.load(Ordering::Relaxed) < TASKS_OFFERED_MAX {
                        let names = std::mem::take(&mut names).into_boxed_slice();
                        self.push(Task::Files { folder: Arc::clone(path), names });
                    } else {
                        self.scan_names(&open, path, &names);
                        names.clear();
                    }
                }
            }
            FileType::Directory => {
                let child = path.join(std::ffi::OsStr::from_bytes(entry.name.to_bytes()));
                self.push(Task::Folder { path: child.into(), given: false });
            }
            _ => {}
        });
        if let Err(error) = listed {
            self.visitor.failed(path.as_os_str().as_bytes(), &error);
        }
        self.scan_names(&open, path, &names);
    }

    fn files(&mut self, folder: &Path, names: &[u8]) {
        match open_directory(folder) {
            Ok(open) => self.scan_names(&open, folder, names),
            Err(error) => self.visitor.failed(folder.as_os_str().as_bytes(), &error),
        }
    }

    fn scan_names(&mut self, open: &OwnedFd, folder: &Path, names: &[u8]) {
        self.path.clear();
        self.path.extend_from_slice(folder.as_os_str().as_bytes());
        if !self.path.ends_with(b"/") {
            self.path.push(b'/');
        }
        let len = self.path.len();
        for name in names.split_inclusive(|&byte| byte == 0) {
            let name = CStr::from_bytes_with_nul(name).expect("stored with its NUL");
            self.path.truncate(len);
            self.path.extend_from_slice(name.to_bytes());
            visit(open.as_fd(), name, &self.path, self.visitor);
        }
    }
}

/// Opens one file and shows it to the visitor.
fn visit(directory: BorrowedFd<'_>, name: &CStr, path: &[u8], visitor: &mut impl Visitor) {
    match open_regular(directory, name) {
        Ok(Some((file, stat))) => visitor.file(path, file.as_fd(), &stat),
        // It was listed as a file and is none any more, or is gone: nothing to scan.
        Ok(None) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => visitor.failed(path, &error),
    }
}

/// Opens a folder; `None` if it is on a file system that the kernel makes up and nobody asked for.
fn open_folder(path: &Path, given: bool) -> io::Result<Option<OwnedFd>> {
    if given {
        return file_system::open_directory(path).map(Some);
    }
    let open = open_directory(path)?;
    let pseudo = may_be_mount_root(&open)? && file_system::is_pseudo(&open)?;
    Ok((!pseudo).then_some(open))
}

/// Whether another file system may begin here. Most folders answer without a further call: the roots of
/// made-up file systems have small inode numbers, those of proc and sysfs are 1.
fn may_be_mount_root(open: &OwnedFd) -> io::Result<bool> {
    Ok(rustix::fs::fstat(open)?.st_ino < 4096)
}

/// A path of bytes.
#[must_use]
pub fn path_buf(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    #[derive(Default)]
    struct Names {
        files: Vec<Vec<u8>>,
        failed: usize,
    }

    impl Visitor for Names {
        fn given(&mut self, path: &Path) {
            self.files.push(path.as_os_str().as_bytes().to_vec());
        }
        fn file(&mut self, path: &[u8], _file: BorrowedFd<'_>, stat: &Stat) {
            assert_eq!(FileType::from_raw_mode(stat.st_mode), FileType::RegularFile);
            self.files.push(path.to_vec());
        }
        fn failed(&mut self, _path: &[u8], _error: &io::Error) {
            self.failed += 1;
        }
        fn left_out(&mut self, _path: &[u8]) {}
    }

    fn walk(path: &Path, workers: usize) -> (BTreeSet<Vec<u8>>, usize) {
        let mut visitors: Vec<Names> =
            std::iter::repeat_with(Names::default).take(workers).collect();
        Walk::new(vec![path.to_owned()], Vec::new()).run(&mut visitors);
        let failed = visitors.iter().map(|names| names.failed).sum();
        let files: Vec<Vec<u8>> = visitors.into_iter().flat_map(|names| names.files).collect();
        let set: BTreeSet<Vec<u8>> = files.iter().cloned().collect();
        assert_eq!(set.len(), files.len(), "every file is seen once");
        (set, failed)
    }

    #[test]
    fn every_file_is_seen_once_by_any_number_of_workers() {
        let directory = tempfile::tempdir().unwrap();
        let mut expected = BTreeSet::new();
        for folder in ["", "a", "a/b", "wide"] {
            let folder = directory.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            let wide = folder.ends_with("wide");
            let count = if wide { 3 * NAMES_PER_TASK + 7 } else { 5 };
            for index in 0..count {
                let path = folder.join(format!("f{index}"));
                fs::write(&path, "x").unwrap();
                expected.insert(path.as_os_str().as_bytes().to_vec());
            }
        }
        std::os::unix::fs::symlink(directory.path(), directory.path().join("loop")).unwrap();
        for workers in [1, 2, 5] {
            assert_eq!(walk(directory.path(), workers), (expected.clone(), 0));
        }
    }

    #[test]
    fn a_missing_folder_is_a_failure() {
        assert_eq!(walk(Path::new("/nonexistent/folder"), 2), (BTreeSet::new(), 1));
    }
}
