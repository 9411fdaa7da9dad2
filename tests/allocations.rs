//! No allocation per file: a counting allocator around everything that a worker does with a file.
//!
//! Files without findings are scanned by way of real handles, near misses of rules among them; after a
//! warm-up the count must not move.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(unsafe_code, reason = "a global allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Instant;

use agent::change::{Change, Source};
use agent::coalescer::{Coalescer, Kind};
use agent::counters::Counters;
use agent::fanotify::{FileHandle, Name};
use agent::inbox::inbox;
use agent::known::Known;
use agent::watchlist::{Root, Watchlist};
use agent::worker::{Shared, Worker};
use agent::{file_system, queue};
use engine::{Confidence, Engine, FingerprintKey, embedded_rules, expand};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps GlobalAlloc's contract, which is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; the pointer came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const FILES: usize = 2_000;

/// Source-like text with words that anchors hit on and tokens that are too short. A rule's regex is built
/// when its anchor is first hit, so the random parts are digits, which make no further anchors by chance.
fn text(seed: usize) -> Vec<u8> {
    let line = "let password_field = form.get(\"password\"); // the token, the secret, api_key\n";
    let near = "key: gh%{}p_%{digit:35} sk_live_%{digit:3} AKIA%{digit:15} xoxb-%{digit:4}\n";
    let mut text = line.repeat(1 + seed % 40).into_bytes();
    text.extend(expand(near, seed as u64, None).unwrap());
    text
}

/// Changes for files in `folder`, as an event would bring them.
fn changes(folder: &std::path::Path) -> Vec<Change> {
    let open = file_system::open_directory(folder).unwrap();
    let id = file_system::id_of_file(&open).unwrap();
    let handle = |name: &std::ffi::CStr| -> FileHandle {
        agent::fanotify::handle_of(id, open.as_fd(), name).unwrap()
    };
    let directory = handle(c".");
    (0..FILES)
        .map(|index| {
            let name = format!("file-{index}");
            fs::write(folder.join(&name), text(index)).unwrap();
            let at = Name::new(name.as_bytes()).map(|name| (directory, name));
            let file = handle(&std::ffi::CString::new(name).unwrap());
            Change { file, at, process: None, source: Source::Fanotify, retries: 0 }
        })
        .collect()
}

#[test]
fn a_file_without_findings_costs_no_allocation() {
    let folder = tempfile::tempdir().unwrap();
    let key = FingerprintKey::new(&[0; 32]);
    let engine = Arc::new(Engine::new(embedded_rules().unwrap(), key).unwrap());
    let mut watchlist = Watchlist::default();
    assert!(watchlist.add(Root::new(folder.path()).unwrap()));
    let (alerts, alert_receiver) = crossbeam_channel::bounded(1);
    let (inbox, _received) = inbox().unwrap();
    let counters = Arc::new(Counters::default());
    let mut worker = Worker::new(Shared {
        engine,
        min_confidence: Confidence::Medium,
        watchlist: Arc::new(RwLock::new(watchlist)),
        known: Arc::new(Mutex::new(Known::new())),
        counters: Arc::clone(&counters),
        alerts,
        inbox,
    })
    .unwrap();
    let changes = changes(folder.path());
    let mut coalescer = Coalescer::new();
    let (producer, consumer) = queue::queue();
    let now = Instant::now();
    let mut pass = |changes: &[Change]| {
        for change in changes {
            coalescer.take(change.clone(), Kind::Closed, now).unwrap();
            while let Some(change) = coalescer.next(now) {
                producer.push(change);
                worker.process(consumer.take().unwrap());
            }
        }
    };
    // Different files before and after, so that nothing can be remembered of the file itself.
    let (first, second) = changes.split_at(FILES / 2);
    pass(first);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    pass(second);
    let after = ALLOCATIONS.load(Ordering::Relaxed);
    assert_eq!(Counters::get(&counters.scanned), FILES as u64);
    assert!(alert_receiver.is_empty(), "the files have no findings");
    assert_eq!(after - before, 0, "allocations for {} files", second.len());
    // The counter does count.
    drop(std::hint::black_box(vec![1_u8; 100]));
    assert!(ALLOCATIONS.load(Ordering::Relaxed) > after);
}
