//! The journal's promises as cases.

mod alone;
mod audit;
mod bodies;
mod contents;
mod crash;
mod damage;
mod disk;
mod encrypted;
mod failure;
mod grouping;
mod leftovers;
mod probe;
mod room;
mod sequence;
mod tallies;
mod unsettled;

use crate::{
    AuditKeys, Batch, Body, BodyKind, Committed, FatalHook, Journal, JournalKeys, Options, Recorded,
};
use age::secrecy::ExposeSecret as _;
use proofport_core::digest::Digest;
use proofport_core::event::{Event, HostEvent};
use proofport_core::id::RequestId;
use proofport_core::secret::Secret;
use proofport_core::time::UnixMillis;
use std::path::PathBuf;
use tempfile::TempDir;
use zeroize::Zeroizing;

const CANARY: &str = "canary-7f3a9c41d2e8b605";

/// A folder for a journal, and the keys of its vault.
struct Home {
    _folder: TempDir,
    path: PathBuf,
    identity: age::x25519::Identity,
    operator: age::x25519::Identity,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.redb");
        Self {
            _folder: folder,
            path,
            identity: age::x25519::Identity::generate(),
            operator: age::x25519::Identity::generate(),
        }
    }

    fn identity(&self) -> Secret {
        Secret::new(self.identity.to_string().expose_secret().as_bytes().to_vec())
    }

    fn keys(&self) -> JournalKeys {
        JournalKeys { seal_identity: Some(self.identity()), ..self.locked_keys() }
    }

    fn locked_keys(&self) -> JournalKeys {
        JournalKeys {
            event_mac: Zeroizing::new([7; 32]),
            seal_recipient: self.identity.to_public().to_string(),
            seal_identity: None,
            audit: AuditKeys {
                seeds: vec![Zeroizing::new([9; 32])],
                recipient: self.operator.to_public().to_string(),
            },
        }
    }

    fn open(&self) -> Journal {
        Journal::open(&self.path, self.keys(), options()).unwrap()
    }
}

/// Options under which a failed commit fails the test, without a reserve.
fn options() -> Options {
    let on_fatal = FatalHook::new(|line| panic!("{line}"));
    Options { on_fatal, reserve_bytes: 0, ..Options::default() }
}

fn id(number: u8) -> RequestId {
    RequestId::from_random([number; 16])
}

fn digest(text: &str) -> Digest {
    Digest::of_bytes(text.as_bytes())
}

/// An event that carries a text.
fn said(text: &str) -> Event {
    Event::JobAccepted { id: text.to_owned() }
}

fn host_event(number: u32) -> Event {
    let name = proofport_core::id::Name::parse("stripe").unwrap();
    Event::Host(HostEvent::SecretChanged { name, version: Some(number) })
}

fn batch(of: u8, texts: &[&str]) -> Batch {
    Batch::new(Some(id(of)), UnixMillis(1000), texts.iter().map(|text| said(text)).collect())
}

fn body(kind: BodyKind, text: &str) -> Body {
    Body { kind, bytes: text.as_bytes().to_vec() }
}

fn append(journal: &Journal, batch: Batch) -> Committed {
    block_on(journal.append(batch)).unwrap()
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// The texts of an invocation's events with their sequence numbers.
fn texts(history: &[Recorded]) -> Vec<(u64, String)> {
    let text = |recorded: &Recorded| {
        let Event::JobAccepted { id } = &recorded.event else { panic!("{:?}", recorded.event) };
        (recorded.seq, id.clone())
    };
    history.iter().map(text).collect()
}

/// A body's text.
fn read(journal: &Journal, of: u8, kind: BodyKind) -> Option<String> {
    journal.body(&id(of), kind).unwrap().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
}
