//! Authenticated encryption: XChaCha20-Poly1305 with random nonces, `nonce || ciphertext || tag`.

use crate::error::VaultError;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

const NONCE: usize = 24;

/// Fills an array from the operating system.
pub(crate) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, VaultError> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(&mut *bytes).map_err(|_| VaultError::NoRandomness)?;
    Ok(bytes)
}

/// Seals `plain` so that it opens only under this key and with these associated data.
pub(crate) fn seal(key: &[u8; 32], plain: &[u8], aad: &[u8]) -> Result<Vec<u8>, VaultError> {
    let nonce = random::<NONCE>()?;
    let cipher = XChaCha20Poly1305::new(&Key::from(*key));
    let sealed =
        cipher.encrypt(&XNonce::from(*nonce), Payload { msg: plain, aad }).map_err(|_| VaultError::Full)?;
    Ok([&nonce[..], &sealed].concat())
}

/// Opens what [`seal`] made; none when it is anything else.
pub(crate) fn open(key: &[u8; 32], sealed: &[u8], aad: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE>()?;
    let cipher = XChaCha20Poly1305::new(&Key::from(*key));
    cipher.decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad }).ok().map(Zeroizing::new)
}
