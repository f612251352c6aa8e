//! The keys that the journal is given.

use crate::audit::AuditKeys;
use crate::error::JournalError;
use crate::seal::random;
use crate::tables::WITH_AUDIT;
use chacha20poly1305::aead::Aead as _;
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use hmac::digest::FixedOutput as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use proofport_core::secret::Secret;
use sha2::Sha256;
use zeroize::{Zeroize as _, Zeroizing};

/// What the vault hands to the journal.
pub struct JournalKeys {
    /// Authenticates records, and encrypts what they say.
    pub event_mac: Zeroizing<[u8; 32]>,
    /// The age X25519 recipient to which bodies are sealed: `age1…`.
    pub seal_recipient: String,
    /// The identity that opens them; none while the vault is locked.
    pub seal_identity: Option<Secret>,
    /// The audit log's.
    pub audit: AuditKeys,
}

/// An authentication code.
pub(crate) type Code = [u8; 32];

/// The vault's key for records: HMAC-SHA256 under it, and a cipher under a key that is made of it.
#[derive(Clone)]
pub(crate) struct Authenticator {
    mac: Hmac<Sha256>,
    cipher: XChaCha20Poly1305,
}

/// How long a cipher's nonce is. It is random: an older copy of a home, put back, writes the same sequence
/// numbers again.
const NONCE: usize = 24;

impl Authenticator {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        // A key shorter than a block is taken padded with zeros (RFC 2104), so this can't fail.
        let mut block = hmac::digest::common::Key::<Hmac<Sha256>>::default();
        block[..key.len()].copy_from_slice(key);
        let mac = Hmac::<Sha256>::new(&block);
        block.as_mut_slice().zeroize();
        let mut of_cipher = Key::from(code(&mac, &[b"proofport.journal cipher of events"]));
        let cipher = XChaCha20Poly1305::new(&of_cipher);
        of_cipher.zeroize();
        Self { mac, cipher }
    }

    /// The code of these parts. Callers see to it that every part but the last has a fixed length.
    pub(crate) fn code(&self, parts: &[&[u8]]) -> Code {
        code(&self.mac, parts)
    }

    /// Nonce and ciphertext. Which record it belongs to is said by the record's code.
    pub(crate) fn encrypt(&self, plain: &[u8]) -> Result<Vec<u8>, JournalError> {
        let nonce = random::<NONCE>()?;
        let sealed = self.cipher.encrypt(&XNonce::from(*nonce), plain).map_err(|_| JournalError::TooLarge)?;
        Ok([&nonce[..], &sealed].concat())
    }

    /// None where it is not what was encrypted under this key.
    pub(crate) fn decrypt(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>()?;
        self.cipher.decrypt(&XNonce::from(*nonce), sealed).ok()
    }

    /// Proves which key this is without showing it, and, from the version on that has an audit log, of which
    /// version the journal is: whoever has no key can't have an upgrade begin the log anew. (The older versions
    /// share one code, which a copy from then shows; records that none of them wrote are refused, then.)
    pub(crate) fn key_check(&self, version: u64) -> Code {
        if version < WITH_AUDIT {
            return self.code(&[b"proofport.journal/1 key"]);
        }
        self.code(&[b"proofport.journal key and version", &version.to_be_bytes()])
    }
}

fn code(mac: &Hmac<Sha256>, parts: &[&[u8]]) -> Code {
    let mut mac = mac.clone();
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize_fixed().into()
}
