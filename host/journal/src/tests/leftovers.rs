//! What a crash leaves of a content, what damage does to one, and what is swept.

use super::contents::{bytes, folder, load, store};
use super::{Home, append, batch, id, options};
use crate::{CHUNK_BYTES, Damage, Journal, JournalError, Keep, Swept};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CHILD: &str = "PROOFPORT_TEST_KILLED_CONTENT_PATH";

fn size(folder: &Path) -> u64 {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn what_a_crash_leaves_is_not_read_and_swept() {
    let check = |case: &str, crash: fn(&Path)| {
        let home = Home::new();
        let journal = home.open();
        store(&journal, 1, &bytes(1, 2 * CHUNK_BYTES + 5));
        store(&journal, 2, b"whole");
        drop(journal);
        let folder = folder(&home, 1);
        crash(&folder);
        let left = size(&folder);
        let journal = home.open();
        assert!(journal.content(&id(1)).unwrap().is_none(), "{case}");
        let held = journal.contents_bytes();
        let swept = journal.sweep_contents(|_| Keep::Keep).unwrap();
        assert_eq!(swept, Swept { kept: 1, incomplete: 1, unwanted: 0, bytes_freed: left }, "{case}");
        assert_eq!(journal.contents_bytes(), held - left, "{case}");
        assert!(!folder.exists(), "{case}");
        assert_eq!(load(&journal, 2).unwrap(), b"whole", "{case}");
    };
    check("between two chunks", |folder| {
        fs::remove_file(folder.join("complete")).unwrap();
        fs::remove_file(folder.join("00000002.chunk")).unwrap();
    });
    check("in a chunk", |folder| {
        fs::remove_file(folder.join("complete")).unwrap();
        let chunk = fs::OpenOptions::new().write(true).open(folder.join("00000002.chunk")).unwrap();
        chunk.set_len(7).unwrap();
    });
    check("before the first chunk", |folder| {
        fs::remove_dir_all(folder).unwrap();
        fs::create_dir(folder).unwrap();
    });
    check("before the marker", |folder| fs::remove_file(folder.join("complete")).unwrap());
    check("before the marker's name", |folder| {
        fs::rename(folder.join("complete"), folder.join("complete.new")).unwrap();
    });
    check("in a removal", |folder| {
        fs::remove_file(folder.join("complete")).unwrap();
        fs::remove_file(folder.join("00000000.chunk")).unwrap();
    });
}

#[test]
fn a_new_try_starts_from_nothing() {
    let home = Home::new();
    let journal = home.open();
    store(&journal, 1, &bytes(1, 3 * CHUNK_BYTES));
    fs::rename(folder(&home, 1).join("complete"), folder(&home, 1).join("complete.new")).unwrap();
    store(&journal, 1, b"short");
    assert_eq!(load(&journal, 1).unwrap(), b"short");
    assert_eq!(fs::read_dir(folder(&home, 1)).unwrap().count(), 2);
    assert_eq!(journal.contents_bytes(), size(&folder(&home, 1)));
}

#[test]
fn retention_removes_what_is_not_kept() {
    let home = Home::new();
    let journal = home.open();
    assert_eq!(journal.sweep_contents(|_| Keep::Remove).unwrap(), Swept::default(), "no folder yet");
    for of in 1..=3 {
        store(&journal, of, &[of; 1000]);
    }
    // Not ours, and left alone.
    fs::write(home.path.with_file_name("results").join("note"), "x").unwrap();
    let reading = journal.content(&id(2)).unwrap().unwrap();
    let freed = size(&folder(&home, 2));
    let keep = |of: &_| if *of == id(2) { Keep::Remove } else { Keep::Keep };
    let swept = journal.sweep_contents(keep).unwrap();
    assert_eq!(swept, Swept { kept: 2, incomplete: 0, unwanted: 1, bytes_freed: freed });
    assert!(journal.content(&id(2)).unwrap().is_none());
    let error = reading.chunk(0).unwrap_err();
    assert!(matches!(&error, JournalError::ContentGone { path } if *path == folder(&home, 2)), "{error}");
    assert_eq!(load(&journal, 3).unwrap(), [3; 1000]);
    assert!(home.path.with_file_name("results").join("note").exists());
}

fn flip(path: PathBuf, at: usize) {
    let mut bytes = fs::read(&path).unwrap();
    let at = at.min(bytes.len() - 1);
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

fn resize(path: PathBuf, change: i64) {
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len().checked_add_signed(change).unwrap()).unwrap();
}

#[test]
fn damage_is_named_and_gives_no_bytes() {
    /// The changed content, another one of the same length, and an earlier try at the first.
    struct Folders {
        one: PathBuf,
        other: PathBuf,
        earlier: PathBuf,
    }
    let check = |case: &str, change: &dyn Fn(&Folders), file: &str, damage: Damage| {
        let home = Home::new();
        let journal = home.open();
        let length = 2 * CHUNK_BYTES + 5;
        store(&journal, 1, &bytes(9, length));
        let earlier = home.path.with_file_name("earlier");
        fs::rename(folder(&home, 1), &earlier).unwrap();
        store(&journal, 1, &bytes(1, length));
        store(&journal, 2, &bytes(2, length));
        change(&Folders { one: folder(&home, 1), other: folder(&home, 2), earlier });
        let read = || {
            let content = journal.content(&id(1))?.unwrap();
            (0..content.facts().chunks).try_for_each(|number| content.chunk(number).map(drop))
        };
        let error = read().unwrap_err();
        let JournalError::ContentDamaged { path, damage: found } = &error else { panic!("{case}: {error}") };
        assert_eq!((path, *found), (&folder(&home, 1).join(file), damage), "{case}");
        assert!(error.to_string().contains(file), "{error}");
        assert!(load(&journal, 2).unwrap() == bytes(2, length), "{case}: others are not touched");
    };
    use Damage::{Altered, Length, Missing};
    let (first, last) = ("00000000.chunk", "00000002.chunk");
    check("epoch of a chunk", &|of| flip(of.one.join("00000000.chunk"), 7), first, Altered);
    check("nonce of a chunk", &|of| flip(of.one.join("00000000.chunk"), 9), first, Altered);
    check("bytes of a chunk", &|of| flip(of.one.join("00000000.chunk"), 1000), first, Altered);
    check("tag of a chunk", &|of| flip(of.one.join("00000002.chunk"), usize::MAX), last, Altered);
    check("a shorter chunk", &|of| resize(of.one.join("00000002.chunk"), -1), last, Length);
    check("a longer chunk", &|of| resize(of.one.join("00000000.chunk"), 1), first, Length);
    check("an empty chunk", &|of| fs::write(of.one.join("00000000.chunk"), "").unwrap(), first, Length);
    check("no chunk", &|of| fs::remove_file(of.one.join("00000002.chunk")).unwrap(), last, Missing);
    let swap = |of: &Folders| {
        fs::rename(of.one.join("00000000.chunk"), of.one.join("x")).unwrap();
        fs::rename(of.one.join("00000001.chunk"), of.one.join("00000000.chunk")).unwrap();
        fs::rename(of.one.join("x"), of.one.join("00000001.chunk")).unwrap();
    };
    check("two chunks in another order", &swap, first, Altered);
    let other = |of: &Folders| drop(fs::copy(of.other.join("00000002.chunk"), of.one.join("00000002.chunk")));
    check("another content's chunk", &other, last, Altered);
    let earlier =
        |of: &Folders| drop(fs::copy(of.earlier.join("00000000.chunk"), of.one.join("00000000.chunk")));
    check("an earlier try's chunk", &earlier, first, Altered);
    let marker = "complete";
    for at in [0, 20, 21, 40, 300, usize::MAX] {
        check(&format!("marker at {at}"), &|of| flip(of.one.join("complete"), at), marker, Altered);
    }
    check("a shorter marker", &|of| resize(of.one.join("complete"), -1), marker, Altered);
    check("a longer marker", &|of| resize(of.one.join("complete"), 1), marker, Altered);
    check("an endless marker", &|of| resize(of.one.join("complete"), 1 << 40), marker, Length);
    check("an empty marker", &|of| fs::write(of.one.join("complete"), "").unwrap(), marker, Altered);
    let other = |of: &Folders| drop(fs::copy(of.other.join("complete"), of.one.join("complete")));
    check("another content's marker", &other, marker, Altered);
    let earlier = |of: &Folders| drop(fs::copy(of.earlier.join("complete"), of.one.join("complete")));
    // It is a marker of this invocation, and no chunk fits it. What was recorded tells them apart, too.
    check("an earlier try's marker", &earlier, first, Altered);
}

#[test]
fn who_knows_the_recipient_can_forge_no_content() {
    let home = Home::new();
    let forger = Home { identity: home.identity.clone(), ..Home::new() };
    let keys = crate::JournalKeys { event_mac: zeroize::Zeroizing::new([8; 32]), ..forger.keys() };
    let journal = Journal::open(&forger.path, keys, options()).unwrap();
    store(&journal, 1, b"forged");
    store(&home.open(), 1, b"true");
    fs::remove_dir_all(folder(&home, 1)).unwrap();
    fs::rename(folder(&forger, 1), folder(&home, 1)).unwrap();
    let error = home.open().content(&id(1)).unwrap_err();
    assert!(matches!(error, JournalError::ContentDamaged { damage: Damage::Altered, .. }), "{error}");
}

/// Runs as a process of its own when the variable names a journal; otherwise there is nothing to do.
#[test]
fn child_that_is_killed_while_it_stores() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let journal = Journal::open(path.as_ref(), Home::new().keys(), options()).unwrap();
    store(&journal, 1, b"complete");
    println!("stored 1");
    let mut writer = journal.begin_content(&id(2)).unwrap();
    loop {
        writer.push(&bytes(2, CHUNK_BYTES)).unwrap();
        println!("stored a chunk");
    }
}

#[test]
fn a_killed_process_leaves_whole_contents_and_leftovers() {
    let home = Home::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::leftovers::child_that_is_killed_while_it_stores", "--nocapture"])
        .env(CHILD, &home.path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.filter(|line| line.contains("stored")).take(5).count(), 5);
    child.kill().unwrap();
    child.wait().unwrap();
    let journal = Journal::open(&home.path, home.locked_keys(), options()).unwrap();
    assert!(journal.content(&id(2)).unwrap().is_none());
    let swept = journal.sweep_contents(|_| Keep::Keep).unwrap();
    assert_eq!((swept.kept, swept.incomplete, swept.unwanted), (1, 1, 0));
    assert!(swept.bytes_freed > 4 * CHUNK_BYTES as u64);
    append(&journal, batch(2, &["goes on"]));
}
