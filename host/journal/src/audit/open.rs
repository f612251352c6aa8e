//! Opens bodies with the operator's identity. It believes what was sealed in its place; whether the blocks are
//! a log is for `verify.rs`.

use super::form::{self, BEGINNING, Body, LENGTHS};
use age::x25519::Identity;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use proofport_core::event::Event;
use proofport_core::id::RequestId;
use proofport_core::secret::Secret;
use proofport_core::time::UnixMillis;
use serde::Deserialize;
use std::io::{self, BufReader, Read};
use zeroize::Zeroizing;

/// Events that became durable together.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    /// The block that holds them.
    pub block: u64,
    /// The sequence number of the first.
    pub first_event: u64,
    /// Whose; none for the host's own.
    pub invocation: Option<RequestId>,
    /// When.
    pub at: UnixMillis,
    /// The events in order.
    pub events: Vec<Event>,
}

/// Bodies can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum NotOpened {
    /// Reading failed.
    #[error("it can't be read: {0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("it is not an exported audit log")]
    NotAnExport,
    /// The identity is none.
    #[error("the key file holds no age X25519 identity")]
    BadIdentity,
    /// Sealed to another recipient.
    #[error("block {block} is sealed to another recipient, {recipient}")]
    OtherRecipient {
        /// The block that begins the segment.
        block: u64,
        /// To whom.
        recipient: String,
    },
    /// It doesn't open as what it was sealed as.
    #[error("block {block} was altered, or its segment's first block is missing")]
    Altered {
        /// The block.
        block: u64,
    },
}

/// The part of a record's payload that is shown.
#[derive(Deserialize)]
struct Shown {
    events: Vec<Event>,
}

/// An identity, and the key of the segment that was reached.
struct OpenedAudit {
    identity: Identity,
    cipher: Option<XChaCha20Poly1305>,
    block: u64,
}

impl OpenedAudit {
    /// Takes the identity, `AGE-SECRET-KEY-1…`, as it stands in a key file: blank lines and those that begin
    /// with `#` are skipped.
    ///
    /// # Errors
    /// When there is none, or more than one.
    fn new(identity: &Secret) -> Result<Self, NotOpened> {
        let text = std::str::from_utf8(identity.expose()).map_err(|_| NotOpened::BadIdentity)?;
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let (Some(line), None) = (lines.next(), lines.next()) else { return Err(NotOpened::BadIdentity) };
        let identity = line.parse().map_err(|_| NotOpened::BadIdentity)?;
        Ok(Self { identity, cipher: None, block: 0 })
    }

    /// What the next block holds; nothing where it holds no events.
    fn block(&mut self, bytes: &[u8]) -> Result<Vec<AuditEntry>, NotOpened> {
        let altered = |block| NotOpened::Altered { block };
        let (header, clear, payload) = form::parts(bytes).ok_or(altered(self.block + 1))?;
        let block = header.block;
        self.block = block;
        let batches = match header.body {
            Body::Segment { recipient, .. } => {
                let key = age::decrypt(&self.identity, payload).map(Zeroizing::new);
                let key = key.map_err(|_| NotOpened::OtherRecipient { block, recipient })?;
                let key: Zeroizing<[u8; 32]> =
                    key.as_slice().try_into().map(Zeroizing::new).map_err(|_| altered(block))?;
                self.cipher = Some(XChaCha20Poly1305::new(&Key::from(*key)));
                return Ok(Vec::new());
            }
            Body::Events(batches) => batches,
            Body::Checkpoint | Body::Key { .. } | Body::Removed { .. } => return Ok(Vec::new()),
        };
        let (nonce, sealed) = payload.split_first_chunk::<24>().ok_or(altered(block))?;
        let cipher = self.cipher.as_ref().ok_or(altered(block))?;
        let payload = Payload { msg: sealed, aad: clear };
        let plain = cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| altered(block))?;
        let plain = Zeroizing::new(plain);
        let (mut rest, mut first_event, mut entries) = (plain.as_slice(), header.first_event, Vec::new());
        for batch in &batches {
            let (entry, after) = entry(rest, block, first_event).ok_or(altered(block))?;
            // The list in the clear is what everybody else relies on.
            if !entry.events.iter().map(Event::kind).eq(batch.kinds.iter().copied()) {
                return Err(altered(block));
            }
            first_event = first_event.saturating_add(entry.events.len() as u64);
            entries.push(entry);
            rest = after;
        }
        if rest.is_empty() { Ok(entries) } else { Err(altered(block)) }
    }
}

/// One batch and what follows it.
fn entry(bytes: &[u8], block: u64, first_event: u64) -> Option<(AuditEntry, &[u8])> {
    let ([has_invocation], rest) = bytes.split_first_chunk()?;
    let (id, rest) = rest.split_first_chunk::<16>()?;
    let (at, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (payload, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    let Shown { events } = serde_json::from_slice(payload).ok()?;
    let invocation = (*has_invocation == 1).then(|| RequestId::from_random(*id));
    let at = UnixMillis(u64::from_be_bytes(*at));
    Some((AuditEntry { block, first_event, invocation, at, events }, rest))
}

/// Opens the bodies of an exported file, the oldest first.
///
/// # Errors
/// See [`NotOpened`].
pub fn open_export(
    from: impl Read,
    identity: &Secret,
    mut visit: impl FnMut(AuditEntry),
) -> Result<(), NotOpened> {
    let mut opened = OpenedAudit::new(identity)?;
    let mut from = BufReader::new(from);
    let mut beginning = [0; BEGINNING.len()];
    from.read_exact(&mut beginning).map_err(cut)?;
    if &beginning != BEGINNING {
        return Err(NotOpened::NotAnExport);
    }
    loop {
        let mut lengths = [0; LENGTHS];
        from.read_exact(&mut lengths).map_err(cut)?;
        let (header, payload) = form::lengths(lengths);
        if header == 0 {
            return Ok(());
        }
        let length = header.saturating_add(payload);
        let mut block = lengths.to_vec();
        (&mut from).take(length as u64).read_to_end(&mut block)?;
        opened.block(&block)?.into_iter().for_each(&mut visit);
    }
}

fn cut(error: io::Error) -> NotOpened {
    if error.kind() == io::ErrorKind::UnexpectedEof { NotOpened::NotAnExport } else { error.into() }
}
