use super::*;
use std::cell::RefCell;
use std::os::fd::OwnedFd;

const CONTENT: &[u8] = b"0123456789";
const CHUNK: usize = 4;

/// A store of the content, with what was asked of it.
struct Store {
    facts: ContentFacts,
    /// What a chunk is given as.
    given: fn(u32) -> Result<Vec<u8>, Error>,
    /// What its digest is said to be.
    digest: fn(u32) -> Option<Digest>,
    asked: RefCell<Vec<u32>>,
}

impl Store {
    fn whole() -> Self {
        let facts = ContentFacts {
            bytes: CONTENT.len() as u64,
            digest: Digest::of_bytes(CONTENT),
            chunks: 3,
            chunk_bytes: 4,
        };
        Self { facts, given: |n| Ok(chunk(n).to_vec()), digest, asked: RefCell::default() }
    }

    fn with<T>(&self, work: impl FnOnce(&Source<'_>) -> T) -> T {
        let chunk = |n| {
            self.asked.borrow_mut().push(n);
            (self.given)(n).map(Zeroizing::new)
        };
        work(&Source { facts: self.facts, chunk: &chunk, digest: &self.digest })
    }
}

fn chunk(n: u32) -> &'static [u8] {
    CONTENT.chunks(CHUNK).nth(n as usize).unwrap()
}

fn digest(n: u32) -> Option<Digest> {
    CONTENT.chunks(CHUNK).nth(n as usize).map(Digest::of_bytes)
}

/// Takes a few bytes at a time, is interrupted in between, and breaks when it is full.
struct Narrow {
    taken: Vec<u8>,
    room: usize,
    interrupted: bool,
}

impl Narrow {
    fn new(room: usize) -> Self {
        Self { taken: Vec::new(), room, interrupted: false }
    }
}

impl Write for Narrow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let taken = bytes.len().min(3).min(self.room - self.taken.len());
        self.taken.extend_from_slice(&bytes[..taken]);
        if taken == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn id() -> RequestId {
    RequestId::from_random([1; 16])
}

#[test]
fn a_transfer_goes_on_behind_what_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("content");
    let check = |before: Option<&str>, expected: Result<u64, u64>, asked: &[u32]| {
        let _ = std::fs::remove_file(&path);
        if let Some(before) = before {
            std::fs::write(&path, before).unwrap();
        }
        let store = Store::whole();
        let got = store.with(|source| into_file(source, &path));
        let after = std::fs::read(&path).unwrap();
        match (got, expected) {
            (Ok(held), Ok(expected)) => {
                assert_eq!((held, after.as_slice()), (expected, CONTENT), "{before:?}");
            }
            (Err(Stopped::OtherBytes { at }), Err(expected)) => {
                assert_eq!(at, expected, "{before:?}");
                assert_eq!(after, before.unwrap().as_bytes(), "it is left as it is");
            }
            (got, _) => panic!("{before:?}: {got:?}"),
        }
        assert_eq!(*store.asked.borrow(), asked, "{before:?}");
    };
    check(None, Ok(0), &[0, 1, 2]);
    check(Some(""), Ok(0), &[0, 1, 2]);
    check(Some("0"), Ok(1), &[0, 0, 1, 2]);
    check(Some("0123"), Ok(4), &[1, 2]);
    check(Some("012345"), Ok(6), &[1, 1, 2]);
    check(Some("012345678"), Ok(9), &[2, 2]);
    check(Some("0123456789"), Ok(10), &[]);
    check(Some("x"), Err(0), &[0]);
    check(Some("x123"), Err(0), &[]);
    check(Some("0123x"), Err(4), &[1]);
    check(Some("01234567x"), Err(8), &[2]);
    check(Some("012345678x"), Err(8), &[]);
    check(Some("0123456789x"), Err(10), &[]);
}

#[test]
fn a_transfer_that_is_cut_anywhere_is_counted_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    for room in 0..=CONTENT.len() {
        let mut out = Narrow::new(room);
        let got = Store::whole().with(|source| into_stream(source, &mut out));
        assert_eq!(out.taken, CONTENT[..room]);
        match got {
            Ok(()) => assert_eq!(room, CONTENT.len()),
            Err(Stopped::Unwritten { kept, .. }) => assert_eq!(kept, room as u64),
            Err(other) => panic!("{room}: {other:?}"),
        }
        let path = folder.path().join(room.to_string());
        std::fs::write(&path, out.taken).unwrap();
        assert_eq!(Store::whole().with(|source| into_file(source, &path)).unwrap(), room as u64);
        assert_eq!(std::fs::read(&path).unwrap(), CONTENT);
    }
}

#[test]
fn what_the_store_gives_is_held_against_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let fails = |n| if n == 1 { Err(anyhow::anyhow!("unreadable")) } else { Ok(chunk(n).to_vec()) };
    let other = |n| Ok(if n == 1 { b"456x".to_vec() } else { chunk(n).to_vec() });
    let short = |n| Ok(if n == 2 { b"8".to_vec() } else { chunk(n).to_vec() });
    let unlisted = |n| digest(n).filter(|_| n != 1);
    let whole = Store::whole;
    let facts = whole().facts;
    let of = |digest| ContentFacts { digest, ..facts };
    let long = ContentFacts { bytes: 13, ..facts };
    let check = |store: Store, given: bool, expected: u64| {
        let path = tempfile::NamedTempFile::new_in(folder.path()).unwrap().into_temp_path();
        let kept = match store.with(|source| into_file(source, &path)) {
            Err(Stopped::NotGiven { kept, .. }) if !given => kept,
            Err(Stopped::Damaged { kept }) if given => kept,
            other => panic!("{other:?}"),
        };
        assert_eq!(kept, expected);
        assert_eq!(std::fs::read(&path).unwrap(), CONTENT[..usize::try_from(kept).unwrap()]);
    };
    check(Store { given: fails, ..whole() }, false, 4);
    check(Store { given: other, ..whole() }, true, 4);
    check(Store { given: short, ..whole() }, true, 8);
    check(Store { digest: unlisted, ..whole() }, true, 4);
    check(Store { facts: of(Digest::of_bytes(b"another")), ..whole() }, true, 10);
    check(Store { facts: long, ..whole() }, true, 0);
}

#[test]
fn an_empty_content_makes_an_empty_file() {
    let folder = tempfile::tempdir().unwrap();
    for chunks in [0, 1] {
        let facts = ContentFacts { bytes: 0, digest: Digest::of_bytes(b""), chunks, chunk_bytes: 4 };
        let path = folder.path().join(chunks.to_string());
        let store = Store { facts, ..Store::whole() };
        assert_eq!(store.with(|source| into_file(source, &path)).unwrap(), 0);
        assert_eq!(std::fs::read(&path).unwrap(), b"");
    }
}

#[test]
fn only_a_file_of_ones_own_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("taken");
    let lock = File::create(&taken).unwrap();
    lock.lock().unwrap();
    let check = |path: &Path, says: &str| {
        let store = Store::whole();
        let stopped = store.with(|source| into_file(source, path)).unwrap_err();
        let target = Target::File(path.to_path_buf());
        let Usage(text) = cut(&stopped, &store.facts, &target, &id()).unwrap_err();
        assert!(text.contains(says), "{text}");
    };
    check(&taken, "another transfer");
    check(folder.path(), "can't be opened");
    check(&folder.path().join("none/content"), "can't be opened");
    check(Path::new("/dev/null"), "no regular file");
    assert_eq!(std::fs::read(&taken).unwrap(), b"");
}

#[test]
fn real_streams_that_end_early_are_incomplete() {
    let check = |mut out: File, says: &str| {
        let store = Store::whole();
        let stopped = store.with(|source| into_stream(source, &mut out)).unwrap_err();
        let text = cut(&stopped, &store.facts, &Target::Stream, &id()).unwrap();
        assert!(text.contains("0 of 10 bytes") && text.contains(says), "{text}");
    };
    check(OpenOptions::new().write(true).open("/dev/full").unwrap(), "No space left");
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    check(File::from(OwnedFd::from(writer)), "Broken pipe");
}

#[test]
fn a_person_is_told_what_is_kept_and_how_to_go_on() {
    let facts = Store::whole().facts;
    let file = |path: &str| Target::from(PathBuf::from(path));
    let check = |stopped: Stopped, target: Target, expected: &str| {
        let text = cut(&stopped, &facts, &target, &id()).unwrap();
        assert_eq!(text, expected.replace("ACT", &id().to_string()));
    };
    let full = || Stopped::Unwritten { kept: 4, error: io::Error::other("full") };
    check(
        full(),
        file("/tmp/a.bin"),
        "incomplete: /tmp/a.bin holds 4 of 10 bytes: it can't be written: full; `proofport result ACT --content \
         /tmp/a.bin` goes on from there",
    );
    check(
        full(),
        file("it's"),
        r"incomplete: 'it'\''s' holds 4 of 10 bytes: it can't be written: full; `proofport result ACT --content 'it'\''s'` goes on from there",
    );
    check(
        full(),
        file("-"),
        "incomplete: 4 of 10 bytes were handed over to standard output: it can't be written: full; with those in \
         FILE, `proofport result ACT --content FILE` goes on from there",
    );
    let unreadable = Stopped::NotGiven { kept: 8, error: anyhow::anyhow!("inner").context("outer") };
    check(
        unreadable,
        file("a"),
        "incomplete: a holds 8 of 10 bytes: the stored content can't be read: outer: inner; `proofport result ACT \
         --content a` goes on from there",
    );
    check(
        Stopped::Damaged { kept: 0 },
        file("a"),
        "incomplete: a holds 0 of 10 bytes: the stored content is not the one that is on record",
    );

    let digest = facts.digest;
    let check = |target: Target, held: u64, expected: &str| {
        assert_eq!(whole(&facts, &target, held), expected);
    };
    check(file("a"), 0, &format!("a is the whole content: 10 bytes, {digest}"));
    check(file("a"), 4, &format!("a is the whole content: 10 bytes, {digest}; it held 4 of them before"));
    check(file("-"), 0, &format!("the content was handed over whole: 10 bytes, {digest}"));
}
