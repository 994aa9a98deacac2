//! The system's figures of this process.

use std::fs::{read_dir, read_to_string};
use std::path::Path;

/// Returns the processor time, user and system, of all threads.
pub fn cpu_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // Safe: the only memory written is `time`. It cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns the number after `name:` in a status file of /proc.
fn status_number(path: &Path, name: &str) -> Option<u64> {
    let status = read_to_string(path).ok()?;
    let line = status
        .lines()
        .find(|line| line.split(':').next() == Some(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

pub fn resident_bytes() -> f64 {
    const KIB: f64 = 1024.0;
    status_number(Path::new("/proc/self/status"), "VmRSS").map_or(f64::NAN, |kib| kib as f64 * KIB)
}

/// Returns the voluntary context switches of all threads.
pub fn switches() -> u64 {
    read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|task| status_number(&task.path().join("status"), "voluntary_ctxt_switches"))
        .sum()
}
