//! Every bound of the agent, in one place and related to one another at compile time.

use std::time::Duration;

/// Bytes read from a file at a time; a larger file is scanned in chunks of this size.
pub const READ_LEN: usize = 1 << 20;

/// Bytes taken from the fanotify group in one read: some 2,000 events.
pub const EVENT_BUFFER_LEN: usize = 256 * 1024;

/// Reads of the group in a row, more than its whole queue takes, before the reader looks around.
pub const READS_MAX: usize = 64;

/// Largest event that the kernel makes: two names of 255 bytes and three handles of 128, with headers.
pub const EVENT_LEN_MAX: usize = 4096;

/// Largest file handle that the kernel makes, `MAX_HANDLE_SZ`.
pub const HANDLE_LEN_MAX: usize = 128;

/// Longest file name, `NAME_MAX`.
pub const NAME_LEN_MAX: usize = 255;

/// Files with changes that wait to be scanned. Beyond this many the agent catches up by a walk.
pub const PENDING_MAX: usize = 16 * 1024;

/// Files whose last change is remembered, waiting or not, so that repeats are coalesced.
pub const REMEMBERED_MAX: usize = 64 * 1024;

/// Files handed to the workers and not yet taken.
pub const QUEUE_MAX: usize = 512;

/// Files that workers or a walk hand back to the reader and that it has not yet taken.
pub const INBOX_MAX: usize = 1024;

/// Alerts on their way to where they are shown; a full channel makes workers wait.
pub const ALERTS_MAX: usize = 1024;

/// Findings of one file held back to be shown together.
pub const FINDINGS_TOGETHER_MAX: usize = 1024;

/// Decisions about one file that `--explain` shows; that there were more is said.
pub const DECISIONS_MAX: usize = 100_000;

/// Different secrets of one file that `watch` reports and remembers; what is beyond them is counted and
/// said in the log.
pub const SECRETS_PER_FILE_MAX: usize = 1024;

/// Catch-ups asked for and not yet begun.
pub const CATCHUPS_MAX: usize = 256;

/// Paths whose reported secrets are remembered; beyond them the oldest is forgotten.
pub const KNOWN_PATHS_MAX: usize = 64 * 1024;

/// Directories whose path each worker remembers.
pub const DIRECTORIES_MAX: usize = 4096;

/// Processes remembered for attribution; each holds one pidfd.
pub const PROCESSES_MAX: usize = 64;

/// Watched paths.
pub const ROOTS_MAX: usize = 1024;

/// Workers.
pub const WORKERS_MAX: usize = 256;

/// Names of one directory that are offered to other workers together.
pub const NAMES_PER_TASK: usize = 256;

/// Tasks of a walk that are not done, beyond which a worker scans what it lists instead of offering it.
pub const TASKS_OFFERED_MAX: usize = 4096;

/// A repeat within this time of the last change of a file waits until the file has been quiet for it.
pub const QUIET: Duration = Duration::from_millis(250);

/// A file that is never quiet is scanned this long after the first change that waits.
pub const QUIET_MAX: Duration = Duration::from_secs(5);

/// How long a file with a temporary or no name waits for its real one.
pub const SETTLE: Duration = Duration::from_millis(500);

/// How often a file that could not be opened for now is tried again, [`QUIET`] or more apart: the kernel
/// breaks a lease after 45 seconds by default (`/proc/sys/fs/lease-break-time`).
pub const RETRIES_MAX: u8 = 240;

/// When the reader is woken again and again within this time, it waits so long before it reads: being woken
/// for each event costs more than all else it does. At 120,000 events a second, more than anybody makes, 60
/// gather in the kernel's queue of 16,384.
pub const BUSY_NAP: Duration = Duration::from_micros(500);

/// How often in a row the reader may be woken within [`BUSY_NAP`] before it waits.
pub const QUICK_WAKES_MAX: u32 = 8;

/// How often a watched path that does not exist is looked for.
pub const ROOT_RETRY: Duration = Duration::from_secs(1);

/// A catch-up takes files changed since this long before the loss: clocks of files are coarse.
pub const CATCHUP_SLACK: Duration = Duration::from_secs(2);

const _: () = {
    assert!(EVENT_LEN_MAX <= EVENT_BUFFER_LEN);
    assert!(2 * (NAME_LEN_MAX + 1) + 3 * (HANDLE_LEN_MAX + 20) + 64 <= EVENT_LEN_MAX);
    assert!(PENDING_MAX <= REMEMBERED_MAX);
    assert!(QUEUE_MAX <= PENDING_MAX);
    assert!(QUIET.as_millis() < QUIET_MAX.as_millis());
    // A lease holder gets its whole time before the file counts as unreadable.
    assert!(QUIET.as_millis() * RETRIES_MAX as u128 >= 45_000);
};
