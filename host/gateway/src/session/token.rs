//! The token that an agent shows over HTTP.

use proofport_core::digest::Digest;
use proofport_core::secret::Secret;
use zeroize::Zeroizing;

/// 256 random bits as text: `ppt_` and 52 lower-case letters and digits. It is shown once, where it is
/// made; what is kept is its digest.
pub struct Token(Secret);

/// The operating system gave no randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no randomness")]
pub struct NoRandomness;

impl Token {
    /// A new token.
    pub(crate) fn mint() -> Result<Self, NoRandomness> {
        random_text("ppt_").map(Self)
    }

    /// The text, for the one time that it is shown.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        self.0.expose()
    }

    pub(crate) fn digest(&self) -> Digest {
        digest(self.0.expose())
    }
}

/// What is kept of a token that was shown: nobody can compare digests with a token that he doesn't have, so
/// that a lookup by it tells nothing.
pub(crate) fn digest(shown: &[u8]) -> Digest {
    Digest::of_parts("proofport.token/1", &[shown])
}

/// 256 random bits as text behind a prefix.
pub(crate) fn random_text(prefix: &str) -> Result<Secret, NoRandomness> {
    let mut bytes = Zeroizing::new([0_u8; 32]);
    getrandom::fill(&mut *bytes).map_err(|_| NoRandomness)?;
    let mut text = Zeroizing::new(data_encoding::BASE32_NOPAD.encode(&*bytes));
    text.make_ascii_lowercase();
    Ok(Secret::new([prefix.as_bytes(), text.as_bytes()].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_random_and_known_by_its_digest() {
        let (one, other) = (Token::mint().unwrap(), Token::mint().unwrap());
        for token in [&one, &other] {
            let text = std::str::from_utf8(token.expose()).unwrap();
            assert_eq!((text.len(), &text[..4]), (56, "ppt_"));
            assert_eq!(digest(text.as_bytes()), token.digest());
        }
        assert_ne!(one.digest(), other.digest());
    }
}
