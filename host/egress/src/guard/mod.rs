//! The leak guard: recognises injected secrets in what a remote sent, in every listed shape.
//!
//! An exact hit is replaced by [`MARKER`] and counted. A hit in any other shape, or of a long piece
//! of the secret, withholds the whole text: a shape can't be masked without knowing where the next
//! one begins. Only injected values count; text that merely looks like a key passes untouched.
//!
//! Pure: bytes in, bytes out. The patterns live in the matcher's own memory, which is freed and not
//! zeroised.

mod shapes;
mod stream;
mod unfold;
mod views;

use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::noncontiguous::NFA;
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use proofport_core::secret::Secret;

pub use stream::{GuardStream, Withheld};

/// What stands in place of an exact hit.
pub const MARKER: &str = "[masked by proofport]";

/// What a diagnostic text becomes when a secret may be in it in another shape.
const WITHHELD: &str = "[withheld by proofport]";

/// Recognises the secrets of one credential. It has no `Debug`: it holds them.
pub struct Guard {
    matchers: Option<Matchers>,
}

struct Matchers {
    /// The secrets themselves, byte for byte.
    exact: AhoCorasick,
    /// Every shape of their long pieces, whatever the case of ASCII letters.
    any: NFA,
}

/// A text after the guard.
pub struct Scan {
    /// The text with exact hits masked; none: it is withheld.
    pub bytes: Option<Vec<u8>>,
    /// How many exact hits there were.
    pub hits: u32,
}

impl Guard {
    /// A guard for an exchange without a credential: everything passes.
    #[must_use]
    pub const fn none() -> Self {
        Self { matchers: None }
    }

    /// A guard for these secrets. Empty ones are ignored: they are everywhere.
    ///
    /// # Errors
    /// When the secrets are too large for the matcher, that is, gigabytes.
    pub fn new(secrets: &[&Secret]) -> Result<Self, TooManyShapes> {
        let secrets: Vec<&[u8]> = secrets.iter().map(|s| s.expose()).filter(|s| !s.is_empty()).collect();
        if secrets.is_empty() {
            return Ok(Self::none());
        }
        let any = NFA::builder()
            .ascii_case_insensitive(true)
            .build(shapes::all(&secrets))
            .map_err(|_| TooManyShapes)?;
        let exact = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::NoncontiguousNFA))
            .match_kind(MatchKind::LeftmostLongest)
            .build(&secrets)
            .map_err(|_| TooManyShapes)?;
        Ok(Self { matchers: Some(Matchers { exact, any }) })
    }

    /// Whether there is anything to look for.
    #[must_use]
    pub const fn is_armed(&self) -> bool {
        self.matchers.is_some()
    }

    /// Masks exact hits and withholds the text if anything else is found in it.
    #[must_use]
    pub fn scan(&self, bytes: Vec<u8>) -> Scan {
        let Some(matchers) = &self.matchers else {
            return Scan { bytes: Some(bytes), hits: 0 };
        };
        let (bytes, hits) = matchers.mask(bytes);
        let clean = self.is_clean(&bytes);
        Scan { bytes: clean.then_some(bytes), hits }
    }

    /// Whether no secret is in these bytes, in any shape.
    #[must_use]
    pub fn is_clean(&self, bytes: &[u8]) -> bool {
        self.matchers
            .as_ref()
            .is_none_or(|matchers| !unfold::any_view(bytes, |view| matchers.has_shape(view)))
    }

    /// A diagnostic text without secrets.
    #[must_use]
    pub fn scrub(&self, text: &str) -> String {
        match self.scan(text.as_bytes().to_vec()).bytes.map(String::from_utf8) {
            Some(Ok(text)) => text,
            Some(Err(_)) | None => WITHHELD.to_owned(),
        }
    }
}

impl Matchers {
    fn has_shape(&self, view: &[u8]) -> bool {
        // The search fails for settings that this one does not have; if it did, nothing would pass.
        self.any.try_find(&Input::new(view).earliest(true)).map_or(true, |hit| hit.is_some())
    }

    fn mask(&self, bytes: Vec<u8>) -> (Vec<u8>, u32) {
        let mut masked = Vec::new();
        let mut hits = 0_u32;
        let mut from = 0;
        for hit in self.exact.find_iter(&bytes) {
            masked.extend_from_slice(bytes.get(from..hit.start()).unwrap_or_default());
            masked.extend_from_slice(MARKER.as_bytes());
            hits = hits.saturating_add(1);
            from = hit.end();
        }
        if hits == 0 {
            return (bytes, 0);
        }
        masked.extend_from_slice(bytes.get(from..).unwrap_or_default());
        (masked, hits)
    }
}

/// The secrets have more shapes than a matcher holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret is too large to be recognised in answers")]
pub struct TooManyShapes;

#[cfg(test)]
mod tests;
