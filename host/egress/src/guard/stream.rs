//! The guard over a text that passes in pieces, with bounded memory.
//!
//! What comes out is what [`Guard::scan`] makes of the whole: however the text is cut, the same exact
//! hits are masked and the same texts are withheld, for secrets of any length. Masking needs the last
//! bytes, as many as a secret has; the shapes are found by [`views`](super::views), which carry their
//! state from piece to piece.
//!
//! A shape is known when its last byte has come, so the end of the text is held back: no byte leaves
//! while it may be the beginning of a shape. How much that is follows from the longest shape. One byte of
//! a view stands for at most [`LONGEST_ESCAPE`] bytes of what it was made of, and there are [`LAYERS`] of
//! them. White space in a squeezed view is the exception, since there may be any amount of it: a shape
//! that it stretches over more than what is held back is found, but its beginning has left.

use super::unfold::{LAYERS, LONGEST_ESCAPE};
use super::views::Views;
use super::{Guard, MARKER, Matchers};
use aho_corasick::automaton::Automaton;
use std::borrow::Cow;
use std::sync::Arc;

/// A guard that a text passes in pieces.
pub struct GuardStream {
    guard: Arc<Guard>,
    /// None without a secret, and when nothing can pass.
    views: Option<Views>,
    /// The end of what came: perhaps the beginning of a secret.
    unmasked: Vec<u8>,
    /// The end of what was looked at: perhaps the beginning of a shape.
    held: Vec<u8>,
    hits: u32,
    withheld: bool,
}

/// A secret is in the text in a shape that can't be masked. Nothing more comes out, and what came out
/// before is a piece of a text that must not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a secret is in the text in a shape that can't be masked")]
pub struct Withheld;

impl GuardStream {
    /// A stream under this guard.
    #[must_use]
    pub fn new(guard: Arc<Guard>) -> Self {
        let views = guard.matchers.as_ref().and_then(|matchers| Views::new(&matchers.any));
        let withheld = guard.is_armed() && views.is_none();
        Self { guard, views, unmasked: Vec::new(), held: Vec::new(), hits: 0, withheld }
    }

    /// Takes the next piece and gives what may leave, which is mostly of pieces before. Without a secret
    /// that is the piece itself.
    ///
    /// # Errors
    /// When a shape of a secret is in what came so far; from then on always.
    pub fn push<'p>(&mut self, piece: &'p [u8]) -> Result<Cow<'p, [u8]>, Withheld> {
        let guard = Arc::clone(&self.guard);
        match &guard.matchers {
            None => Ok(Cow::Borrowed(piece)),
            Some(matchers) => self.take(matchers, piece, false).map(Cow::Owned),
        }
    }

    /// There is no more: gives the rest, and how many exact hits there were in all.
    ///
    /// # Errors
    /// When a shape of a secret is in the text.
    pub fn finish(mut self) -> Result<(Vec<u8>, u32), Withheld> {
        let guard = Arc::clone(&self.guard);
        match &guard.matchers {
            None => Ok((Vec::new(), 0)),
            Some(matchers) => self.take(matchers, &[], true).map(|rest| (rest, self.hits)),
        }
    }

    fn take(&mut self, matchers: &Matchers, piece: &[u8], last: bool) -> Result<Vec<u8>, Withheld> {
        if self.withheld {
            return Err(Withheld);
        }
        self.unmasked.extend_from_slice(piece);
        let from = self.held.len();
        self.mask(matchers, last);
        let masked = self.held.get(from..).unwrap_or_default();
        let found = self
            .views
            .as_mut()
            .is_none_or(|views| views.feed(&matchers.any, masked) || (last && views.finish(&matchers.any)));
        if found {
            self.withheld = true;
            (self.unmasked, self.held) = (Vec::new(), Vec::new());
            return Err(Withheld);
        }
        if last {
            return Ok(std::mem::take(&mut self.held));
        }
        let leaving = self.held.len().saturating_sub(matchers.held_back());
        Ok(self.held.drain(..leaving).collect())
    }

    /// Moves what is decided to the end of what is held, masked. A secret that begins at a byte is
    /// decided when as many bytes have come from there on as the longest has.
    fn mask(&mut self, matchers: &Matchers, last: bool) {
        let open = if last { 0 } else { matchers.exact.max_pattern_len().saturating_sub(1) };
        let decided = self.unmasked.len().saturating_sub(open);
        let mut from = 0;
        for hit in matchers.exact.find_iter(&self.unmasked).take_while(|hit| hit.start() < decided) {
            self.held.extend_from_slice(self.unmasked.get(from..hit.start()).unwrap_or_default());
            self.held.extend_from_slice(MARKER.as_bytes());
            self.hits = self.hits.saturating_add(1);
            from = hit.end();
        }
        // A secret that began before may end behind it.
        let until = decided.max(from);
        self.held.extend_from_slice(self.unmasked.get(from..until).unwrap_or_default());
        self.unmasked.drain(..until);
    }
}

impl Matchers {
    /// How many bytes may be the beginning of a shape, white space in a squeezed view left aside.
    fn held_back(&self) -> usize {
        // Less than a whole shape, and for each layer less than an escape that is not yet decided.
        self.any.max_pattern_len().saturating_mul(LONGEST_ESCAPE.pow(LAYERS as u32))
    }
}

#[cfg(test)]
mod tests;
