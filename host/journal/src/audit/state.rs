//! Where the log stands, as the journal keeps it: authenticated under the vault's key together with the last
//! record, so that neither of the two can be set back alone.

use super::form::{BEFORE_ALL, Hash, LogId};
use crate::keys::{Authenticator, Code};
use subtle::ConstantTimeEq as _;

const LABEL: &[u8; 30] = b"proofport.journal/1 audit head";
const LENGTH: usize = 8 + 32 + 8 + 8 + 4 + 16 + 32;

/// Where the log stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// The last block; 0: the log has not begun.
    pub(crate) block: u64,
    /// Its hash.
    pub(crate) hash: Hash,
    /// The first block that the journal still holds.
    pub(crate) first: u64,
    pub(crate) segment: u64,
    /// How many blocks no signature covers yet.
    pub(crate) unsigned: u32,
    pub(crate) log: LogId,
    /// The key that signs.
    pub(crate) key: [u8; 32],
}

impl State {
    /// Before the first block.
    pub(crate) const NOTHING: Self = Self {
        block: 0,
        hash: BEFORE_ALL,
        first: 1,
        segment: 0,
        unsigned: 0,
        log: LogId([0; 16]),
        key: [0; 32],
    };

    /// The bytes, with the code over them and over the last record's.
    pub(crate) fn encode(&self, authenticator: &Authenticator, record: &Code) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LENGTH + 32);
        bytes.extend_from_slice(&self.block.to_be_bytes());
        bytes.extend_from_slice(&self.hash);
        bytes.extend_from_slice(&self.first.to_be_bytes());
        bytes.extend_from_slice(&self.segment.to_be_bytes());
        bytes.extend_from_slice(&self.unsigned.to_be_bytes());
        bytes.extend_from_slice(&self.log.0);
        bytes.extend_from_slice(&self.key);
        let code = authenticator.code(&[LABEL, record, &bytes]);
        bytes.extend_from_slice(&code);
        bytes
    }

    /// What the bytes say; none where the code is not theirs.
    pub(crate) fn decode(bytes: &[u8], authenticator: &Authenticator, record: &Code) -> Option<Self> {
        let (bytes, code) = bytes.split_at_checked(LENGTH)?;
        let ours = authenticator.code(&[LABEL, record, bytes]);
        if !bool::from(ours.ct_eq(code)) {
            return None;
        }
        let (block, rest) = bytes.split_first_chunk()?;
        let (hash, rest) = rest.split_first_chunk()?;
        let (first, rest) = rest.split_first_chunk()?;
        let (segment, rest) = rest.split_first_chunk()?;
        let (unsigned, rest) = rest.split_first_chunk()?;
        let (log, rest) = rest.split_first_chunk()?;
        Some(Self {
            block: u64::from_be_bytes(*block),
            hash: *hash,
            first: u64::from_be_bytes(*first),
            segment: u64::from_be_bytes(*segment),
            unsigned: u32::from_be_bytes(*unsigned),
            log: LogId(*log),
            key: rest.try_into().ok()?,
        })
    }
}
