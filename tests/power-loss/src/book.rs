//! What a host wrote, and what it was told is durable.

use proofport_core::digest::Digest;
use proofport_core::event::{Event, HostEvent};
use proofport_core::failures::Mark;
use proofport_core::id::{Name, RequestId};
use proofport_core::time::UnixMillis;
use proofport_journal::{Batch, Body, BodyKind};
use std::collections::BTreeSet;

/// A batch, of which everything follows from its number.
#[derive(Clone, Debug)]
pub struct Promise {
    /// Unique in a book.
    pub number: u32,
    /// Whose batch; none for the host's own.
    pub of: Option<u8>,
    /// How many events.
    pub events: u32,
    /// Kinds and lengths of its bodies.
    pub bodies: Vec<(BodyKind, usize)>,
    /// Whether it has an intent.
    pub intent: bool,
    /// Whether it opens or closes the invocation.
    pub open: Option<bool>,
    /// Its first sequence number, once that is known.
    pub seq: Option<u64>,
    /// The moment at which it was acknowledged; none while it wasn't.
    pub since: Option<usize>,
}

/// A content that somebody stored, or tried to.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Whose.
    pub of: u8,
    /// Which try at it. A later one begins with removing an earlier one.
    pub attempt: u8,
    /// How many bytes.
    pub len: usize,
    /// The moment at which it was complete; none while it wasn't.
    pub since: Option<usize>,
}

/// Everything that was written, in any order.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// Batches.
    pub batches: Vec<Promise>,
    /// Contents.
    pub contents: Vec<Stored>,
}

impl Book {
    /// What is promised once the journal that a crash left was read. What had been acknowledged by the
    /// moment of the `crash` is promised since `kept`; what is there without that was seen, and must not
    /// go away any more since `seen`; what is not there was never written.
    #[must_use]
    pub fn found(&self, crash: usize, present: &BTreeSet<u32>, kept: usize, seen: usize) -> Self {
        let acknowledged = |since: Option<usize>| since.is_some_and(|since| since <= crash);
        let mut book = self.clone();
        book.batches.retain(|batch| present.contains(&batch.number));
        for batch in &mut book.batches {
            batch.since = Some(if acknowledged(batch.since) { kept } else { seen });
        }
        // Nobody relies on a content before it is said to be complete.
        for content in &mut book.contents {
            content.since = acknowledged(content.since).then_some(kept);
        }
        book
    }

    /// A number that no batch has.
    #[must_use]
    pub fn next_number(&self) -> u32 {
        self.batches.iter().map(|batch| batch.number + 1).max().unwrap_or(0)
    }
}

impl Promise {
    /// A batch with one event.
    #[must_use]
    pub fn new(number: u32, of: Option<u8>) -> Self {
        Self { number, of, events: 1, bodies: Vec::new(), intent: false, open: None, seq: None, since: None }
    }

    /// When it happened.
    #[must_use]
    pub fn at(&self) -> UnixMillis {
        // Not in the order of the numbers, so that the latest time isn't the last one's.
        UnixMillis(u64::from(self.number ^ 3) + 1)
    }

    /// The key of its intent.
    #[must_use]
    pub fn intent_key(&self) -> Digest {
        Digest::of_bytes(&self.number.to_be_bytes())
    }

    /// Its event at this position.
    #[must_use]
    pub fn event(&self, position: u32) -> Event {
        match self.of {
            Some(_) => Event::JobAccepted { id: format!("{} {position}", self.number) },
            None => Event::Host(HostEvent::SecretChanged {
                name: Name::parse("secret").unwrap(),
                version: Some(self.number * 16 + position),
            }),
        }
    }

    /// The number and the position that this event was made from.
    ///
    /// # Panics
    /// When it is none of [`Promise::event`]'s.
    #[must_use]
    pub fn of_event(event: &Event) -> (u32, u32) {
        if let Event::Host(HostEvent::SecretChanged { version: Some(version), .. }) = event {
            return (version / 16, version % 16);
        }
        let Event::JobAccepted { id } = event else { panic!("{event:?}") };
        let (number, position) = id.split_once(' ').unwrap();
        (number.parse().unwrap(), position.parse().unwrap())
    }

    /// The bytes of a body.
    #[must_use]
    pub fn body(&self, kind: BodyKind, len: usize) -> Vec<u8> {
        filler(u64::from(self.number) * 16 + kind as u64, len)
    }

    /// The batch.
    #[must_use]
    pub fn batch(&self) -> Batch {
        let id = self.of.map(id);
        let body = |(kind, len): &(_, _)| Body { kind: *kind, bytes: self.body(*kind, *len) };
        Batch {
            invocation: id,
            at: self.at(),
            events: (0..self.events).map(|position| self.event(position)).collect(),
            bodies: self.bodies.iter().map(body).collect(),
            intents: id.filter(|_| self.intent).map(|id| (self.intent_key(), id)).into_iter().collect(),
            open: self.open,
            // What begins may fail, and what ends did not.
            tally: id.and(self.open).map(|begins| (self.whose(), mark(begins))),
        }
    }

    /// Whose tally it is in: one of a few, so that each takes several.
    fn whose(&self) -> Digest {
        Digest::of_bytes(format!("whose {}", self.number % 3).as_bytes())
    }
}

const fn mark(begins: bool) -> Mark {
    if begins { Mark::Failed { within_seconds: 10 } } else { Mark::Succeeded }
}

impl Stored {
    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        filler(u64::from(self.of) << 32 | u64::from(self.attempt) << 40, self.len)
    }
}

/// An invocation's id.
#[must_use]
pub fn id(of: u8) -> RequestId {
    RequestId::from_random([of; 16])
}

fn filler(seed: u64, len: usize) -> Vec<u8> {
    let mut random = crate::Seeded::new(seed);
    (0..len.div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).take(len).collect()
}
