//! What a verification says.

use super::form::{Hash, Tag};
use super::note::PublicKey;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;

/// A place in a log and everything before it: whoever keeps one elsewhere can tell later whether the log still
/// has the same past.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Head {
    /// The block.
    pub block: u64,
    /// Its hash.
    pub hash: [u8; 32],
}

impl Head {
    /// Reads `N:HASH`, the hash in hexadecimal digits.
    ///
    /// # Errors
    /// When the text is something else.
    pub fn parse(text: &str) -> Result<Self, InvalidHead> {
        let (block, hash) = text.split_once(':').ok_or(InvalidHead)?;
        let block = block.parse().map_err(|_| InvalidHead)?;
        let hash = HEXLOWER.decode(hash.to_ascii_lowercase().as_bytes()).map_err(|_| InvalidHead)?;
        hash.try_into().map(|hash| Self { block, hash }).map_err(|_| InvalidHead)
    }
}

impl From<Head> for String {
    fn from(head: Head) -> Self {
        head.to_string()
    }
}

impl TryFrom<String> for Head {
    type Error = InvalidHead;

    fn try_from(text: String) -> Result<Self, InvalidHead> {
        Self::parse(&text)
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.block, HEXLOWER.encode(&self.hash))
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is no head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a head: it is N:HASH, as `audit head` prints it")]
pub struct InvalidHead;

/// What can't be read as an audit log, whatever it holds.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Reading failed.
    #[error("it can't be read: {0}")]
    Io(#[from] io::Error),
    /// It begins otherwise.
    #[error("it is not an exported audit log")]
    NotAnExport,
    /// A newer program wrote it.
    #[error("block {block} has the form {version}, which this program doesn't know: upgrade the program")]
    Version {
        /// The block, if those before it were whole.
        block: u64,
        /// The form that it names.
        version: u8,
    },
    /// A newer program wrote it.
    #[error(
        "block {block} has an event of kind {kind}, which this program doesn't know: upgrade the program"
    )]
    EventKind {
        /// The block, if those before it were whole.
        block: u64,
        /// The kind's number.
        kind: u8,
    },
}

/// Something that is not as it should be, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The block that it was found at.
    pub block: u64,
    /// Where this block begins in the file, in bytes; none in a journal.
    pub offset: Option<u64>,
    /// What it is.
    pub what: Wrong,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}", self.block)?;
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        write!(f, ": {}", self.what)
    }
}

/// What can be wrong with a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Wrong {
    /// The bytes end in the middle of something, or before the signed end.
    #[error("the file is cut off here")]
    Cut,
    /// The bytes are no block.
    #[error("these bytes are no block")]
    Form,
    /// Something follows the signed end.
    #[error("something follows the end of the export")]
    AfterTheEnd,
    /// A log, or an exported part of it, begins with the beginning of a segment.
    #[error("a log doesn't begin like this")]
    Beginning,
    /// It is not there.
    #[error("it is missing: block {found} stands here")]
    Missing {
        /// The number of the block that does.
        found: u64,
    },
    /// A block stands here that should stand before it.
    #[error("it is out of order: block {found} stands here")]
    OutOfOrder {
        /// The number of that block.
        found: u64,
    },
    /// The block before it stands here once more.
    #[error("the block before it stands here once more")]
    Repeated,
    /// Two blocks follow the same one.
    #[error("the log forks: another block with the number of the one before it stands here")]
    Fork,
    /// It follows another block than the one that stands before it.
    #[error("it doesn't follow the block before: one of the two was altered, or another was put in")]
    Link,
    /// It belongs to another log.
    #[error("it belongs to another log")]
    OtherLog,
    /// Its segment is not the one that is due.
    #[error("it belongs to another segment")]
    Segment,
    /// Its events don't follow those before.
    #[error("its events don't follow those of the block before")]
    Events,
    /// Its time is before that of the block before.
    #[error("its time runs backwards")]
    Time,
    /// It names another key than the one that signs.
    #[error("it names a key that doesn't sign here")]
    Key,
    /// A checkpoint is not signed by the key that signs here, or signs something else than what stands before it.
    #[error("the checkpoint is not this log's: its signature or what it signs doesn't agree")]
    Checkpoint,
    /// A change of keys without the old key's and the new key's signatures.
    #[error("the change of keys is not signed by the old key and the new one")]
    KeyChange,
    /// The end of the file is not signed by the key that signs here, or signs something else.
    #[error("the end of the export is not this log's: its signature or what it signs doesn't agree")]
    End,
    /// Something was dispatched, and neither an end nor an unknown is on record, though a later process began
    /// to dispatch.
    #[error("event {event} is a dispatch without an end: the process that came after recorded none")]
    DispatchWithoutEnd {
        /// The dispatch.
        event: u64,
        /// Whose.
        tag: Tag,
    },
    /// Something was dispatched once more while the attempt before had no end.
    #[error("event {event} is dispatched while the one before it, event {before}, has no end")]
    DispatchTwice {
        /// The dispatch.
        event: u64,
        /// The one before.
        before: u64,
    },
    /// The block with the expected number is another one.
    #[error("it is not the expected one: this log has another past")]
    OtherHead,
    /// The log ends before the expected block.
    #[error(
        "the log ends here, before block {expected} that is expected: its end was cut off, or this is older"
    )]
    EndsBefore {
        /// The expected block.
        expected: u64,
    },
    /// The log begins after the expected block.
    #[error("the log begins here, after block {expected} that is expected: verify the part before it, too")]
    BeginsAfter {
        /// The expected block.
        expected: u64,
    },
    /// The expected key signs nowhere in it.
    #[error("the expected key signs nothing in this log")]
    OtherKey,
}

impl Wrong {
    /// Whether it is about what the host did, and not about the log.
    pub(crate) const fn is_about_dispatches(self) -> bool {
        match self {
            Self::DispatchWithoutEnd { .. } | Self::DispatchTwice { .. } => true,
            Self::Cut
            | Self::Form
            | Self::AfterTheEnd
            | Self::Beginning
            | Self::Missing { .. }
            | Self::OutOfOrder { .. }
            | Self::Repeated
            | Self::Fork
            | Self::Link
            | Self::OtherLog
            | Self::Segment
            | Self::Events
            | Self::Time
            | Self::Key
            | Self::Checkpoint
            | Self::KeyChange
            | Self::End
            | Self::OtherHead
            | Self::EndsBefore { .. }
            | Self::BeginsAfter { .. }
            | Self::OtherKey => false,
        }
    }
}

/// A dispatch that has no end yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenDispatch {
    /// Whose.
    pub tag: Tag,
    /// The dispatch.
    pub event: u64,
    /// The block that holds it.
    pub block: u64,
}

/// A key, and the block from which on it signs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signing {
    /// The first block for which it signs, in what was verified.
    pub from: u64,
    /// The key.
    pub key: PublicKey,
}

/// What was verified. Where there are findings, it says how far that went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// What is wrong; nothing: it is verified.
    pub findings: Vec<Finding>,
    /// The first block; 0: there was none.
    pub first_block: u64,
    /// The hash of the block before the first one; zeros where that is the log's first.
    pub before: Hash,
    /// The last block that fits.
    pub head: Head,
    /// The first event.
    pub first_event: u64,
    /// The last event; one less than the first where there is none.
    pub last_event: u64,
    /// How many events the journal holds that are older than the log; none: that is not said here.
    pub older_events: Option<u64>,
    /// How many segments begin in it.
    pub segments: u64,
    /// How many checkpoints were verified.
    pub checkpoints: u64,
    /// The keys that sign, the oldest first.
    pub keys: Vec<Signing>,
    /// The last block that a verified signature covers; 0: none.
    pub signed_through: u64,
    /// Blocks up to this one were taken out of the journal after they had been exported; 0: none were.
    pub removed_through: u64,
    /// Dispatches that have no end yet, the oldest first.
    pub open: Vec<OpenDispatch>,
    /// How many invocations have an ended attempt and no settlement: what is recorded as unknown.
    pub unsettled: u64,
}

impl Report {
    /// Whether nothing is wrong.
    #[must_use]
    pub const fn is_verified(&self) -> bool {
        self.findings.is_empty()
    }
}
