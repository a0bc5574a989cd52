//! The floor of whatever answers after a commit: an append of 4 KiB that is on the disk.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use crate::load::at;

const BLOCK: [u8; 4_096] = [b'x'; 4_096];

/// Half of the appends in `directory`, and 99 of 100, took no longer.
pub fn append_and_sync(directory: &Path, times: usize) -> (Duration, Duration) {
    let path = directory.join("append.floor");
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .unwrap();
    let mut taken: Vec<Duration> = (0..times)
        .map(|_| {
            let begun = Instant::now();
            file.write_all(&BLOCK).unwrap();
            file.sync_data().unwrap();
            begun.elapsed()
        })
        .collect();
    std::fs::remove_file(&path).unwrap();
    taken.sort_unstable();
    (at(&taken, 50), at(&taken, 99))
}
