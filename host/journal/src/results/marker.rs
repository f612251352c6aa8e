//! The marker of a complete content.
//!
//! Layout, integers big-endian: a label (20), the length of the wrapped key (2), the epoch's key as it is
//! wrapped to the vault's recipient, the sealed facts, and a code over all of this and the invocation
//! under the key that authenticates records (32). Anybody can wrap a key to a recipient; the code says
//! that it was this host.
//!
//! The facts: bytes (8), size of a chunk (4), number of chunks (4), digest of the whole (32), digest of
//! each chunk (32 each), all of plain bytes.

use super::{ContentFacts, MOST_CHUNKS};
use crate::error::JournalError;
use crate::keys::Authenticator;
use crate::seal::{Opener, Sealer, Slot};
use proofport_core::digest::Digest;
use proofport_core::id::RequestId;
use subtle::ConstantTimeEq as _;

const LABEL: &[u8; 20] = b"proofport.content/1\n";
const CODE_LABEL: &[u8; 27] = b"proofport.journal/1 content";

/// No marker is longer. The wrapped key takes some hundred bytes.
pub(super) const LARGEST: u64 = MOST_CHUNKS as u64 * 32 + 64 * 1024;

/// What a marker says.
pub(super) struct Marker {
    pub(super) facts: ContentFacts,
    /// Of each chunk's plain bytes.
    pub(super) digests: Vec<Digest>,
    /// The key of every chunk, wrapped.
    pub(super) wrapped: Vec<u8>,
}

pub(super) fn encode(
    authenticator: &Authenticator,
    sealer: &Sealer,
    id: &RequestId,
    facts: &ContentFacts,
    digests: &[Digest],
) -> Result<Vec<u8>, JournalError> {
    let mut plain = Vec::with_capacity(48 + digests.len() * 32);
    plain.extend(facts.bytes.to_be_bytes());
    plain.extend(facts.chunk_bytes.to_be_bytes());
    plain.extend(facts.chunks.to_be_bytes());
    plain.extend(facts.digest.as_bytes());
    digests.iter().for_each(|digest| plain.extend(digest.as_bytes()));
    let sealed = sealer.seal(Slot::Marker(id), &plain)?;
    let length = u16::try_from(sealer.wrapped.len()).map_err(|_| JournalError::Encoding)?;
    let mut bytes = [&LABEL[..], &length.to_be_bytes(), &sealer.wrapped, &sealed].concat();
    let code = authenticator.code(&[CODE_LABEL, id.as_bytes(), &bytes]);
    bytes.extend(code);
    Ok(bytes)
}

/// None when it is not what was stored.
pub(super) fn decode(
    authenticator: &Authenticator,
    opener: &Opener,
    id: &RequestId,
    bytes: &[u8],
) -> Result<Option<Marker>, JournalError> {
    let Some((authenticated, code)) = bytes.split_last_chunk::<32>() else { return Ok(None) };
    let ours = authenticator.code(&[CODE_LABEL, id.as_bytes(), authenticated]);
    if !bool::from(ours.ct_eq(code)) {
        return Ok(None);
    }
    let Some((wrapped, sealed)) = authenticated.strip_prefix(LABEL).and_then(split_key) else {
        return Ok(None);
    };
    let plain = opener.open(Slot::Marker(id), sealed, |_| Ok(Some(wrapped.to_vec())))?;
    let Some((facts, digests)) = plain.as_ref().and_then(|plain| read(plain)) else { return Ok(None) };
    Ok(Some(Marker { facts, digests, wrapped: wrapped.to_vec() }))
}

/// The wrapped key, and the rest.
fn split_key(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

fn read(plain: &[u8]) -> Option<(ContentFacts, Vec<Digest>)> {
    let (bytes, rest) = plain.split_first_chunk::<8>()?;
    let (chunk_bytes, rest) = rest.split_first_chunk::<4>()?;
    let (chunks, rest) = rest.split_first_chunk::<4>()?;
    let (digest, rest) = rest.split_first_chunk::<32>()?;
    let facts = ContentFacts {
        bytes: u64::from_be_bytes(*bytes),
        digest: Digest::from_bytes(*digest),
        chunks: u32::from_be_bytes(*chunks),
        chunk_bytes: u32::from_be_bytes(*chunk_bytes),
    };
    let (digests, rest) = rest.as_chunks::<32>();
    let digests: Vec<_> = digests.iter().copied().map(Digest::from_bytes).collect();
    let agrees = rest.is_empty()
        && facts.chunk_bytes > 0
        && facts.bytes.div_ceil(u64::from(facts.chunk_bytes)) == u64::from(facts.chunks)
        && digests.len() as u64 == u64::from(facts.chunks);
    agrees.then_some((facts, digests))
}
