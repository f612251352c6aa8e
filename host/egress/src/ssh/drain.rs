//! A command's output on its way to where it is kept. Every byte is taken from the channel, whatever
//! becomes of it: a channel that nobody reads would keep its command from ending.

use crate::guard::Guard;
use crate::http::{ContentSink, Storing};
use proofport_core::evidence::Cause;
use proofport_core::exchange::StoredContent;
use std::sync::Arc;

/// Where output goes.
enum Place {
    /// Memory, while it is little.
    Memory(Vec<u8>),
    /// The sink, once it is more.
    Sink(Box<Storing>),
    /// Nowhere: there was too much, or it could not be stored.
    Nowhere(Cause),
}

/// One stream of output.
pub(super) struct Drain {
    place: Place,
    bytes: u64,
    most: usize,
    sink: Option<(Arc<dyn ContentSink>, u64)>,
    guard: Arc<Guard>,
}

/// What became of a stream.
pub(super) struct Drained {
    /// Bytes that arrived.
    pub(super) bytes: u64,
    /// What is kept in memory, not yet guarded.
    pub(super) text: Option<Vec<u8>>,
    /// What was stored, and how many hits were masked in it.
    pub(super) stored: Option<(StoredContent, u32)>,
    /// Why it is not kept.
    pub(super) fault: Option<Cause>,
}

impl Drain {
    /// A stream of which so much is kept in memory, and if there is more, all of it in the sink, up to
    /// the limit beside it.
    pub(super) fn new(most: usize, sink: Option<(Arc<dyn ContentSink>, u64)>, guard: Arc<Guard>) -> Self {
        Self { place: Place::Memory(Vec::new()), bytes: 0, most, sink, guard }
    }

    /// Takes the next bytes.
    pub(super) async fn push(&mut self, data: &[u8]) {
        self.bytes = self.bytes.saturating_add(data.len() as u64);
        let overflow = match &mut self.place {
            Place::Memory(kept) if data.len() <= self.most.saturating_sub(kept.len()) => {
                kept.extend_from_slice(data);
                return;
            }
            Place::Memory(kept) => std::mem::take(kept),
            Place::Sink(storing) => {
                if let Err(cause) = storing.push(data).await {
                    self.place = Place::Nowhere(cause);
                }
                return;
            }
            Place::Nowhere(_) => return,
        };
        self.place = match self.sink.take() {
            None => Place::Nowhere(Cause::TooLarge),
            Some((sink, most)) => {
                let mut storing = Box::new(Storing::new(sink, Arc::clone(&self.guard), most));
                let pushed = match storing.push(&overflow).await {
                    Ok(()) => storing.push(data).await,
                    Err(cause) => Err(cause),
                };
                pushed.map_or_else(Place::Nowhere, |()| Place::Sink(storing))
            }
        };
    }

    /// There is no more. What is stored is finished only if it is whole.
    pub(super) async fn finish(self, whole: bool) -> Drained {
        let mut drained = Drained { bytes: self.bytes, text: None, stored: None, fault: None };
        match self.place {
            Place::Memory(text) => drained.text = Some(text),
            Place::Nowhere(cause) => drained.fault = Some(cause),
            Place::Sink(storing) if whole => match storing.finish().await {
                Ok(stored) => drained.stored = Some(stored),
                Err(cause) => drained.fault = Some(cause),
            },
            Place::Sink(_) => {}
        }
        drained
    }
}
