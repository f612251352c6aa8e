//! Stored contents, a chunk at a time.

use crate::operator_side::ask::{Ask, Desk};
use crate::operator_side::failure::Failure;
use crate::operator_side::wire::Base64;
use proofport_core::content::ContentFacts;
use proofport_core::digest::Digest;
use proofport_core::id::RequestId;
use serde::{Deserialize, Serialize};

/// One chunk of the content that was stored beside a result.
#[derive(Serialize, Deserialize)]
pub struct ContentChunk {
    /// Of which call.
    pub id: RequestId,
    /// The content as its answer names it.
    pub facts: ContentFacts,
    /// Which chunk, counted from 0.
    pub number: u32,
}

/// A chunk; none where the content is not there any more.
#[derive(Serialize, Deserialize)]
pub struct Chunk {
    /// Its digest as it is on record; none beyond the last.
    pub digest: Option<Digest>,
    /// Its bytes.
    pub bytes: Base64,
}

impl Ask for ContentChunk {
    const PATH: &'static str = "/v1/content";
    type Answer = Option<Chunk>;

    async fn carry_out(self, desk: &Desk) -> Result<Option<Chunk>, Failure> {
        let Self { id, facts, number } = self;
        let Some(content) = desk.host().content(&id, &facts)? else { return Ok(None) };
        let bytes = Base64(content.chunk(number)?.to_vec());
        Ok(Some(Chunk { digest: content.chunk_digest(number), bytes }))
    }
}
