//! Signed notes (C2SP signed-note), and the checkpoints in them (C2SP tlog-checkpoint in form: the log's
//! name, how many blocks there are, and the hash of the last one).

use super::form::{Hash, LogId};
use data_encoding::{BASE64, HEXLOWER};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// What a signature is: Ed25519.
const ED25519: u8 = 1;
/// How a signature's line begins.
const DASH: &str = "\u{2014} ";

/// The four bytes that name a key: the start of SHA-256 of its name, a newline, 1 and the public key.
pub(crate) fn key_id(log: LogId, key: &[u8; 32]) -> [u8; 4] {
    let hash = Sha256::new()
        .chain_update(log.key_name())
        .chain_update([b'\n', ED25519])
        .chain_update(key)
        .finalize();
    let mut id = [0; 4];
    id.copy_from_slice(&hash[..4]);
    id
}

/// A public key in the form that verifiers of notes take: `NAME+ID+BASE64`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PublicKey {
    pub(crate) log: LogId,
    pub(crate) bytes: [u8; 32],
}

impl PublicKey {
    /// Reads the form.
    ///
    /// # Errors
    /// When the text is no Ed25519 key of an audit log.
    pub fn parse(text: &str) -> Result<Self, InvalidKey> {
        let mut parts = text.splitn(3, '+');
        let name = parts.next().and_then(|name| name.strip_prefix("proofport.audit/")).ok_or(InvalidKey)?;
        let log = HEXLOWER.decode(name.as_bytes()).ok().and_then(|id| id.try_into().ok());
        let log = LogId(log.ok_or(InvalidKey)?);
        let id = parts.next().ok_or(InvalidKey)?;
        let key = parts.next().and_then(|key| BASE64.decode(key.as_bytes()).ok()).ok_or(InvalidKey)?;
        let (kind, bytes) = key.split_first().ok_or(InvalidKey)?;
        let bytes = <[u8; 32]>::try_from(bytes).map_err(|_| InvalidKey)?;
        let fits = *kind == ED25519 && HEXLOWER.encode(&key_id(log, &bytes)) == id;
        if fits { Ok(Self { log, bytes }) } else { Err(InvalidKey) }
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for PublicKey {
    type Error = InvalidKey;

    fn try_from(text: String) -> Result<Self, InvalidKey> {
        Self::parse(&text)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = HEXLOWER.encode(&key_id(self.log, &self.bytes));
        let key = BASE64.encode(&[&[ED25519][..], &self.bytes].concat());
        write!(f, "{}+{id}+{key}", self.log.key_name())
    }
}

/// The text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a public key of an audit log: it is proofport.audit/…+…+…, as `audit verify` prints it")]
pub struct InvalidKey;

/// What a note says beside the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Also {
    /// Nothing: a checkpoint.
    Nothing,
    /// Another key signs from here on.
    Key([u8; 32]),
    /// An exported file ends here, and it begins with this block.
    ExportFrom(u64),
}

/// The text of a note.
pub(crate) fn text(log: LogId, block: u64, hash: &Hash, also: Also) -> String {
    let also = match also {
        Also::Nothing => String::new(),
        Also::Key(bytes) => format!("key {}\n", PublicKey { log, bytes }),
        Also::ExportFrom(block) => format!("export from block {block}\n"),
    };
    format!("{}\n{block}\n{}\n{also}", log.key_name(), BASE64.encode(hash))
}

/// The text, signed by these keys.
pub(crate) fn sign(log: LogId, text: &str, keys: &[&SigningKey]) -> Vec<u8> {
    let mut note = format!("{text}\n");
    for key in keys {
        let id = key_id(log, key.verifying_key().as_bytes());
        let signature = key.sign(text.as_bytes()).to_bytes();
        let line = BASE64.encode(&[&id[..], &signature].concat());
        note.push_str(&format!("{DASH}{} {line}\n", log.key_name()));
    }
    note.into_bytes()
}

/// Whether this note is exactly this text and the signatures of these keys, in this order. Other notes can
/// be valid, but a host writes no other.
pub(crate) fn is_signed(note: &[u8], log: LogId, text: &str, keys: &[&[u8; 32]]) -> bool {
    let Some(mut rest) = note.strip_prefix(text.as_bytes()).and_then(|rest| rest.strip_prefix(b"\n")) else {
        return false;
    };
    let beginning = format!("{DASH}{} ", log.key_name());
    for key in keys {
        let line = rest.iter().position(|byte| *byte == b'\n').and_then(|end| rest.split_at_checked(end));
        let Some((line, after)) = line else { return false };
        rest = after.get(1..).unwrap_or_default();
        let signature = line.strip_prefix(beginning.as_bytes()).and_then(|line| BASE64.decode(line).ok());
        let signature = signature.and_then(|bytes| {
            let signature = bytes.strip_prefix(&key_id(log, key))?;
            Signature::from_slice(signature).ok()
        });
        let verified = signature.zip(VerifyingKey::from_bytes(key).ok()).is_some_and(|(signature, key)| {
            // Strict: only one form of a signature verifies.
            key.verify_strict(text.as_bytes(), &signature).is_ok()
        });
        if !verified {
            return false;
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: LogId = LogId([1; 16]);

    #[test]
    fn every_flipped_bit_of_a_note_is_seen() {
        let (one, other) = (SigningKey::from_bytes(&[1; 32]), SigningKey::from_bytes(&[2; 32]));
        let keys = [one.verifying_key().to_bytes(), other.verifying_key().to_bytes()];
        let text = text(LOG, 7, &[9; 32], Also::Key(keys[1]));
        let note = sign(LOG, &text, &[&one, &other]);
        let check = |note: &[u8], keys: &[&[u8; 32]], expected: bool| {
            assert_eq!(is_signed(note, LOG, &text, keys), expected);
        };
        check(&note, &[&keys[0], &keys[1]], true);
        check(&note, &[&keys[1], &keys[0]], false);
        check(&note, &[&keys[0]], false);
        check(&sign(LOG, &text, &[&one]), &[&keys[0], &keys[1]], false);
        for at in 0..note.len() {
            for bit in 0..8 {
                let mut note = note.clone();
                note[at] ^= 1 << bit;
                check(&note, &[&keys[0], &keys[1]], false);
            }
            check(&note[..at], &[&keys[0], &keys[1]], false);
        }
    }

    #[test]
    fn keys_are_read_as_they_are_written() {
        let key = PublicKey { log: LOG, bytes: SigningKey::from_bytes(&[1; 32]).verifying_key().to_bytes() };
        assert_eq!(PublicKey::parse(&key.to_string()).unwrap(), key);
        for text in ["", "x", "proofport.audit/00+00+00", &key.to_string().replace('+', "-")] {
            assert!(PublicKey::parse(text).is_err(), "{text}");
        }
    }
}
