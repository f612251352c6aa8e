//! The keys of the audit log.

use super::form::{HOST, Tag};
use crate::error::JournalError;
use crate::keys::Authenticator;
use age::x25519::Recipient;
use ed25519_dalek::SigningKey;
use proofport_core::id::RequestId;
use zeroize::Zeroizing;

/// What the vault hands out for the audit log.
pub struct AuditKeys {
    /// Seeds of the Ed25519 keys that sign or signed, the oldest first. The last one signs; where the log
    /// was signed by an earlier one, that hands over to it with the next commit.
    pub seeds: Vec<Zeroizing<[u8; 32]>>,
    /// The operator's age X25519 recipient, `age1…`: whoever has its identity reads the log, and the host
    /// doesn't have it.
    pub recipient: String,
}

/// The keys that sign, ready for use.
pub(crate) struct Signers(Vec<SigningKey>);

impl Signers {
    /// The key that is to sign.
    pub(crate) fn newest(&self) -> Result<&SigningKey, JournalError> {
        self.0.last().ok_or(JournalError::NoAuditKey)
    }

    /// The key with this public half.
    pub(crate) fn of(&self, public: &[u8; 32]) -> Result<&SigningKey, JournalError> {
        let is = |key: &&SigningKey| key.verifying_key().as_bytes() == public;
        self.0.iter().find(is).ok_or(JournalError::NoAuditKey)
    }
}

/// The tag that stands for an invocation.
pub(crate) fn tag(authenticator: &Authenticator, invocation: Option<&RequestId>) -> Tag {
    let Some(invocation) = invocation else { return HOST };
    let code = authenticator.code(&[b"proofport.audit/1 tag", invocation.as_bytes()]);
    let mut tag = [0; 16];
    tag.copy_from_slice(&code[..16]);
    Tag(tag)
}

impl AuditKeys {
    pub(crate) fn signers(&self) -> Signers {
        Signers(self.seeds.iter().map(|seed| SigningKey::from_bytes(seed)).collect())
    }

    pub(crate) fn recipient(&self) -> Result<Recipient, JournalError> {
        self.recipient.parse().map_err(|_| JournalError::BadAuditRecipient)
    }
}
