//! All views of a text at once, while it passes: what [`unfold`](super::unfold) makes of a whole text,
//! made of one piece after another.
//!
//! A view is a stream. It is fed what its parent is fed, with one layer of encoding taken off, and
//! carries the state of the matcher and the last bytes of which it can't be said yet whether they are an
//! escape. Nothing is looked at twice and nothing depends on where the pieces end.
//!
//! Most views of most texts are the text itself. So a view lives only while it differs from its parent:
//! it forks off at an escape, with the parent's state, and ends when its state and those of its own
//! views are the parent's again, after which both would see the same.

use super::unfold::{ESCAPES, Escape, LAYERS, LONGEST_ESCAPE, is_line_break, unfold};
use aho_corasick::Anchored;
use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::noncontiguous::NFA;

/// How many bytes are looked at before it is asked which views have become their parents.
const BLOCK: usize = 4096;

/// The place of the squeezed view, behind those of the escapes.
const SQUEEZED: usize = ESCAPES.len();

/// Every view of a text.
pub(super) struct Views {
    start: StateID,
    /// The bytes that lead out of the start.
    begins: [bool; 256],
    text: View,
    found: bool,
}

/// The text, or what it is with a layer or two taken off.
struct View {
    state: StateID,
    /// The end of what it was fed: perhaps an escape.
    pending: Vec<u8>,
    /// The views of this view, one for each escape and the squeezed one; none: as this view.
    views: [Option<Box<View>>; SQUEEZED + 1],
    squeezing: Squeezing,
    /// As [`View::squeezing`], of the escapes' views that have ended or not begun.
    ended: [Squeezing; SQUEEZED],
}

/// The squeezed view counts only if a line break is anywhere in what it is made of, which may be known
/// after a shape was found in it.
#[derive(Clone, Copy, Default)]
struct Squeezing {
    lines: bool,
    found: bool,
}

/// Where there was a shape.
#[derive(Clone, Copy, Default)]
struct Found {
    here: bool,
    below: bool,
}

impl Views {
    pub(super) fn new(shapes: &NFA) -> Option<Self> {
        let start = shapes.start_state(Anchored::No).ok()?;
        let mut begins = [false; 256];
        for (byte, begins) in (0..=u8::MAX).zip(&mut begins) {
            *begins = shapes.next_state(Anchored::No, start, byte) != start;
        }
        Some(Self { start, begins, text: View::new(start), found: false })
    }

    /// Takes the next piece; true: a shape is in what was fed so far.
    pub(super) fn feed(&mut self, shapes: &NFA, piece: &[u8]) -> bool {
        let matcher = Matcher { shapes, start: self.start, begins: &self.begins };
        let found = self.text.feed(&matcher, piece, LAYERS);
        self.found |= found.here || found.below;
        self.found || self.text.found_squeezed()
    }

    /// There is no more.
    pub(super) fn finish(&mut self, shapes: &NFA) -> bool {
        let matcher = Matcher { shapes, start: self.start, begins: &self.begins };
        let found = self.text.finish(&matcher, LAYERS);
        self.found |= found.here || found.below;
        self.found || self.text.found_squeezed()
    }
}

struct Matcher<'m> {
    shapes: &'m NFA,
    start: StateID,
    begins: &'m [bool; 256],
}

impl Matcher<'_> {
    /// Moves the state over these bytes; true if it went through a match.
    fn run(&self, state: &mut StateID, mut bytes: &[u8]) -> bool {
        let mut found = false;
        loop {
            if *state == self.start {
                let skipped = bytes.iter().position(|b| self.begins[usize::from(*b)]);
                bytes = skipped.and_then(|skipped| bytes.get(skipped..)).unwrap_or_default();
            }
            let Some((byte, rest)) = bytes.split_first() else { return found };
            *state = self.shapes.next_state(Anchored::No, *state, *byte);
            found |= self.shapes.is_match(*state);
            bytes = rest;
        }
    }
}

impl View {
    fn new(state: StateID) -> Self {
        Self {
            state,
            pending: Vec::new(),
            views: Default::default(),
            squeezing: Squeezing::default(),
            ended: Default::default(),
        }
    }

    fn feed(&mut self, matcher: &Matcher<'_>, piece: &[u8], layers: usize) -> Found {
        let mut found = Found::default();
        if layers == 0 {
            found.here = matcher.run(&mut self.state, piece);
            return found;
        }
        for block in piece.chunks(BLOCK) {
            let mut rest = block;
            loop {
                let fork = self.next_fork(rest);
                let (before, after) = rest.split_at(fork.map_or(rest.len(), |(at, _)| at));
                self.step(matcher, before, layers, &mut found);
                rest = after;
                let Some((_, which)) = fork else { break };
                let view = self.fork(layers);
                if let Some(place) = self.views.get_mut(which) {
                    *place = Some(Box::new(view));
                }
            }
            self.end_views(layers);
        }
        found
    }

    /// Where the next view begins to differ, or may, and which.
    ///
    /// A view that forks off is fed other bytes from there on. So whatever is before that place must be
    /// decided by what is before it: else its own view forks off first.
    fn next_fork(&self, mut rest: &[u8]) -> Option<(usize, usize)> {
        let mut fork = None;
        while let Some((at, which)) = self.first_difference(rest) {
            fork = Some((at, which));
            rest = rest.get(..at).unwrap_or_default();
        }
        fork
    }

    fn first_difference(&self, rest: &[u8]) -> Option<(usize, usize)> {
        let differs = |(which, view): (usize, &Option<Box<Self>>)| {
            if view.is_some() {
                return None;
            }
            let at = match ESCAPES.get(which) {
                Some(escape) => first_escape(rest, escape),
                None => rest.iter().position(u8::is_ascii_whitespace),
            };
            at.map(|at| (at, which))
        };
        self.views.iter().enumerate().filter_map(differs).min()
    }

    /// A view that was this one until here. So its own views are this one's, as far as they go.
    fn fork(&self, layers: usize) -> Self {
        let mut view = Self::new(self.state);
        if layers > 1 {
            for (own, ours) in view.views.iter_mut().zip(&self.views) {
                *own = ours.as_ref().map(|ours| {
                    let mut view = Self::new(ours.state);
                    view.pending.clone_from(&ours.pending);
                    Box::new(view)
                });
            }
        }
        view
    }

    /// Takes a piece in which no further view forks off.
    fn step(&mut self, matcher: &Matcher<'_>, piece: &[u8], layers: usize, found: &mut Found) {
        if piece.is_empty() {
            return;
        }
        found.here |= matcher.run(&mut self.state, piece);
        self.squeezing.lines = self.squeezing.lines || piece.iter().any(is_line_break);
        let mut out = Vec::new();
        for (view, escape) in self.views.iter_mut().zip(&ESCAPES) {
            if let Some(view) = view {
                out.clear();
                view.take_off(escape, piece, LONGEST_ESCAPE, &mut out);
                let seen = view.feed(matcher, &out, layers - 1);
                found.below |= seen.here || seen.below;
            }
        }
        if let Some(view) = self.views.get_mut(SQUEEZED).and_then(Option::as_mut) {
            out.clear();
            out.extend(piece.iter().copied().filter(|b| !b.is_ascii_whitespace()));
            let seen = view.feed(matcher, &out, layers - 1);
            self.squeezed(seen);
        }
    }

    /// What was seen in the squeezed view was in those of the views that are as this one, too.
    fn squeezed(&mut self, seen: Found) {
        self.squeezing.found |= seen.here || seen.below;
        if seen.here {
            for (ended, view) in self.ended.iter_mut().zip(&self.views) {
                ended.found |= view.is_none();
            }
        }
    }

    /// Takes a layer off what is pending and this piece, but for an end of less than `needed` bytes that
    /// may be an escape.
    fn take_off(&mut self, escape: &Escape, piece: &[u8], needed: usize, out: &mut Vec<u8>) {
        if self.pending.is_empty() {
            self.pending = unfold(piece, escape, needed, out, &mut false).to_vec();
        } else {
            let mut text = std::mem::take(&mut self.pending);
            text.extend_from_slice(piece);
            self.pending = unfold(&text, escape, needed, out, &mut false).to_vec();
        }
    }

    /// There is no more: what is pending is what it is.
    fn finish(&mut self, matcher: &Matcher<'_>, layers: usize) -> Found {
        let mut found = Found::default();
        if layers == 0 {
            return found;
        }
        for (view, escape) in self.views.iter_mut().zip(&ESCAPES) {
            if let Some(view) = view {
                let mut out = Vec::new();
                view.take_off(escape, &[], 1, &mut out);
                for seen in [view.feed(matcher, &out, layers - 1), view.finish(matcher, layers - 1)] {
                    found.below |= seen.here || seen.below;
                }
            }
        }
        if let Some(view) = self.views.get_mut(SQUEEZED).and_then(Option::as_mut) {
            let seen = view.finish(matcher, layers - 1);
            self.squeezed(seen);
        }
        found
    }

    /// Ends the views that from here on would see what this one sees.
    fn end_views(&mut self, layers: usize) {
        for which in 0..self.views.len() {
            let Some(view) = self.views.get(which).and_then(Option::as_ref) else { continue };
            // A squeezed text has no squeezed view.
            let theirs = if layers == 1 {
                0
            } else if which == SQUEEZED {
                SQUEEZED
            } else {
                SQUEEZED + 1
            };
            let same = view.pending.is_empty()
                && view.state == self.state
                && (0..theirs).all(|which| view.under(which) == self.under(which));
            if !same {
                continue;
            }
            let Squeezing { lines, found } = view.squeezing;
            if let Some(ended) = self.ended.get_mut(which) {
                ended.lines |= lines;
                ended.found |= found;
            }
            if let Some(place) = self.views.get_mut(which) {
                *place = None;
            }
        }
    }

    /// All that decides what a view of this view will see.
    fn under(&self, which: usize) -> (StateID, &[u8]) {
        match self.views.get(which).and_then(Option::as_ref) {
            Some(view) => (view.state, &view.pending),
            None => (self.state, &[]),
        }
    }

    /// Whether a shape was in a squeezed view that counts. No escape takes a line break away.
    fn found_squeezed(&self) -> bool {
        let counts = |one: Squeezing, other: Squeezing| {
            (self.squeezing.lines || one.lines || other.lines) && (one.found || other.found)
        };
        counts(self.squeezing, Squeezing::default())
            || self.ended.iter().zip(&self.views).any(|(ended, view)| {
                counts(*ended, view.as_ref().map(|view| view.squeezing).unwrap_or_default())
            })
    }
}

/// Where the first escape is, or what may be one with more bytes.
fn first_escape(text: &[u8], escape: &Escape) -> Option<usize> {
    let mut unused = Vec::new();
    let mut from = 0;
    loop {
        let rest = text.get(from..)?;
        let at = rest.iter().position(|b| *b == escape.lead)?;
        let rest = rest.get(at..)?;
        unused.clear();
        if rest.len() < LONGEST_ESCAPE || (escape.read)(rest, &mut unused) > 0 {
            return Some(from + at);
        }
        from += at + 1;
    }
}
