//! The truth about releases: which was current when, and whether it was whole.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The files of every release. Each holds the release's id.
pub(super) const FILES: [&str; 3] = ["one", "two/three", "four"];

/// Looks at the link all the time.
pub(super) struct Watcher {
    seen: Arc<Mutex<Seen>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Seen {
    /// How often each release was made current.
    switches: BTreeMap<String, u64>,
    /// How often what was current was not whole.
    broken: u64,
    looks: u64,
}

impl Watcher {
    pub(super) fn new(root: PathBuf) -> Self {
        let (seen, stop) = (Arc::new(Mutex::new(Seen::default())), Arc::new(AtomicBool::new(false)));
        let (theirs, ends) = (Arc::clone(&seen), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            let mut last = None;
            while !ends.load(Ordering::Relaxed) {
                look(&root, &mut last, &theirs);
                thread::sleep(Duration::from_micros(200));
            }
        });
        Self { seen, stop, thread: Some(thread) }
    }

    /// How often this release was made current.
    pub(super) fn switches(&self, id: &str) -> u64 {
        self.seen.lock().unwrap().switches.get(id).copied().unwrap_or(0)
    }

    /// How often what was current was not whole, in so many looks.
    pub(super) fn broken(&self) -> (u64, u64) {
        let seen = self.seen.lock().unwrap();
        (seen.broken, seen.looks)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A link is a new one when it is another file or of another moment.
type Link = (u64, i64, i64);

fn look(root: &Path, last: &mut Option<Link>, seen: &Mutex<Seen>) {
    let link = root.join("current");
    let (Ok(file), Ok(to)) = (fs::symlink_metadata(&link), fs::read_link(&link)) else { return };
    let is: Link = (file.ino(), file.mtime(), file.mtime_nsec());
    let Some(id) = to.file_name().and_then(|name| name.to_str()) else { return };
    let whole = is_whole(&root.join(&to), id);
    let mut seen = seen.lock().unwrap();
    seen.looks += 1;
    seen.broken += u64::from(!whole);
    if *last != Some(is) {
        *last = Some(is);
        *seen.switches.entry(id.to_owned()).or_default() += 1;
    }
}

/// Whether a release has all of its files.
pub(super) fn is_whole(release: &Path, id: &str) -> bool {
    FILES.iter().all(|file| fs::read_to_string(release.join(file)).is_ok_and(|text| text.starts_with(id)))
}
