//! What a real call puts into the journal, to be put there again under other ids.

use crate::rig::{self, Open};
use proofport_core::digest::Digest;
use proofport_core::event::{Event, EventKind};
use proofport_core::id::RequestId;
use proofport_journal::{Batch, Body, BodyKind};
use std::io;

/// A call that succeeded, in the commits that it took.
pub struct Model {
    begun: Vec<Event>,
    ended: Vec<Event>,
    delivered: Vec<Event>,
    bodies: Vec<(BodyKind, Vec<u8>)>,
}

impl Model {
    /// Makes the call and reads its record.
    ///
    /// # Errors
    /// When it fails, or its record can't be read.
    pub async fn of(open: &Open, input: &str) -> io::Result<Self> {
        // A key stands for one input.
        let key = |word: &str| format!("{word}-{}", Digest::of_bytes(input.as_bytes()));
        let delivery = open.deliver("act", input, Some(&key("model"))).await;
        let id = delivery.envelope.request_id().filter(|_| delivery.envelope.ok());
        let id = id.ok_or_else(|| io::Error::other(format!("the model failed: {:?}", delivery.envelope)))?;
        delivery.confirmed();
        // The mark rides along with this one's commit.
        open.call_with("act", input, Some(&key("after"))).await;
        let journal = open.broker.journal();
        let history = journal.history(&id).map_err(io::Error::other)?;
        let mut begun: Vec<Event> = history.into_iter().map(|recorded| recorded.event).collect();
        let after = |events: &[Event], kind| {
            events.iter().position(|event| event.kind() == kind).map_or(events.len(), |last| last + 1)
        };
        let mut ended = begun.split_off(after(&begun, EventKind::DispatchStarted));
        let delivered = ended.split_off(after(&ended, EventKind::ResultCommitted));
        let mut bodies = Vec::new();
        for kind in [BodyKind::Input, BodyKind::Request, BodyKind::Result, BodyKind::Protected] {
            let bytes = journal.body(&id, kind).map_err(io::Error::other)?;
            bodies.push((kind, bytes.map(|bytes| bytes.to_vec()).unwrap_or_default()));
        }
        Ok(Self { begun, ended, delivered, bodies })
    }

    /// The bytes of its bodies before they are sealed.
    #[must_use]
    pub fn body_bytes(&self) -> u64 {
        self.bodies.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// The bytes of its events in JSON.
    #[must_use]
    pub fn event_bytes(&self) -> u64 {
        let events = self.begun.iter().chain(&self.ended).chain(&self.delivered);
        events.filter_map(|event| serde_json::to_vec(event).ok()).map(|text| text.len() as u64).sum()
    }

    /// The `n`th other id, spread over the key space as random ids are.
    #[must_use]
    pub fn id(n: u64) -> RequestId {
        let mut random = [0; 16];
        random.copy_from_slice(&Digest::of_bytes(&n.to_be_bytes()).as_bytes()[..16]);
        RequestId::from_random(random)
    }

    /// Everything up to its dispatch, under another id. It is remembered as two intents, one for its
    /// session and one for its principal.
    #[must_use]
    pub fn begun(&self, id: RequestId) -> Batch {
        let mut events = self.begun.clone();
        for event in &mut events {
            if let Event::ActionAccepted(accepted) = event {
                accepted.request_id = id;
                accepted.input = Digest::of_bytes(id.as_bytes());
            }
        }
        let key = |scope| (Digest::of_parts(scope, &[id.as_bytes()]), id);
        Batch {
            intents: vec![key("session"), key("principal")],
            open: Some(true),
            ..self.batch(id, events, &[BodyKind::Input, BodyKind::Request])
        }
    }

    /// Its end.
    #[must_use]
    pub fn ended(&self, id: RequestId) -> Batch {
        let bodies = [BodyKind::Result, BodyKind::Protected];
        Batch { open: Some(false), ..self.batch(id, self.ended.clone(), &bodies) }
    }

    /// The mark that its answer was delivered, which rides along.
    #[must_use]
    pub fn delivered(&self, id: RequestId) -> Batch {
        self.batch(id, self.delivered.clone(), &[])
    }

    fn batch(&self, id: RequestId, events: Vec<Event>, kinds: &[BodyKind]) -> Batch {
        let bodies = self.bodies.iter().filter(|(kind, _)| kinds.contains(kind));
        let bodies = bodies.map(|(kind, bytes)| Body { kind: *kind, bytes: bytes.clone() }).collect();
        Batch { bodies, ..Batch::new(Some(id), rig::now(), events) }
    }
}
