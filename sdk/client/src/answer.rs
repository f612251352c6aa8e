//! From an answer of HTTP to an envelope, or to the reason why there is none. Strict: what is not understood in
//! full is not used in part.

use crate::contract::{Outcome, Retry, RetryOwner};
use crate::envelope::Envelope;
use crate::error::{Contradiction, Malformed};
use crate::id::{OperationName, RequestId};
use crate::wire::Answer;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;

/// The media type of successes.
pub(crate) const JSON: &str = "application/json";

/// The media type of everything else (RFC 9457).
pub(crate) const PROBLEM: &str = "application/problem+json";

/// The members of RFC 9457 section 3.1. Where they say anything, the envelope says it as well, so that none is
/// kept; the status must be the answer's.
const OF_THE_RFC: [&str; 5] = ["type", "title", "status", "detail", "instance"];

/// What an answer must be about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// A call of this operation, or nothing that was taken on.
    Operation(&'a OperationName),
    /// This invocation, or none.
    Invocation(&'a RequestId),
    /// Whatever the host says.
    Any,
}

/// The envelope of an answer.
pub(crate) fn envelope(answer: &Answer, subject: Subject<'_>) -> Result<Envelope, Malformed> {
    let envelope: Envelope = match answer.kind.as_str() {
        JSON => read(&answer.body)?,
        PROBLEM => of_problem(answer)?,
        _ => return Err(Malformed::NoEnvelope(answer.status)),
    };
    if envelope.ok != (answer.kind == JSON) || envelope.ok != (answer.status == 200) {
        return Err(Malformed::Contradiction(Contradiction::Status));
    }
    if let Some(contradiction) = contradiction(&envelope) {
        return Err(Malformed::Contradiction(contradiction));
    }
    let fits = match subject {
        Subject::Operation(asked) => envelope.operation.as_ref().is_none_or(|named| named == asked),
        Subject::Invocation(asked) => envelope.request_id.as_ref().is_none_or(|named| named == asked),
        Subject::Any => true,
    };
    if fits { Ok(envelope) } else { Err(Malformed::Contradiction(Contradiction::Subject)) }
}

/// Reads JSON of a type that knows all its members.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Malformed> {
    serde_json::from_slice(body).map_err(|error| match error.classify() {
        Category::Data => Malformed::Shape,
        Category::Syntax | Category::Eof | Category::Io => Malformed::NotJson,
    })
}

/// The envelope that a problem extends.
fn of_problem(answer: &Answer) -> Result<Envelope, Malformed> {
    let Members(mut members) = read(&answer.body)?;
    let rfc = OF_THE_RFC.map(|name| members.remove(name));
    let [_, _, Some(status), _, _] = &rfc else { return Err(Malformed::Shape) };
    if read::<u16>(status.get().as_bytes())? != answer.status {
        return Err(Malformed::Contradiction(Contradiction::Status));
    }
    let rest = serde_json::to_vec(&members).map_err(|_| Malformed::Shape)?;
    read(&rest)
}

/// Members of an object as they are written, each once.
#[derive(Serialize)]
#[serde(transparent)]
struct Members(BTreeMap<String, Box<RawValue>>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = BTreeMap::new();
                while let Some((name, value)) = map.next_entry()? {
                    if members.insert(name, value).is_some() {
                        return Err(A::Error::custom("a member is there twice"));
                    }
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

/// What this envelope says twice and differently, if anything.
fn contradiction(envelope: &Envelope) -> Option<Contradiction> {
    let is_consistent = if envelope.ok {
        let nothing_left = envelope.code.is_none() && envelope.action.is_none();
        nothing_left && envelope.outcome == Some(Outcome::Committed) && envelope.request_id.is_some()
    } else {
        envelope.code.is_some() && envelope.action.is_some()
    };
    let backoff = envelope.retry == Retry::Backoff && envelope.retry_owner == RetryOwner::Caller;
    let dispatched = envelope.evidence.dispatch_started;
    if !is_consistent {
        Some(Contradiction::Ok)
    } else if envelope.retryable != backoff {
        Some(Contradiction::Retryable)
    } else if dispatched && envelope.outcome == Some(Outcome::NotAttempted) {
        Some(Contradiction::Dispatched)
    } else {
        None
    }
}
