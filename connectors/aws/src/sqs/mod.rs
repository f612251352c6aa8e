//! Amazon SQS, by its JSON protocol.
//!
//! What a send promises depends on the kind of queue, and a queue's name says its kind: those of FIFO
//! queues end in `.fifo`. So the operations for the two kinds take other names, and none can be used on a
//! queue that does not keep its contract.

mod message;
pub(crate) mod send;
pub(crate) mod send_batch;

use crate::api;
use proofport_sdk::{KeyedContract, Operation, Repeat, Value, json, key_in_connector};

/// For how long SQS recognises a deduplication id (`SendMessage`: "the 5-minute deduplication interval").
const DEDUPLICATION_SECONDS: u64 = 5 * 60;

/// A kind of queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Standard,
    Fifo,
}

impl Kind {
    /// What a queue of this kind promises about the same send arriving twice.
    ///
    /// A message with a known deduplication id is accepted and not delivered, whatever its body says: SQS
    /// does not compare. A standard queue has nothing of the kind; every arrival is a message.
    fn repeat(self) -> Repeat {
        match self {
            Self::Standard => Repeat::None,
            Self::Fifo => Repeat::Keyed(
                KeyedContract::new(key_in_connector(), "queue").retention_seconds(DEDUPLICATION_SECONDS),
            ),
        }
    }

    /// The schema of a queue's name.
    fn queue(self) -> Value {
        let pattern = match self {
            Self::Standard => "^[A-Za-z0-9_-]{1,80}$",
            Self::Fifo => "^[A-Za-z0-9_-]{1,75}\\.fifo$",
        };
        json!({ "type": "string", "pattern": pattern, "description": "The queue's name." })
    }
}

fn write(name: &str, kind: Kind) -> Operation {
    api::common(Operation::write(name, kind.repeat()), &[])
}
