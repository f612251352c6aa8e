//! One record: a batch with its place, as it is authenticated and stored.
//!
//! Layout, integers big-endian: the predecessor's code (32), this record's code (32), then what is
//! authenticated: last sequence number (8), first sequence number of the same invocation's previous
//! record or 0 (8), time (8), latest time up to here (8), 0 or 1 (1) and the invocation's id (16), and
//! the payload: 1 (1), a nonce (24) and its JSON as it is encrypted, so that the file shows nobody where a
//! call went and what went wrong. Versions before the fifth stored the JSON itself, whose first byte is not 1.

use crate::batch::{Batch, BodyKind, Recorded};
use crate::error::JournalError;
use crate::keys::{Authenticator, Code};
use proofport_core::digest::Digest;
use proofport_core::event::Event;
use proofport_core::failures::Mark;
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use subtle::ConstantTimeEq as _;

/// The first byte of an encrypted payload.
const ENCRYPTED: u8 = 1;

const LABEL: &[u8; 26] = b"proofport.journal/1 record";

/// What the first record has for a predecessor's code.
pub(crate) const BEFORE_ALL: Code = [0; 32];

/// Where a record stands.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) first_seq: u64,
    pub(crate) last_seq: u64,
    /// The previous record of the same invocation; 0 where this is its first.
    pub(crate) previous: u64,
    pub(crate) at: UnixMillis,
    /// The latest time that any record up to this one has.
    pub(crate) high_water: UnixMillis,
    pub(crate) invocation: Option<RequestId>,
}

/// A body that a record vouches for.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BodyMark {
    pub(crate) kind: BodyKind,
    /// Of the sealed bytes.
    pub(crate) digest: Digest,
}

#[derive(Serialize)]
struct PayloadRef<'a> {
    events: &'a [Event],
    bodies: &'a [BodyMark],
    intents: &'a [(Digest, RequestId)],
    open: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tally: Option<(Digest, Mark)>,
}

/// What a record says, beside its place.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Payload {
    pub(crate) events: Vec<Event>,
    pub(crate) bodies: Vec<BodyMark>,
    pub(crate) intents: Vec<(Digest, RequestId)>,
    pub(crate) open: Option<bool>,
    #[serde(default)]
    pub(crate) tally: Option<(Digest, Mark)>,
}

/// What a batch says, in JSON.
pub(crate) fn encode_payload(batch: &Batch, bodies: &[BodyMark]) -> Result<Vec<u8>, JournalError> {
    let Batch { events, intents, open, tally, .. } = batch;
    let payload = PayloadRef { events, bodies, intents, open: *open, tally: *tally };
    serde_json::to_vec(&payload).map_err(|_| JournalError::Encoding)
}

/// The payload's bytes as they are stored. They need no place, so that callers make them on their own threads.
pub(crate) fn encrypt_payload(authenticator: &Authenticator, json: &[u8]) -> Result<Vec<u8>, JournalError> {
    Ok([&[ENCRYPTED][..], &authenticator.encrypt(json)?].concat())
}

/// The stored bytes, and the code that the next record is chained to.
pub(crate) fn encode(
    authenticator: &Authenticator,
    place: &Place,
    predecessor: &Code,
    payload: &[u8],
) -> (Vec<u8>, Code) {
    let mut bytes = Vec::with_capacity(113 + payload.len());
    bytes.extend_from_slice(predecessor);
    bytes.extend_from_slice(&[0; 32]);
    bytes.extend_from_slice(&place.last_seq.to_be_bytes());
    bytes.extend_from_slice(&place.previous.to_be_bytes());
    bytes.extend_from_slice(&place.at.0.to_be_bytes());
    bytes.extend_from_slice(&place.high_water.0.to_be_bytes());
    bytes.push(u8::from(place.invocation.is_some()));
    bytes.extend_from_slice(place.invocation.as_ref().map_or(&[0; 16], |id| id.as_bytes()));
    bytes.extend_from_slice(payload);
    let code = code(authenticator, place.first_seq, predecessor, &bytes[64..]);
    bytes[32..64].copy_from_slice(&code);
    (bytes, code)
}

fn code(authenticator: &Authenticator, first_seq: u64, predecessor: &Code, rest: &[u8]) -> Code {
    authenticator.code(&[LABEL, &first_seq.to_be_bytes(), predecessor, rest])
}

/// A stored record whose code was checked.
pub(crate) struct Record<'a> {
    pub(crate) place: Place,
    pub(crate) predecessor: Code,
    pub(crate) code: Code,
    authenticator: &'a Authenticator,
    payload: &'a [u8],
}

impl<'a> Record<'a> {
    /// Checks the code before anything of the record is believed.
    pub(crate) fn verified(
        authenticator: &'a Authenticator,
        first_seq: u64,
        bytes: &'a [u8],
    ) -> Result<Self, JournalError> {
        Self::read(authenticator, first_seq, bytes).ok_or(JournalError::Tampered { seq: first_seq })
    }

    fn read(authenticator: &'a Authenticator, first_seq: u64, bytes: &'a [u8]) -> Option<Self> {
        let (predecessor, rest) = bytes.split_first_chunk::<32>()?;
        let (stored, rest) = rest.split_first_chunk::<32>()?;
        let expected = code(authenticator, first_seq, predecessor, rest);
        if !bool::from(expected.ct_eq(stored)) {
            return None;
        }
        let (last_seq, rest) = rest.split_first_chunk::<8>()?;
        let (previous, rest) = rest.split_first_chunk::<8>()?;
        let (at, rest) = rest.split_first_chunk::<8>()?;
        let (high_water, rest) = rest.split_first_chunk::<8>()?;
        let (has_invocation, rest) = rest.split_first()?;
        let (invocation, payload) = rest.split_first_chunk::<16>()?;
        let place = Place {
            first_seq,
            last_seq: u64::from_be_bytes(*last_seq),
            previous: u64::from_be_bytes(*previous),
            at: UnixMillis(u64::from_be_bytes(*at)),
            high_water: UnixMillis(u64::from_be_bytes(*high_water)),
            invocation: (*has_invocation == 1).then(|| RequestId::from_random(*invocation)),
        };
        Some(Self { place, predecessor: *predecessor, code: expected, authenticator, payload })
    }

    /// Whether what it says is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.payload.first() == Some(&ENCRYPTED)
    }

    /// What it says.
    pub(crate) fn payload(&self) -> Result<Payload, JournalError> {
        serde_json::from_slice(&self.json()?)
            .map_err(|_| JournalError::Tampered { seq: self.place.first_seq })
    }

    /// The same, as JSON.
    pub(crate) fn json(&self) -> Result<Cow<'a, [u8]>, JournalError> {
        match self.payload.split_first() {
            Some((&ENCRYPTED, sealed)) => {
                let plain = self.authenticator.decrypt(sealed);
                plain.map(Cow::Owned).ok_or(JournalError::Tampered { seq: self.place.first_seq })
            }
            Some(_) | None => Ok(Cow::Borrowed(self.payload)),
        }
    }

    /// Its events with their sequence numbers.
    pub(crate) fn recorded(&self) -> Result<Vec<Recorded>, JournalError> {
        let Place { first_seq, at, .. } = self.place;
        let events = self.payload()?.events;
        Ok((first_seq..).zip(events).map(|(seq, event)| Recorded { seq, at, event }).collect())
    }
}
