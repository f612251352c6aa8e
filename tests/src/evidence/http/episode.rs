//! Calls that belong together, and what the peer does with their connections.

use crate::evidence::Seeded;

/// Calls that belong together: all but the last leave their connection in order.
pub(super) struct Episode<S> {
    /// A script for each connection that there may be. What the host does not use is used up otherwise,
    /// so that the next episode begins with its own.
    pub(super) scripts: Vec<S>,
    pub(super) calls: Vec<Planned>,
    /// Whether it works only where connections are kept.
    pub(super) reuses: bool,
    /// The one operation that it is for, if it is for one.
    pub(super) of: Option<&'static str>,
}

/// One call.
pub(super) struct Planned {
    /// How the peer fails, or doesn't.
    pub(super) failure: String,
    /// How many bytes of content it sends.
    pub(super) bytes: usize,
    /// Whether the peer sends a complete answer.
    pub(super) complete: bool,
    /// Whether anybody listens.
    pub(super) listened: bool,
    /// What happens to the connection of the call before, before this one.
    pub(super) before: Before,
}

/// What happens to a kept connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    /// The peer goes on, and signals.
    Signal,
    /// The peer goes on, to the end of its script.
    End,
}

/// What a status means for the effect.
#[derive(Clone, Copy, Debug)]
pub(super) enum Applies {
    Always,
    Never,
    Perhaps,
}

impl Applies {
    pub(super) const fn decide(self, random: &mut Seeded) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Perhaps => random.below(2) == 0,
        }
    }
}

/// Statuses, and whether they go with the effect.
pub(super) const STATUSES: [(u16, Applies); 17] = [
    (200, Applies::Always),
    (202, Applies::Always),
    (303, Applies::Always),
    (307, Applies::Never),
    (401, Applies::Never),
    (403, Applies::Never),
    (404, Applies::Never),
    (408, Applies::Perhaps),
    (409, Applies::Never),
    (412, Applies::Never),
    (421, Applies::Never),
    (425, Applies::Never),
    (429, Applies::Never),
    (500, Applies::Perhaps),
    (502, Applies::Perhaps),
    (503, Applies::Perhaps),
    (504, Applies::Perhaps),
];

/// Refusals of a second copy of a `PUT`, whose first copy an intermediary has had carried out.
pub(super) const COPIES: [u16; 7] = [404, 409, 410, 412, 421, 423, 429];

/// What `Proxy-Status` says with a 502, by a hop that is trusted or by another, and whether the effect
/// may have been applied.
pub(super) const PROXIES: [(&str, &str, Applies); 3] = [
    ("trusted hop, not forwarded", "edge; error=connection_refused", Applies::Never),
    ("trusted hop, unsure", "edge; error=connection_read_timeout", Applies::Perhaps),
    ("untrusted hop", "other; error=connection_refused", Applies::Perhaps),
];

/// The content of an ordinary call.
pub(super) const SMALL: usize = 8;

impl Planned {
    pub(super) fn new(failure: impl Into<String>, complete: bool) -> Self {
        Self { failure: failure.into(), bytes: SMALL, complete, listened: true, before: Before::Nothing }
    }

    pub(super) fn after(self, before: Before) -> Self {
        Self { before, ..self }
    }
}

impl<S> Episode<S> {
    /// One call, one connection.
    pub(super) fn one(failure: impl Into<String>, script: S, complete: bool) -> Self {
        Self { scripts: vec![script], calls: vec![Planned::new(failure, complete)], reuses: false, of: None }
    }

    /// One call that finds nobody.
    pub(super) fn refused() -> Self {
        let planned = Planned { listened: false, ..Planned::new("refused", false) };
        Self { scripts: Vec::new(), calls: vec![planned], reuses: false, of: None }
    }

    /// A call that is answered, and a second one.
    pub(super) fn two(scripts: Vec<S>, second: Planned, reuses: bool) -> Self {
        Self { scripts, calls: vec![Planned::new("none", true), second], reuses, of: None }
    }

    /// For this operation alone.
    pub(super) fn of(self, operation: &'static str) -> Self {
        Self { of: Some(operation), ..self }
    }

    /// With this many bytes of content.
    pub(super) fn large(mut self, bytes: usize) -> Self {
        self.calls.iter_mut().for_each(|planned| planned.bytes = bytes);
        self
    }
}

/// One of these.
pub(super) fn one_of<T: Clone>(random: &mut Seeded, of: &[T]) -> T {
    of[random.below(of.len())].clone()
}
