//! Bodies and contents at rest: encrypted under a random key of this process (an epoch), which is
//! wrapped once to the vault's recipient. Whoever has only the files, or only a locked host, can't read
//! one.
//!
//! What is sealed is the epoch (8 bytes, big-endian), a random nonce (24), and the ciphertext.

use crate::batch::BodyKind;
use crate::error::JournalError;
use age::x25519::{Identity, Recipient};
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use proofport_core::digest::Digest;
use proofport_core::id::RequestId;
use proofport_core::secret::Secret;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use zeroize::Zeroizing;

type EpochKey = Zeroizing<[u8; 32]>;

pub(crate) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, JournalError> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(&mut *bytes).map_err(|_| JournalError::NoRandomness)?;
    Ok(bytes)
}

/// What sealed bytes are, and of which invocation. They open only as what they were stored as.
#[derive(Clone, Copy)]
pub(crate) enum Slot<'a> {
    /// A body in the journal. Its record vouches for its place in the sequence.
    Body(&'a RequestId, BodyKind),
    /// A chunk of a content, by its number.
    Chunk(&'a RequestId, u32),
    /// What a complete content is made up of.
    Marker(&'a RequestId),
}

impl Slot<'_> {
    /// The associated data.
    fn place(self, epoch: u64) -> Digest {
        let epoch = &epoch.to_be_bytes();
        match self {
            Self::Body(invocation, kind) => {
                let parts: [&[u8]; 3] = [epoch, invocation.as_bytes(), kind.as_str().as_bytes()];
                Digest::of_parts("proofport.journal.body/1", &parts)
            }
            Self::Chunk(invocation, number) => {
                let parts: [&[u8]; 4] = [epoch, invocation.as_bytes(), b"chunk", &number.to_be_bytes()];
                Digest::of_parts("proofport.journal.content/1", &parts)
            }
            Self::Marker(invocation) => {
                let parts: [&[u8]; 3] = [epoch, invocation.as_bytes(), b"complete"];
                Digest::of_parts("proofport.journal.content/1", &parts)
            }
        }
    }
}

/// By how much sealed bytes are longer than plain ones.
pub(crate) const OVERHEAD: usize = 8 + 24 + 16;

/// The write half: this process's epoch.
pub(crate) struct Sealer {
    pub(crate) epoch: u64,
    /// The key for the recipient's eyes. It is stored with the first body, and with every content.
    pub(crate) wrapped: Vec<u8>,
    cipher: XChaCha20Poly1305,
}

impl Sealer {
    pub(crate) fn new(epoch: u64, recipient: &str) -> Result<Self, JournalError> {
        let recipient: Recipient = recipient.parse().map_err(|_| JournalError::BadRecipient)?;
        let key: EpochKey = random()?;
        let wrapped = age::encrypt(&recipient, &*key).map_err(|_| JournalError::BadRecipient)?;
        Ok(Self { epoch, wrapped, cipher: XChaCha20Poly1305::new(&Key::from(*key)) })
    }

    pub(crate) fn seal(&self, slot: Slot<'_>, plain: &[u8]) -> Result<Vec<u8>, JournalError> {
        let nonce = random::<24>()?;
        let aad = slot.place(self.epoch);
        let payload = Payload { msg: plain, aad: aad.as_bytes() };
        let sealed =
            self.cipher.encrypt(&XNonce::from(*nonce), payload).map_err(|_| JournalError::TooLarge)?;
        Ok([&self.epoch.to_be_bytes()[..], &nonce[..], &sealed].concat())
    }
}

/// The read half: the identity, and the keys that it unwrapped. Empty while the vault is locked.
pub(crate) struct Opener(Mutex<Option<Open>>);

struct Open {
    identity: Identity,
    /// By the digest of the wrapped key. An epoch's number does not name one key: a process that stored
    /// contents and no body leaves its number to the next.
    keys: HashMap<Digest, EpochKey>,
}

impl Opener {
    pub(crate) fn new(identity: Option<&Secret>) -> Result<Self, JournalError> {
        let opener = Self(Mutex::new(None));
        opener.replace(identity)?;
        Ok(opener)
    }

    /// Takes another identity, or none, and forgets every unwrapped key.
    pub(crate) fn replace(&self, identity: Option<&Secret>) -> Result<(), JournalError> {
        let open = match identity {
            None => None,
            Some(identity) => {
                let text = std::str::from_utf8(identity.expose()).map_err(|_| JournalError::BadIdentity)?;
                let identity = text.parse().map_err(|_| JournalError::BadIdentity)?;
                Some(Open { identity, keys: HashMap::new() })
            }
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = open;
        Ok(())
    }

    pub(crate) fn is_locked(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Opens what is sealed. `wrapped` finds an epoch's wrapped key. None when it is not what was stored
    /// in this slot.
    pub(crate) fn open(
        &self,
        slot: Slot<'_>,
        sealed: &[u8],
        wrapped: impl FnOnce(u64) -> Result<Option<Vec<u8>>, JournalError>,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, JournalError> {
        let Some((epoch, rest)) = sealed.split_first_chunk::<8>() else { return Ok(None) };
        let Some((nonce, sealed)) = rest.split_first_chunk::<24>() else { return Ok(None) };
        let epoch = u64::from_be_bytes(*epoch);
        let Some(key) = self.key(|| wrapped(epoch))? else { return Ok(None) };
        let aad = slot.place(epoch);
        let payload = Payload { msg: sealed, aad: aad.as_bytes() };
        let plain = XChaCha20Poly1305::new(&Key::from(*key)).decrypt(&XNonce::from(*nonce), payload);
        Ok(plain.ok().map(Zeroizing::new))
    }

    fn key(
        &self,
        wrapped: impl FnOnce() -> Result<Option<Vec<u8>>, JournalError>,
    ) -> Result<Option<EpochKey>, JournalError> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.as_mut().ok_or(JournalError::BodiesLocked)?;
        let Some(wrapped) = wrapped()? else { return Ok(None) };
        let name = Digest::of_bytes(&wrapped);
        if let Some(key) = open.keys.get(&name) {
            return Ok(Some(key.clone()));
        }
        let plain = age::decrypt(&open.identity, &wrapped)
            .map(Zeroizing::new)
            .map_err(|_| JournalError::OtherRecipient)?;
        let Ok(key) = plain.as_slice().try_into().map(Zeroizing::new) else { return Ok(None) };
        open.keys.insert(name, EpochKey::clone(&key));
        Ok(Some(key))
    }
}
