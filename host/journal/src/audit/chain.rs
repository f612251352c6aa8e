//! Writes the log: what one transaction of the journal adds to it.
//!
//! There is one block of events a transaction, whatever number of batches shares it, so that a group costs one
//! more insertion, one hash and one sealing. Larger groups are cut.

use super::form::{self, BEFORE_ALL, Body, Header, Listed, LogId, Origin, Tag};
use super::keys::{AuditKeys, Signers};
use super::note::{self, Also};
use super::state::State;
use crate::error::JournalError;
use age::x25519::Recipient;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use proofport_core::event::EventKind;
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;
use redb::Table;
use std::sync::Arc;
use zeroize::Zeroizing;

/// From this many bytes of bodies, or of lists of kinds, on, the next batch begins another block.
const FULL: usize = 1024 * 1024;

/// How the log is written.
#[derive(Clone, Copy, Debug)]
pub struct AuditOptions {
    /// After so many blocks there is a checkpoint.
    pub checkpoint_blocks: u32,
    /// From this many bytes on, the next block begins another segment.
    pub segment_bytes: u64,
}

impl Default for AuditOptions {
    /// 64 blocks and 64 MiB.
    fn default() -> Self {
        Self { checkpoint_blocks: 64, segment_bytes: 64 * 1024 * 1024 }
    }
}

/// Block → its bytes.
pub(crate) type Blocks<'t> = Table<'t, u64, &'static [u8]>;

/// The end of the log, to which the next block is chained.
pub(crate) struct Chain {
    pub(crate) state: State,
    options: AuditOptions,
    signers: Arc<Signers>,
    recipient: Recipient,
    recipient_text: String,
    /// The segment of this process; none before it wrote anything.
    segment: Option<Segment>,
}

/// A segment that is being written. Its key is nowhere else but wrapped in its first block.
struct Segment {
    cipher: XChaCha20Poly1305,
    bytes: u64,
}

/// What one block of events is going to hold.
#[derive(Default)]
pub(crate) struct Pending {
    listed: Vec<Listed>,
    listed_bytes: usize,
    plain: Zeroizing<Vec<u8>>,
    first_event: u64,
    last_event: u64,
    at: UnixMillis,
}

/// A batch, as the log needs it.
pub(crate) struct Entry<'a> {
    pub(crate) tag: Tag,
    pub(crate) invocation: Option<&'a RequestId>,
    pub(crate) kinds: &'a [EventKind],
    pub(crate) at: UnixMillis,
    /// The record's payload.
    pub(crate) payload: &'a [u8],
}

impl Pending {
    /// Whether the next batch belongs into another block.
    pub(crate) fn is_full(&self) -> bool {
        self.plain.len() + self.listed_bytes >= FULL
    }

    /// Adds a batch whose first event has this sequence number.
    pub(crate) fn add(&mut self, first_event: u64, high_water: UnixMillis, entry: &Entry<'_>) {
        if self.listed.is_empty() {
            self.first_event = first_event;
        }
        self.last_event = first_event + entry.kinds.len() as u64 - 1;
        self.at = high_water;
        self.listed_bytes += 20 + entry.kinds.len();
        self.listed.push(Listed { tag: entry.tag, kinds: entry.kinds.to_vec() });
        self.plain.push(u8::from(entry.invocation.is_some()));
        self.plain.extend_from_slice(entry.invocation.map_or(&[0; 16], |id| id.as_bytes()));
        self.plain.extend_from_slice(&entry.at.0.to_be_bytes());
        let length = u32::try_from(entry.payload.len()).unwrap_or(u32::MAX);
        self.plain.extend_from_slice(&length.to_be_bytes());
        self.plain.extend_from_slice(entry.payload);
    }
}

/// Where a block without events stands among them.
#[derive(Clone, Copy)]
pub(crate) struct Between {
    /// The sequence number of the next event.
    pub(crate) next_event: u64,
    /// The latest time that any event has.
    pub(crate) at: UnixMillis,
}

impl Chain {
    pub(crate) fn new(
        state: State,
        keys: &AuditKeys,
        signers: Arc<Signers>,
        options: AuditOptions,
    ) -> Result<Self, JournalError> {
        signers.newest()?;
        if state.block > 0 {
            signers.of(&state.key)?;
        }
        let recipient = keys.recipient()?;
        Ok(Self { state, options, signers, recipient, recipient_text: keys.recipient.clone(), segment: None })
    }

    /// Whether there is something that a checkpoint should cover before the process ends.
    pub(crate) const fn wants_checkpoint(&self) -> bool {
        self.segment.is_some() && self.state.unsigned > 0
    }

    /// Writes what is pending as a block, and what is due before it.
    pub(crate) fn events(&mut self, blocks: &mut Blocks<'_>, pending: Pending) -> Result<(), redb::Error> {
        let Pending { listed, plain, first_event, last_event, at, .. } = pending;
        if listed.is_empty() {
            return Ok(());
        }
        let place = Between { next_event: first_event, at };
        self.segment_is_open(blocks, place)?;
        let segment = self.segment.as_ref().ok_or_else(|| internal("no segment"))?;
        let nonce = random::<24>()?;
        let header = self.header(place, Body::Events(listed))?;
        let header = Header { last_event, ..header };
        let clear = header.encode(24 + plain.len() + 16);
        let payload = Payload { msg: &plain, aad: &clear };
        let sealed =
            segment.cipher.encrypt(&XNonce::from(*nonce), payload).map_err(|_| internal("sealing"))?;
        self.put(blocks, [clear, nonce.to_vec(), sealed].concat())
    }

    /// Writes a checkpoint if one is due, or wanted and of any use.
    pub(crate) fn checkpoint(
        &mut self,
        blocks: &mut Blocks<'_>,
        place: Between,
        wanted: bool,
    ) -> Result<(), redb::Error> {
        let due = self.state.unsigned >= self.options.checkpoint_blocks.max(1);
        if !(due || wanted && self.wants_checkpoint()) {
            return Ok(());
        }
        let State { log, block, hash, key, .. } = self.state;
        let text = note::text(log, block, &hash, Also::Nothing);
        let key = self.signers.of(&key).map_err(io)?;
        let note = note::sign(log, &text, &[key]);
        let clear = self.header(place, Body::Checkpoint)?.encode(note.len());
        self.put(blocks, [clear, note].concat())?;
        self.state.unsigned = 0;
        Ok(())
    }

    /// Writes that everything before this block was taken out.
    pub(crate) fn removed(
        &mut self,
        blocks: &mut Blocks<'_>,
        place: Between,
        through: u64,
        hash: form::Hash,
    ) -> Result<(), redb::Error> {
        self.segment_is_open(blocks, place)?;
        let clear = self.header(place, Body::Removed { through, hash })?.encode(0);
        self.put(blocks, clear)?;
        self.state.first = through + 1;
        Ok(())
    }

    fn segment_is_open(&mut self, blocks: &mut Blocks<'_>, place: Between) -> Result<(), redb::Error> {
        let origin = match &self.segment {
            Some(segment) if segment.bytes < self.options.segment_bytes => return Ok(()),
            Some(_) => Origin::Rotated,
            None if self.state.block > 0 => Origin::Opened,
            None if place.next_event == 1 => Origin::New,
            None => Origin::Upgraded,
        };
        // A segment that is over ends with a signature.
        self.checkpoint(blocks, place, true)?;
        if self.state.block == 0 {
            self.state.log = LogId(*random()?);
            self.state.key = self.signers.newest().map_err(io)?.verifying_key().to_bytes();
        }
        let epoch = random::<32>()?;
        let wrapped = age::encrypt(&self.recipient, &*epoch).map_err(|_| internal("wrapping"))?;
        self.segment = Some(Segment { cipher: XChaCha20Poly1305::new(&Key::from(*epoch)), bytes: 0 });
        self.state.segment += 1;
        let State { log, key, .. } = self.state;
        let body = Body::Segment { log, origin, key, recipient: self.recipient_text.clone() };
        let clear = self.header(place, body)?.encode(wrapped.len());
        self.put(blocks, [clear, wrapped].concat())?;
        self.newest_key_signs(blocks, place)
    }

    /// Hands over to the newest key where an older one signs.
    fn newest_key_signs(&mut self, blocks: &mut Blocks<'_>, place: Between) -> Result<(), redb::Error> {
        let signers = Arc::clone(&self.signers);
        let newest = signers.newest().map_err(io)?;
        let State { log, block, hash, key, .. } = self.state;
        if newest.verifying_key().as_bytes() == &key {
            return Ok(());
        }
        let next = newest.verifying_key().to_bytes();
        let text = note::text(log, block, &hash, Also::Key(next));
        let note = note::sign(log, &text, &[signers.of(&key).map_err(io)?, newest]);
        let clear = self.header(place, Body::Key { key: next })?.encode(note.len());
        self.put(blocks, [clear, note].concat())?;
        self.state.key = next;
        Ok(())
    }

    /// The header of the next block, which holds no event.
    fn header(&self, place: Between, body: Body) -> Result<Header, redb::Error> {
        let State { block, hash, segment, log, key, .. } = self.state;
        let first = block == 0;
        Ok(Header {
            segment,
            block: block.checked_add(1).ok_or_else(|| internal("no more blocks"))?,
            first_event: place.next_event,
            last_event: place.next_event - 1,
            at: place.at.0,
            key_id: note::key_id(log, &key),
            previous: if first { BEFORE_ALL } else { hash },
            body,
        })
    }

    fn put(&mut self, blocks: &mut Blocks<'_>, block: Vec<u8>) -> Result<(), redb::Error> {
        self.state.block += 1;
        blocks.insert(self.state.block, block.as_slice())?;
        self.state.hash = form::hash(&block);
        self.state.unsigned = self.state.unsigned.saturating_add(1);
        if let Some(segment) = &mut self.segment {
            segment.bytes += block.len() as u64;
        }
        Ok(())
    }
}

fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, redb::Error> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(&mut *bytes).map_err(|_| internal("the operating system gave no randomness"))?;
    Ok(bytes)
}

/// Without a block there is no commit: whatever prevents one ends the process as a failed write does.
fn internal(what: &'static str) -> redb::Error {
    redb::Error::Io(std::io::Error::other(format!("the audit log: {what}")))
}

fn io(error: JournalError) -> redb::Error {
    redb::Error::Io(std::io::Error::other(error))
}
