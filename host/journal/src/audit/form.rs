//! The bytes of a block and of an exported file; `docs/audit.md` lists them. Integers are big-endian.

use super::kinds;
use proofport_core::event::EventKind;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The version of the form and of what is hashed.
pub(crate) const VERSION: u8 = 1;
/// How every exported file begins.
pub(crate) const BEGINNING: &[u8; 18] = b"proofport.audit/1\n";
/// What stands before a block in its hash.
const LABEL: &[u8; 24] = b"proofport.audit/1 block\n";
/// The lengths before a header.
pub(crate) const LENGTHS: usize = 8;
/// The longest header.
pub(crate) const LARGEST_HEADER: usize = 16 * 1024 * 1024;
/// The longest payload.
pub(crate) const LARGEST_PAYLOAD: usize = 96 * 1024 * 1024;
/// The longest payload that is read as a whole: a wrapped key, a signed note.
pub(crate) const LARGEST_KEPT: usize = 64 * 1024;
/// What the first block has for a predecessor's hash.
pub(crate) const BEFORE_ALL: Hash = [0; 32];
/// The tag of the host's own events.
pub(crate) const HOST: Tag = Tag([0; 16]);

/// A block's hash.
pub(crate) type Hash = [u8; 32];

/// Stands for an invocation without telling which: a code of its id under a key of the vault. Zeros for the
/// host's own events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tag(pub(crate) [u8; 16]);

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&data_encoding::HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The random name of a log, which all of its segments bear.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LogId(pub(crate) [u8; 16]);

impl LogId {
    /// The name under which its keys sign.
    #[must_use]
    pub fn key_name(&self) -> String {
        format!("proofport.audit/{}", data_encoding::HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key_name())
    }
}

/// Why a segment begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The journal is new.
    New,
    /// The journal is older than its audit log.
    Upgraded,
    /// Another process has the journal.
    Opened,
    /// The segment before it was full.
    Rotated,
}

impl Origin {
    const fn number(self) -> u8 {
        match self {
            Self::New => 1,
            Self::Upgraded => 2,
            Self::Opened => 3,
            Self::Rotated => 4,
        }
    }

    const fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::New),
            2 => Some(Self::Upgraded),
            3 => Some(Self::Opened),
            4 => Some(Self::Rotated),
            _ => None,
        }
    }
}

/// What a block is, with the clear part of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// A segment begins. The payload is its key, wrapped to the recipient by age.
    Segment { log: LogId, origin: Origin, key: [u8; 32], recipient: String },
    /// Events of one transaction. The payload is sealed.
    Events(Vec<Listed>),
    /// The payload is a note that signs the chain up to here.
    Checkpoint,
    /// Another key signs from here on. The payload is a note that both sign.
    Key { key: [u8; 32] },
    /// Blocks up to this one were taken out of the journal after they had been exported.
    Removed { through: u64, hash: Hash },
}

/// What a block says in the clear of one batch of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) tag: Tag,
    pub(crate) kinds: Vec<EventKind>,
}

/// The clear part of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// From 1 upwards.
    pub(crate) segment: u64,
    /// From 1 upwards, over all segments.
    pub(crate) block: u64,
    /// The first event's sequence number, or that of the next one where there is none.
    pub(crate) first_event: u64,
    /// The last event's, or one less than the first.
    pub(crate) last_event: u64,
    /// The latest time that any event up to here has, in milliseconds since 1970.
    pub(crate) at: u64,
    /// Names the key that signs.
    pub(crate) key_id: [u8; 4],
    /// The hash of the block before.
    pub(crate) previous: Hash,
    pub(crate) body: Body,
}

/// Why bytes are no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// Another version of the form.
    Version(u8),
    /// A kind of event that is not known here.
    Kind(u8),
    /// Anything else.
    Form,
}

impl Header {
    /// Lengths and header: what the payload is bound to, and what it stands behind.
    pub(crate) fn encode(&self, payload: usize) -> Vec<u8> {
        let mut bytes = vec![0; LENGTHS];
        bytes.push(VERSION);
        bytes.push(match &self.body {
            Body::Segment { .. } => 1,
            Body::Events(_) => 2,
            Body::Checkpoint => 3,
            Body::Key { .. } => 4,
            Body::Removed { .. } => 5,
        });
        for number in [self.segment, self.block, self.first_event, self.last_event, self.at] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(&self.key_id);
        bytes.extend_from_slice(&self.previous);
        match &self.body {
            Body::Segment { log, origin, key, recipient } => {
                bytes.extend_from_slice(&log.0);
                bytes.push(origin.number());
                bytes.extend_from_slice(key);
                bytes.extend_from_slice(recipient.as_bytes());
            }
            Body::Events(batches) => {
                for Listed { tag, kinds } in batches {
                    bytes.extend_from_slice(&tag.0);
                    bytes.extend_from_slice(&length(kinds.len()));
                    bytes.extend(kinds.iter().map(|kind| kinds::number(*kind)));
                }
            }
            Body::Checkpoint => {}
            Body::Key { key } => bytes.extend_from_slice(key),
            Body::Removed { through, hash } => {
                bytes.extend_from_slice(&through.to_be_bytes());
                bytes.extend_from_slice(hash);
            }
        }
        let header = length(bytes.len() - LENGTHS);
        bytes[..4].copy_from_slice(&header);
        bytes[4..LENGTHS].copy_from_slice(&length(payload));
        bytes
    }

    /// Reads a header without its lengths.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Unread> {
        let mut rest = Rest(bytes);
        let [version, kind] = rest.take()?;
        if version != VERSION {
            return Err(Unread::Version(version));
        }
        let segment = rest.number()?;
        let block = rest.number()?;
        let first_event = rest.number()?;
        let last_event = rest.number()?;
        let at = rest.number()?;
        let (key_id, previous) = (rest.take()?, rest.take()?);
        let body = match kind {
            1 => {
                let log = LogId(rest.take()?);
                let [origin] = rest.take()?;
                let origin = Origin::of(origin).ok_or(Unread::Form)?;
                let key = rest.take()?;
                let recipient = std::str::from_utf8(rest.all()).map_err(|_| Unread::Form)?.to_owned();
                let printable = recipient.bytes().all(|byte| byte.is_ascii_alphanumeric());
                if !printable {
                    return Err(Unread::Form);
                }
                Body::Segment { log, origin, key, recipient }
            }
            2 => {
                let mut batches = Vec::new();
                while !rest.0.is_empty() {
                    batches.push(rest.listed()?);
                }
                Body::Events(batches)
            }
            3 => Body::Checkpoint,
            4 => Body::Key { key: rest.take()? },
            5 => Body::Removed { through: rest.number()?, hash: rest.take()? },
            _ => return Err(Unread::Form),
        };
        if !rest.0.is_empty() {
            return Err(Unread::Form);
        }
        Ok(Self { segment, block, first_event, last_event, at, key_id, previous, body })
    }
}

/// A length as it is written. None of ours is longer, since a batch is bounded far below.
fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes()
}

/// The lengths of a header and of a payload.
pub(crate) fn lengths(bytes: [u8; LENGTHS]) -> (usize, usize) {
    let [a, b, c, d, rest @ ..] = bytes;
    (u32::from_be_bytes([a, b, c, d]) as usize, u32::from_be_bytes(rest) as usize)
}

/// What has not been read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Unread> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Unread::Form)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn number(&mut self) -> Result<u64, Unread> {
        self.take().map(u64::from_be_bytes)
    }

    fn all(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    fn listed(&mut self) -> Result<Listed, Unread> {
        let tag = Tag(self.take()?);
        let count = u32::from_be_bytes(self.take()?) as usize;
        let (numbers, rest) = self.0.split_at_checked(count).ok_or(Unread::Form)?;
        self.0 = rest;
        let kind = |number: &u8| kinds::kind(*number).ok_or(Unread::Kind(*number));
        let kinds = numbers.iter().map(kind).collect::<Result<Vec<_>, _>>()?;
        if kinds.is_empty() { Err(Unread::Form) } else { Ok(Listed { tag, kinds }) }
    }
}

/// The hash of a block, part by part.
pub(crate) fn hasher() -> Sha256 {
    Sha256::new_with_prefix(LABEL)
}

/// The hash of a whole block.
pub(crate) fn hash(block: &[u8]) -> Hash {
    hasher().chain_update(block).finalize().into()
}

/// The parts of a stored block: lengths and header, then the payload.
pub(crate) fn parts(block: &[u8]) -> Option<(Header, &[u8], &[u8])> {
    let (first, _) = block.split_first_chunk::<LENGTHS>()?;
    let (header, payload) = lengths(*first);
    let (clear, sealed) = block.split_at_checked(LENGTHS + header)?;
    let fits = sealed.len() == payload;
    let header = Header::decode(clear.get(LENGTHS..)?).ok()?;
    fits.then_some((header, clear, sealed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header is what its bytes say and nothing else.
    #[test]
    fn headers_are_read_as_they_were_written() {
        let check = |body: Body| {
            let header = Header {
                segment: 2,
                block: 3,
                first_event: 4,
                last_event: 5,
                at: 6,
                key_id: [7; 4],
                previous: [8; 32],
                body,
            };
            let bytes = header.encode(9);
            let (first, rest) = bytes.split_first_chunk().unwrap();
            assert_eq!(lengths(*first), (rest.len(), 9));
            assert_eq!(Header::decode(rest).unwrap(), header);
            // The part that every kind of block has.
            for cut in 0..78 {
                assert_eq!(Header::decode(&rest[..cut]), Err(Unread::Form), "{cut}");
            }
        };
        let recipient = "age1qqqq".to_owned();
        check(Body::Segment { log: LogId([1; 16]), origin: Origin::Upgraded, key: [2; 32], recipient });
        let kinds = EventKind::ALL.to_vec();
        let host = Listed { tag: HOST, kinds: vec![EventKind::ConfigLoaded] };
        check(Body::Events(vec![Listed { tag: Tag([9; 16]), kinds }, host]));
        check(Body::Events(Vec::new()));
        check(Body::Checkpoint);
        check(Body::Key { key: [3; 32] });
        check(Body::Removed { through: 77, hash: [4; 32] });
    }
}
