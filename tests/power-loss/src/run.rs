//! Many power losses, counted.

use crate::book::{Book, Promise};
use crate::disk::Watched;
use crate::image::Loss;
use crate::laws::{Recovered, recover};
use crate::seeded::Seeded;
use crate::story::{Desk, Host, Length, Story, folder};
use serde::Serialize;

/// What was tried. That everything held is why these numbers exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Disks after a power loss at some moment, recovered.
    pub images: u64,
    /// Of these, disks that differ from what the dead process had written.
    pub lossy: u64,
    /// Of these, disks on which parts of writes were lost, or of which a new part held garbage.
    pub torn: u64,
    /// Disks after a second power loss while such a disk was being recovered and written again.
    pub second_crashes: u64,
    /// Acknowledged records that were looked for.
    pub acknowledged: u64,
    /// Acknowledged records that were not there. A run that finds one ends with it, so this is 0.
    pub lost: u64,
    /// Stories that were played.
    pub stories: u64,
}

/// Recovers so many disks, each of them twice: once after a power loss, and once after another one at
/// some moment of the first recovery. Every moment of a story has its turn before the next story. The threads
/// of a story share commits as they meet, so that the same seed need not give the same disks.
///
/// # Panics
/// When a law is broken, with the seed, the moment and the loss.
#[must_use]
pub fn run(seed: u64, images: u64) -> Counts {
    let host = Host::default();
    let mut random = Seeded::new(seed);
    let mut counts = Counts::default();
    while counts.images < images {
        let seed = random.next();
        let story = host.story(seed, Length { threads: 3, turns: 2 });
        counts.stories += 1;
        for moment in 0..=story.history.now() {
            if counts.images == images {
                break;
            }
            let loss = Loss::ALL[random.below(Loss::ALL.len())];
            crash_twice(&host, &story, moment, loss, &mut random, &mut counts);
        }
    }
    counts
}

fn crash_twice(
    host: &Host,
    story: &Story,
    moment: usize,
    loss: Loss,
    random: &mut Seeded,
    counts: &mut Counts,
) {
    let seed = random.next();
    let scene = format!("moment {moment}, {loss:?}, seed {seed}");
    let root = folder();
    let image = story.history.power_loss(moment, loss, seed);
    let lossy = image != story.history.power_loss(moment, Loss::Nothing, 0);
    image.put(root.path());
    let disk = Watched::folder(root.path());
    let recovered = recover(host, root.path(), &disk, &story.book, moment, &scene);
    counts.images += 1;
    counts.lossy += u64::from(lossy);
    counts.torn += u64::from(lossy && loss.tears());
    counts.acknowledged += recovered.promised;

    // The host goes on, and the power fails again at any moment since it began to recover.
    let again = go_on(&disk, recovered, &story.book, moment, (0, 0), &scene);
    let moment = random.below(again.history.now() + 1);
    let loss = Loss::ALL[random.below(Loss::ALL.len())];
    let seed = random.next();
    let scene = format!("{scene}; then moment {moment}, {loss:?}, seed {seed}");
    counts.second_crashes += 1;
    counts.acknowledged += crash(host, &again, moment, loss, seed, &scene);
}

/// Recovers the disk that a power loss leaves, and says how many acknowledged records are there.
///
/// # Panics
/// When a law is broken.
pub fn crash(host: &Host, story: &Story, moment: usize, loss: Loss, seed: u64, scene: &str) -> u64 {
    let root = folder();
    story.history.power_loss(moment, loss, seed).put(root.path());
    let disk = Watched::folder(root.path());
    recover(host, root.path(), &disk, &story.book, moment, scene).promised
}

/// What a host does after it recovered: it writes one more batch and closes the journal. `since` says
/// from when on the found records are promised, those that had been acknowledged first.
///
/// # Panics
/// When that fails.
#[must_use]
pub fn go_on(
    disk: &Watched,
    recovered: Recovered,
    book: &Book,
    crash: usize,
    since: (usize, usize),
    scene: &str,
) -> Story {
    let Recovered { open, present, .. } = recovered;
    let desk = Desk::new(&open.journal, disk, book.found(crash, &present, since.0, since.1));
    desk.append(Some(200), |promise| Promise { events: 2, open: Some(true), ..promise })
        .unwrap_or_else(|error| panic!("{scene}: {error}"));
    let book = desk.book();
    open.journal.close().unwrap_or_else(|error| panic!("{scene}: {error}"));
    Story { history: disk.history(), book }
}
