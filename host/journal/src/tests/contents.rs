//! Contents: what goes in comes out, in bounded memory and bounded space.

use super::disk::ScriptedDisk;
use super::{CANARY, Home, append, batch, id, options};
use crate::{Batch, CHUNK_BYTES, ContentFacts, Journal, JournalError, Keep, Options, Resume, Room, Swept};
use proofport_core::digest::Digest;
use redb::backends::InMemoryBackend;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const CHUNK: u64 = CHUNK_BYTES as u64;

/// Bytes that differ from chunk to chunk and from seed to seed.
pub(super) fn bytes(seed: u8, length: usize) -> Vec<u8> {
    let mut state = u32::from(seed) + 1;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(next).collect()
}

pub(super) fn store(journal: &Journal, of: u8, plain: &[u8]) -> ContentFacts {
    let mut writer = journal.begin_content(&id(of)).unwrap();
    writer.push(plain).unwrap();
    writer.finish().unwrap()
}

pub(super) fn load(journal: &Journal, of: u8) -> Option<Vec<u8>> {
    let content = journal.content(&id(of)).unwrap()?;
    let chunks = (0..content.facts().chunks).map(|number| content.chunk(number).unwrap().to_vec());
    Some(chunks.collect::<Vec<_>>().concat())
}

pub(super) fn folder(home: &Home, of: u8) -> PathBuf {
    home.path.with_file_name("results").join(id(of).to_string())
}

fn with_disk(home: &Home, disk: &Arc<ScriptedDisk>, options: Options) -> Journal {
    Journal::open_on(&home.path, home.keys(), options, Arc::clone(disk) as _).unwrap()
}

#[test]
fn contents_come_back_and_are_not_on_disk() {
    let home = Home::new();
    let check = |length: usize, chunks: u32| {
        let journal = home.open();
        let mut plain = bytes(1, length);
        plain.iter_mut().zip(CANARY.bytes()).for_each(|(byte, canary)| *byte = canary);
        let facts = store(&journal, 1, &plain);
        let expected = ContentFacts {
            bytes: length as u64,
            digest: Digest::of_bytes(&plain),
            chunks,
            chunk_bytes: CHUNK_BYTES as u32,
        };
        assert_eq!(facts, expected);
        let held = journal.contents_bytes();
        drop(journal);
        let journal = home.open();
        assert_eq!(journal.contents_bytes(), held, "counted anew");
        assert_eq!(*journal.content(&id(1)).unwrap().unwrap().facts(), facts);
        assert!(load(&journal, 1).unwrap() == plain, "{length}");
        for entry in std::fs::read_dir(folder(&home, 1)).unwrap() {
            let stored = std::fs::read(entry.unwrap().path()).unwrap();
            assert!(!stored.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()));
            let digest = facts.digest.as_bytes();
            assert!(!stored.windows(32).any(|window| window == digest), "the facts are sealed, too");
        }
        let content = journal.content(&id(1)).unwrap().unwrap();
        let error = content.chunk(chunks).unwrap_err();
        assert!(matches!(error, JournalError::NoSuchChunk { number } if number == chunks), "{error}");
        assert_eq!(content.chunk_digest(chunks), None);
    };
    check(0, 0);
    check(1000, 1);
    check(CHUNK_BYTES, 1);
    check(CHUNK_BYTES + 1, 2);
    check(3 * CHUNK_BYTES - 1, 3);
    assert!(home.open().content(&id(2)).unwrap().is_none());
}

#[test]
fn the_files_of_contents_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    store(&home.open(), 1, b"x");
    let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(home.path.with_file_name("results")), 0o700);
    assert_eq!(mode(folder(&home, 1)), 0o700);
    assert_eq!(mode(folder(&home, 1).join("00000000.chunk")), 0o600);
    assert_eq!(mode(folder(&home, 1).join("complete")), 0o600);
}

#[test]
fn a_large_content_is_never_held_in_memory() {
    let home = Home::new();
    let journal = home.open();
    let mut writer = journal.begin_content(&id(1)).unwrap();
    // Pieces that fit nothing, and one that is larger than several chunks.
    let (piece, large) = (bytes(1, 100_003), bytes(2, 5 * CHUNK_BYTES));
    let mut written = 0;
    while written < 64 * 1024 * 1024 {
        for bytes in [&piece, &large] {
            writer.push(bytes).unwrap();
            written += bytes.len();
            assert_eq!(writer.capacity(), CHUNK_BYTES);
        }
    }
    let facts = writer.finish().unwrap();
    assert_eq!(facts.bytes, written as u64);
    assert_eq!(u64::from(facts.chunks), facts.bytes.div_ceil(CHUNK));
    let content = journal.content(&id(1)).unwrap().unwrap();
    assert_eq!(content.chunk(facts.chunks - 1).unwrap().len() as u64, facts.bytes % CHUNK);
}

#[test]
fn a_caller_resumes_from_the_last_verified_chunk() {
    let home = Home::new();
    let journal = home.open();
    let plain = bytes(1, 3 * CHUNK_BYTES + 10);
    store(&journal, 1, &plain);
    let content = journal.content(&id(1)).unwrap().unwrap();
    let flipped = |at: usize| {
        let mut copy = plain.clone();
        copy[at] ^= 1;
        copy
    };
    let cases: [(&str, Vec<u8>, u32, u64); 8] = [
        ("nothing", vec![], 0, 0),
        ("half a chunk", plain[..100].to_vec(), 0, 0),
        ("a chunk", plain[..CHUNK_BYTES].to_vec(), 1, CHUNK),
        ("two and a half", plain[..CHUNK_BYTES * 5 / 2].to_vec(), 2, 2 * CHUNK),
        ("all but the last byte", plain[..plain.len() - 1].to_vec(), 3, 3 * CHUNK),
        ("all", plain.clone(), 4, 3 * CHUNK + 10),
        ("more than all", [&plain[..], b"x"].concat(), 4, 3 * CHUNK + 10),
        ("a flipped bit", flipped(CHUNK_BYTES + 5), 1, CHUNK),
    ];
    for (case, mut partial, chunk, verified) in cases {
        let resume = content.verified(&partial[..]).unwrap();
        assert_eq!(resume, Resume { chunk, bytes: verified }, "{case}");
        partial.truncate(resume.bytes as usize);
        (resume.chunk..content.facts().chunks)
            .for_each(|number| partial.extend(&*content.chunk(number).unwrap()));
        assert!(partial == plain, "{case}");
    }
}

#[test]
fn a_locked_host_stores_and_does_not_read_contents() {
    let home = Home::new();
    let locked = |result: Result<(), JournalError>| {
        assert!(matches!(result, Err(JournalError::BodiesLocked)), "{result:?}");
    };
    let journal = Journal::open(&home.path, home.locked_keys(), options()).unwrap();
    store(&journal, 1, CANARY.as_bytes());
    locked(journal.content(&id(1)).map(drop));
    assert!(journal.content(&id(2)).unwrap().is_none());
    journal.unlock_bodies(&home.identity()).unwrap();
    let content = journal.content(&id(1)).unwrap().unwrap();
    assert_eq!(*content.chunk(0).unwrap(), CANARY.as_bytes());
    journal.lock_bodies();
    locked(content.chunk(0).map(drop));
    locked(journal.content(&id(1)).map(drop));

    // No body was ever stored, so the next process gives its epoch the same number.
    drop((content, journal));
    let journal = home.open();
    store(&journal, 2, b"another epoch");
    assert_eq!(load(&journal, 1).unwrap(), CANARY.as_bytes());
    assert_eq!(load(&journal, 2).unwrap(), b"another epoch");
    journal.unlock_bodies(&Home::new().identity()).unwrap();
    let error = journal.content(&id(1)).unwrap_err();
    assert!(matches!(error, JournalError::OtherRecipient), "{error}");
}

#[test]
fn one_writes_at_a_time_and_a_dropped_writer_leaves_nothing() {
    let home = Home::new();
    let journal = home.open();
    store(&journal, 1, b"an earlier try");
    let mut writer = journal.begin_content(&id(1)).unwrap();
    assert!(journal.content(&id(1)).unwrap().is_none(), "begun anew");
    writer.push(&bytes(1, 2 * CHUNK_BYTES)).unwrap();
    let busy = |result: Result<(), JournalError>| {
        assert!(matches!(result, Err(JournalError::ContentBusy { .. })), "{result:?}");
    };
    busy(journal.begin_content(&id(1)).map(drop));
    busy(journal.discard_content(&id(1)));
    assert_eq!(journal.sweep_contents(|_| Keep::Remove).unwrap(), Swept::default());
    assert!(journal.contents_bytes() > 2 * CHUNK);
    drop(writer);
    assert_eq!((journal.contents_bytes(), folder(&home, 1).exists()), (0, false));
    store(&journal, 1, b"a later try");
    journal.discard_content(&id(1)).unwrap();
    journal.discard_content(&id(1)).unwrap();
    assert_eq!((journal.contents_bytes(), folder(&home, 1).exists()), (0, false));
}

#[test]
fn contents_keep_to_their_budget() {
    let home = Home::new();
    let budget = Options { max_content_bytes_total: 3 * CHUNK, ..options() };
    let journal = Journal::open(&home.path, home.keys(), budget).unwrap();
    store(&journal, 1, &bytes(1, CHUNK_BYTES));
    let held = journal.contents_bytes();
    let mut writer = journal.begin_content(&id(2)).unwrap();
    let error = writer.push(&bytes(2, 2 * CHUNK_BYTES)).unwrap_err();
    let JournalError::NoRoom { path } = &error else { panic!("{error}") };
    assert_eq!(*path, folder(&home, 2).join("00000001.chunk"));
    assert!(matches!(writer.push(b"x"), Err(JournalError::ContentAborted)));
    assert!(matches!(writer.finish(), Err(JournalError::ContentAborted)));
    assert_eq!((journal.contents_bytes(), folder(&home, 2).exists()), (held, false));
    store(&journal, 2, &bytes(2, CHUNK_BYTES));
    assert!(journal.contents_bytes() <= 3 * CHUNK);
}

#[test]
fn a_full_disk_ends_a_content_and_nothing_else() {
    let home = Home::new();
    let disk = Arc::new(ScriptedDisk::with_free(u64::MAX));
    let journal = with_disk(&home, &disk, options());
    let check = |chunks_before: usize, expected: &str| {
        let mut writer = journal.begin_content(&id(1)).unwrap();
        writer.push(&bytes(1, chunks_before * CHUNK_BYTES)).unwrap();
        disk.fail_writes.store(true, Ordering::SeqCst);
        writer.push(b"the rest").unwrap();
        let error = writer.finish().unwrap_err();
        let JournalError::NoRoom { path } = &error else { panic!("{error}") };
        assert_eq!(*path, folder(&home, 1).join(expected));
        assert!(error.to_string().contains("free space"), "{error}");
        disk.fail_writes.store(false, Ordering::SeqCst);
        assert!(journal.content(&id(1)).unwrap().is_none());
        assert_eq!((journal.contents_bytes(), folder(&home, 1).exists()), (0, false));
        append(&journal, Batch { open: Some(false), ..batch(1, &["settled without a result"]) });
    };
    check(0, "00000000.chunk");
    check(2, "00000002.chunk");

    // The marker's turn.
    let mut writer = journal.begin_content(&id(1)).unwrap();
    writer.push(&bytes(1, CHUNK_BYTES)).unwrap();
    disk.fail_writes.store(true, Ordering::SeqCst);
    assert!(matches!(writer.finish(), Err(JournalError::NoRoom { .. })));
    disk.fail_writes.store(false, Ordering::SeqCst);
    assert_eq!((journal.contents_bytes(), folder(&home, 1).exists()), (0, false));

    // Another error of the disk is no want of space, and a sync is not tried again.
    let mut writer = journal.begin_content(&id(1)).unwrap();
    disk.fail_syncs.store(true, Ordering::SeqCst);
    let error = writer.push(&bytes(1, CHUNK_BYTES)).unwrap_err();
    assert!(matches!(error, JournalError::Io { doing: "sync", .. }), "{error}");
    disk.fail_syncs.store(false, Ordering::SeqCst);
    assert!(matches!(writer.finish(), Err(JournalError::ContentAborted)));
    store(&journal, 1, b"there is space again");
}

#[test]
fn contents_never_make_room_short() {
    const RESERVE: u64 = 256 * 1024;
    let home = Home::new();
    let disk = Arc::new(ScriptedDisk::with_free(u64::MAX));
    let journal = with_disk(&home, &disk, Options { reserve_bytes: RESERVE, ..options() });
    disk.set_free(RESERVE + CHUNK - 1);
    let mut writer = journal.begin_content(&id(1)).unwrap();
    assert!(matches!(writer.push(&bytes(1, CHUNK_BYTES)), Err(JournalError::NoRoom { .. })));
    assert_eq!(journal.room(), Room::Enough);
}

#[test]
fn bare_storage_has_no_contents() {
    let home = Home::new();
    let journal = Journal::open_with_backend(InMemoryBackend::new(), home.keys(), options()).unwrap();
    assert!(matches!(journal.begin_content(&id(1)), Err(JournalError::NoFolder)));
    assert!(matches!(journal.content(&id(1)), Err(JournalError::NoFolder)));
    assert_eq!((journal.contents_bytes(), journal.room()), (0, Room::Enough));
}
