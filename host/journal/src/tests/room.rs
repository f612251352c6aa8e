use super::disk::ScriptedDisk;
use super::{Home, append, batch, id, options};
use crate::{Journal, JournalError, Options, Room};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const RESERVE: u64 = 256 * 1024;

fn reserve_path(home: &Home) -> PathBuf {
    home.path.with_extension("reserve")
}

fn open(home: &Home, disk: &Arc<ScriptedDisk>) -> Journal {
    let options = Options { reserve_bytes: RESERVE, ..options() };
    Journal::open_on(&home.path, home.keys(), options, Arc::clone(disk) as _).unwrap()
}

#[test]
fn the_reserve_follows_the_free_space() {
    let home = Home::new();
    let disk = Arc::new(ScriptedDisk::with_free(RESERVE * 2));
    let journal = open(&home, &disk);
    // What is free, whether an allocation works, what is said, and whether the file is there then.
    let steps = [
        (RESERVE * 2, true, Room::Enough, true),
        (RESERVE, true, Room::Enough, true),
        (RESERVE - 1, true, Room::Short, false),
        // The file's own space came back, which is not space for more.
        (RESERVE * 2 - 1, true, Room::Short, false),
        (RESERVE * 2, false, Room::Short, false),
        (RESERVE * 2, true, Room::Enough, true),
        (0, true, Room::Short, false),
        (u64::MAX, true, Room::Enough, true),
    ];
    for (step, (free, allocates, room, held)) in steps.into_iter().enumerate() {
        disk.set_free(free);
        disk.fail_allocations.store(!allocates, Ordering::SeqCst);
        assert_eq!(journal.room(), room, "step {step}");
        assert_eq!(reserve_path(&home).exists(), held, "step {step}");
    }
    disk.fail_free.store(true, Ordering::SeqCst);
    assert_eq!(journal.room(), Room::Short, "a disk that does not say");
}

#[test]
fn the_reserve_is_real_and_stays_over_a_restart() {
    let home = Home::new();
    let disk = Arc::new(ScriptedDisk::with_free(u64::MAX));
    drop(open(&home, &disk));
    let facts = std::fs::metadata(reserve_path(&home)).unwrap();
    assert_eq!((facts.len(), facts.permissions().mode() & 0o777), (RESERVE, 0o600));
    assert!(facts.blocks() * 512 >= RESERVE, "{} blocks", facts.blocks());

    disk.set_free(RESERVE);
    let journal = open(&home, &disk);
    assert_eq!(std::fs::metadata(reserve_path(&home)).unwrap().ino(), facts.ino(), "the same file");
    assert_eq!(journal.room(), Room::Enough);
    drop(journal);

    // One without blocks is no reserve.
    std::fs::File::create(reserve_path(&home)).unwrap().set_len(RESERVE).unwrap();
    let journal = open(&home, &disk);
    assert_eq!((journal.room(), reserve_path(&home).exists()), (Room::Short, false));
    drop(journal);

    disk.set_free(u64::MAX);
    drop(open(&home, &disk));
    assert!(reserve_path(&home).exists());
    let none = Journal::open(&home.path, home.keys(), options()).unwrap();
    assert_eq!((none.room(), reserve_path(&home).exists()), (Room::Enough, false), "none is asked for");
}

#[test]
fn a_file_system_that_can_not_allocate_is_written_to() {
    let folder = tempfile::tempdir().unwrap();
    for size in [0, 1, 64 * 1024, 100_001] {
        let path = folder.path().join(size.to_string());
        crate::disk::fill(&std::fs::File::create(&path).unwrap(), size).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), size);
    }
}

#[test]
fn a_commit_finds_the_reserve_released_when_the_disk_filled_up() {
    let home = Home::new();
    let disk = Arc::new(ScriptedDisk::with_free(RESERVE * 4));
    let journal = open(&home, &disk);
    assert_eq!(journal.room(), Room::Enough);
    append(&journal, batch(1, &["dispatched"]));
    assert!(reserve_path(&home).exists());
    // Somebody else fills the disk before the settlement, and nobody asks for room.
    disk.set_free(0);
    append(&journal, batch(1, &["settled"]));
    assert!(!reserve_path(&home).exists());

    // The released space is for commits alone.
    let store = || {
        let mut writer = journal.begin_content(&id(1))?;
        writer.push(b"x")?;
        writer.finish()
    };
    disk.set_free(RESERVE * 2 - 1);
    assert!(matches!(store(), Err(JournalError::NoRoom { .. })));
    append(&journal, batch(1, &["goes on"]));
    disk.set_free(RESERVE * 3);
    store().unwrap();
    assert!(reserve_path(&home).exists(), "taken again");
}

#[test]
fn an_opening_that_needs_space_gets_the_reserve() {
    let home = Home::new();
    let disk = Arc::new(ScriptedDisk::with_free(u64::MAX));
    let check = |free: u64, lock: &str, held: bool| {
        disk.set_free(u64::MAX);
        drop(open(&home, &disk));
        assert!(reserve_path(&home).exists());
        disk.set_free(free);
        std::fs::write(home.path.with_extension("redb.lock"), lock).unwrap();
        drop(open(&home, &disk));
        assert_eq!(reserve_path(&home).exists(), held, "{free} {lock}");
    };
    check(RESERVE, "serving\n", true);
    check(RESERVE - 1, "serving\n", false);
    // A rewrite needs the journal's size again.
    check(RESERVE, "failed \n", false);
}

#[test]
fn the_real_file_system_has_room() {
    let home = Home::new();
    let open = |reserve_bytes| {
        Journal::open(&home.path, home.keys(), Options { reserve_bytes, ..options() }).unwrap()
    };
    assert_eq!(open(RESERVE).room(), Room::Enough);
    assert_eq!(open(u64::MAX / 4).room(), Room::Short, "no disk is that large");
}
