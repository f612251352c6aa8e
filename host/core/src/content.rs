//! Stored contents: what an answer brought that is too large to be shown, kept in numbered chunks.

use crate::digest::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stored content and how it is cut. Chunks are numbered from 0; every one but the last is
/// `chunk_bytes` long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ContentFacts {
    /// How long it is, in bytes.
    pub bytes: u64,
    /// SHA-256 of the whole.
    #[schemars(with = "String")]
    pub digest: Digest,
    /// How many chunks it is kept in.
    pub chunks: u32,
    /// How long a chunk is, in bytes.
    pub chunk_bytes: u32,
}

impl ContentFacts {
    /// The length of this chunk in bytes; none where there is no such chunk, or where chunks of this
    /// length and number can't make up the content.
    #[must_use]
    pub const fn chunk_length(&self, chunk: u32) -> Option<u64> {
        let Some(last) = self.chunks.checked_sub(1) else { return None };
        if chunk > last {
            return None;
        }
        // Neither can overflow: both factors have 32 bits.
        let before_last = last as u64 * self.chunk_bytes as u64;
        match self.bytes.checked_sub(before_last) {
            Some(rest) if rest > self.chunk_bytes as u64 => None,
            Some(rest) if chunk == last => Some(rest),
            Some(_) => Some(self.chunk_bytes as u64),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_make_up_the_content() {
        let check = |bytes: u64, chunks: u32, chunk_bytes: u32, expected: &[Option<u64>]| {
            let facts = ContentFacts { bytes, digest: Digest::of_bytes(b""), chunks, chunk_bytes };
            let got: Vec<_> = (0..).take(expected.len()).map(|chunk| facts.chunk_length(chunk)).collect();
            assert_eq!(got, expected, "{facts:?}");
        };
        check(10, 3, 4, &[Some(4), Some(4), Some(2), None]);
        check(8, 2, 4, &[Some(4), Some(4), None]);
        check(0, 0, 4, &[None]);
        check(0, 1, 4, &[Some(0), None]);
        // Too short or too long for so many chunks.
        check(3, 2, 4, &[None, None]);
        check(9, 2, 4, &[None, None]);
        let most = u32::MAX;
        check(u64::from(most) * u64::from(most), most, most, &[Some(u64::from(most))]);
    }
}
