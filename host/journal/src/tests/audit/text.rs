//! An export in parts, as an attacker has it: everything can be rewritten but what a key is needed for.

use crate::audit::form::{self, BEGINNING, Body, Header, LENGTHS, LogId};
use crate::audit::note::{self, Also};
use ed25519_dalek::SigningKey;

pub(super) struct Parts {
    pub(super) blocks: Vec<Vec<u8>>,
    pub(super) end: Vec<u8>,
}

impl Parts {
    pub(super) fn of(export: &[u8]) -> Self {
        let mut rest = export.strip_prefix(BEGINNING).unwrap();
        let mut blocks = Vec::new();
        loop {
            let (header, payload) = form::lengths(*rest.first_chunk().unwrap());
            if header == 0 {
                return Self { blocks, end: rest.to_vec() };
            }
            let (block, after) = rest.split_at(LENGTHS + header + payload);
            blocks.push(block.to_vec());
            rest = after;
        }
    }

    pub(super) fn join(&self) -> Vec<u8> {
        [&BEGINNING[..], &self.blocks.concat(), &self.end].concat()
    }

    /// The header of a block, by its position.
    pub(super) fn header(&self, at: usize) -> Header {
        form::parts(&self.blocks[at]).unwrap().0
    }

    /// Changes what stands in the clear, and leaves the chain as it is.
    pub(super) fn change(&mut self, at: usize, change: impl FnOnce(&mut Header)) {
        let (mut header, _, payload) = form::parts(&self.blocks[at]).unwrap();
        change(&mut header);
        self.blocks[at] = [&header.encode(payload.len())[..], payload].concat();
    }

    /// Numbers and chains the blocks from this position on anew. With a key, checkpoints, changes of keys and the
    /// end are signed anew, too.
    pub(super) fn chain(&mut self, from: usize, key: Option<&SigningKey>) {
        let log = self.log();
        for at in from..self.blocks.len() {
            let before = at.checked_sub(1).map(|before| self.header(before).block);
            let hash = at.checked_sub(1).map(|before| form::hash(&self.blocks[before]));
            let (mut header, _, payload) = form::parts(&self.blocks[at]).unwrap();
            let (block, previous) =
                (before.map_or(header.block, |before| before + 1), hash.unwrap_or(header.previous));
            (header.block, header.previous) = (block, previous);
            let mut payload = payload.to_vec();
            if let Some(key) = key {
                header.key_id = note::key_id(log, key.verifying_key().as_bytes());
                let also = match &mut header.body {
                    Body::Segment { key: signs, .. } => {
                        *signs = key.verifying_key().to_bytes();
                        None
                    }
                    Body::Checkpoint => Some(Also::Nothing),
                    Body::Key { key } => Some(Also::Key(*key)),
                    Body::Events(_) | Body::Removed { .. } => None,
                };
                if let Some(also) = also {
                    payload = note::sign(log, &note::text(log, block - 1, &previous, also), &[key]);
                }
            }
            self.blocks[at] = [header.encode(payload.len()), payload].concat();
        }
        if let Some(key) = key {
            self.sign_end(key);
        }
    }

    /// Signs the end of the file.
    pub(super) fn sign_end(&mut self, key: &SigningKey) {
        let (log, first) = (self.log(), self.header(0).block);
        let last = self.blocks.last().unwrap();
        let block = form::parts(last).unwrap().0.block;
        let text = note::text(log, block, &form::hash(last), Also::ExportFrom(first));
        let note = note::sign(log, &text, &[key]);
        self.end = [&[0; 4][..], &u32::try_from(note.len()).unwrap().to_be_bytes(), &note].concat();
    }

    pub(super) fn log(&self) -> LogId {
        let Body::Segment { log, .. } = self.header(0).body else { panic!("no segment") };
        log
    }
}
