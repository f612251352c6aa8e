//! What a power loss leaves on a disk.

use crate::history::{Call, Entry, FileId, History, rename};
use crate::seeded::Seeded;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The unit in which a device writes, in bytes.
const SECTOR: u64 = 512;

/// What becomes of writes that were not synced, names that were not synced, and lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All of it is lost.
    Everything,
    /// None of it is: the process died, and the machine did not.
    Nothing,
    /// What came first is there, up to some call.
    Tail,
    /// Any of it is there, as if in order.
    Some,
    /// Any of it is there, in any order.
    Reordered,
    /// Any sectors of it are there, in any order, and new parts of a file hold garbage.
    TornSectors,
    /// Any one stretch of bytes of each write is there, in any order, and new parts of a file hold
    /// garbage.
    TornBytes,
}

impl Loss {
    /// Every loss.
    pub const ALL: [Self; 7] = [
        Self::Everything,
        Self::Nothing,
        Self::Tail,
        Self::Some,
        Self::Reordered,
        Self::TornSectors,
        Self::TornBytes,
    ];

    /// Whether only a part of a write may be there.
    #[must_use]
    pub const fn tears(self) -> bool {
        match self {
            Self::TornSectors | Self::TornBytes => true,
            Self::Everything | Self::Nothing | Self::Tail | Self::Some | Self::Reordered => false,
        }
    }

    /// Those of a number of calls that are there, in the order in which they take effect.
    fn survivors(self, of: usize, random: &mut Seeded) -> Vec<usize> {
        let mut chosen: Vec<_> = match self {
            Self::Everything => Vec::new(),
            Self::Nothing => (0..of).collect(),
            Self::Tail => (0..random.below(of + 1)).collect(),
            Self::Some | Self::Reordered | Self::TornSectors | Self::TornBytes => {
                (0..of).filter(|_| random.below(2) == 0).collect()
            }
        };
        match self {
            Self::Reordered | Self::TornSectors | Self::TornBytes => {
                (1..chosen.len()).rev().for_each(|last| chosen.swap(last, random.below(last + 1)));
            }
            Self::Everything | Self::Nothing | Self::Tail | Self::Some => {}
        }
        chosen
    }

    /// The stretches of a write that are there, as offsets into it.
    fn stretches(self, offset: u64, len: usize, random: &mut Seeded) -> Vec<(usize, usize)> {
        match self {
            Self::Everything | Self::Nothing | Self::Tail | Self::Some | Self::Reordered => vec![(0, len)],
            Self::TornBytes => {
                let start = random.below(len + 1);
                vec![(start, start + random.below(len - start + 1))]
            }
            Self::TornSectors => {
                let mut stretches = Vec::new();
                let mut start = 0;
                while start < len {
                    let sector = (SECTOR - (offset + start as u64) % SECTOR) as usize;
                    let end = len.min(start + sector);
                    if random.below(2) == 0 {
                        stretches.push((start, end));
                    }
                    start = end;
                }
                stretches
            }
        }
    }
}

/// The files and folders that are left; `None` is a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image(BTreeMap<PathBuf, Option<Vec<u8>>>);

#[derive(Clone)]
enum Change {
    Bytes(u64, Arc<[u8]>),
    Length(u64),
}

/// A file: what is on disk, and what is on the way there.
#[derive(Clone, Default)]
struct Medium {
    bytes: Vec<u8>,
    waiting: Vec<Change>,
}

impl Medium {
    /// What waits reaches the disk, as far as it isn't lost.
    fn settle(&mut self, loss: Loss, random: &mut Seeded) {
        let waiting = std::mem::take(&mut self.waiting);
        // A file system changes lengths in order, and neither with nor after the bytes.
        let lengths: Vec<_> = waiting
            .iter()
            .filter_map(|change| match change {
                Change::Length(len) => Some(*len as usize),
                Change::Bytes(..) => None,
            })
            .collect();
        let in_order = !matches!(loss, Loss::Reordered | Loss::TornSectors | Loss::TornBytes);
        let survivors = loss.survivors(waiting.len(), random);
        if !in_order {
            for len in &lengths[..random.below(lengths.len() + 1)] {
                self.resize(*len, loss, random);
            }
        }
        for survivor in survivors {
            match &waiting[survivor] {
                Change::Length(len) if in_order => self.resize(*len as usize, loss, random),
                Change::Length(_) => {}
                Change::Bytes(offset, bytes) => {
                    for (start, end) in loss.stretches(*offset, bytes.len(), random) {
                        self.write(*offset as usize + start, &bytes[start..end], &lengths);
                    }
                }
            }
        }
    }

    fn resize(&mut self, len: usize, loss: Loss, random: &mut Seeded) {
        let from = self.bytes.len();
        self.bytes.resize(len, 0);
        if loss.tears() && from < len {
            self.bytes[from..].iter_mut().for_each(|byte| *byte = random.next() as u8);
        }
    }

    /// Beyond a length that was set explicitly and is lost, bytes are not seen; a write beyond the end
    /// makes the file longer only where nobody set its length.
    fn write(&mut self, at: usize, bytes: &[u8], lengths: &[usize]) {
        let end = at + bytes.len();
        if lengths.is_empty() && end > self.bytes.len() {
            self.bytes.resize(end, 0);
        }
        let end = end.min(self.bytes.len());
        if at < end {
            self.bytes[at..end].copy_from_slice(&bytes[..end - at]);
        }
    }
}

impl History {
    /// What is left when the power fails at a moment: after so many calls. The seed decides what is lost
    /// where there is a choice.
    ///
    /// # Panics
    /// When there was no such moment.
    #[must_use]
    pub fn power_loss(&self, moment: usize, loss: Loss, seed: u64) -> Image {
        let mut random = Seeded::new(seed);
        let mut files: BTreeMap<FileId, Medium> = BTreeMap::new();
        for (number, bytes) in self.files.iter().enumerate() {
            files.insert(FileId(number), Medium { bytes: bytes.to_vec(), waiting: Vec::new() });
        }
        let mut names = self.names.clone();
        let mut renamed: Vec<&Vec<(PathBuf, Option<Entry>)>> = Vec::new();
        for call in &self.calls[..moment] {
            match call {
                Call::Write { file, offset, bytes } => {
                    files.entry(*file).or_default().waiting.push(Change::Bytes(*offset, Arc::clone(bytes)));
                }
                Call::SetLen { file, len } => {
                    files.entry(*file).or_default().waiting.push(Change::Length(*len));
                }
                Call::Sync(file) => files.entry(*file).or_default().settle(Loss::Nothing, &mut random),
                // What the machine still shows, a machine that lost no power goes on showing.
                Call::SyncFailed(file) if loss != Loss::Nothing => {
                    files.entry(*file).or_default().settle(loss, &mut random);
                }
                Call::SyncFailed(_) => {}
                Call::Names(changes) => renamed.push(changes),
                Call::SyncFolder(folder) => renamed.retain(|changes| {
                    let here = changes[0].0.parent() == Some(folder);
                    if here {
                        rename(&mut names, changes);
                    }
                    !here
                }),
            }
        }
        for survivor in loss.survivors(renamed.len(), &mut random) {
            rename(&mut names, renamed[survivor]);
        }
        files.values_mut().for_each(|file| file.settle(loss, &mut random));
        let reachable = |path: &Path| {
            let mut folders = path.ancestors().skip(1).filter(|folder| *folder != Path::new(""));
            folders.all(|folder| names.get(folder) == Some(&Entry::Folder))
        };
        let left = names.iter().filter(|(path, _)| reachable(path)).map(|(path, entry)| {
            let bytes = match entry {
                Entry::File(file) => Some(files.get(file).map_or_else(Vec::new, |file| file.bytes.clone())),
                Entry::Folder => None,
            };
            (path.clone(), bytes)
        });
        Image(left.collect())
    }
}

impl Image {
    /// Puts the files into an empty folder.
    ///
    /// # Panics
    /// When that fails.
    pub fn put(&self, root: &Path) {
        // Folders come before what is in them.
        for (path, bytes) in &self.0 {
            match bytes {
                Some(bytes) => std::fs::write(root.join(path), bytes).unwrap(),
                None => std::fs::create_dir(root.join(path)).unwrap(),
            }
        }
    }
}
