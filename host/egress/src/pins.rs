//! Certificates that a connection expects, beside a chain that is believed.

use proofport_core::digest::Digest;
use std::collections::BTreeSet;

/// SHA-256 digests of end-entity certificates (DER), each written as `sha256:` and 64 hexadecimal
/// digits. None: any certificate that verifies will do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins(BTreeSet<Digest>);

impl Pins {
    /// No pin.
    #[must_use]
    pub const fn none() -> Self {
        Self(BTreeSet::new())
    }

    /// Whether nothing is pinned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a peer with this certificate is the one that is expected.
    ///
    /// # Errors
    /// When there are pins and this is none of them.
    pub fn check(&self, certificate: &Digest) -> Result<(), PinMismatch> {
        if self.is_empty() || self.0.contains(certificate) { Ok(()) } else { Err(PinMismatch) }
    }
}

impl FromIterator<Digest> for Pins {
    fn from_iter<I: IntoIterator<Item = Digest>>(digests: I) -> Self {
        Self(digests.into_iter().collect())
    }
}

/// The peer's certificate verifies and is none of those that are pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the peer's certificate is not one of those that are pinned")]
pub struct PinMismatch;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pins: &[&str], certificate: &[u8], expected: Result<(), PinMismatch>) {
        let pins: Pins = pins.iter().map(|pin| Digest::parse(pin).unwrap()).collect();
        assert_eq!(pins.check(&Digest::of_bytes(certificate)), expected);
    }

    #[test]
    fn only_pinned_certificates_pass_where_there_are_pins() {
        let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        check(&[], b"anything", Ok(()));
        check(&[abc], b"abc", Ok(()));
        check(&[empty, abc], b"abc", Ok(()));
        check(&[abc], b"abd", Err(PinMismatch));
        check(&[empty], b"abc", Err(PinMismatch));
        assert!(Pins::none().is_empty() && Pins::none().check(&Digest::of_bytes(b"abc")).is_ok());
    }
}
