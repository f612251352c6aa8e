//! Why a call did not succeed. No error holds a text of the remote's, a token or a path.

use crate::doubt::InDoubt;
use crate::envelope::Envelope;
use crate::twice::NotRepeatable;
use std::io;
use std::time::Duration;

/// Why there is no [`Success`](crate::Success).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The host answered, and it is no success. Everything that is to be known is in the answer.
    #[error("{}", told(.0))]
    Answered(Box<Envelope>),
    /// The host did not answer.
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    /// The host answered something that this crate can't read in full, so that nothing of it is used. What was
    /// called may have happened: a newer host's answer is one too. Ask for it with the `proofport` program, or
    /// make the same call again, which the host meets with the first (see [`NoAnswer`]).
    #[error("the host's answer can't be used: {0}; what was called may have happened")]
    Malformed(#[from] Malformed),
    /// Nothing was sent: the same was called before under another call key, and may have happened.
    #[error(transparent)]
    InDoubt(#[from] InDoubt),
    /// Nothing was sent: what should be repeated is no unknown that can be.
    #[error("nothing was sent: {0}")]
    NotRepeatable(#[from] NotRepeatable),
    /// Nothing was sent: the call can't be written as a request.
    #[error("nothing was sent: the call can't be written as a request")]
    Unsendable,
}

fn told(envelope: &Envelope) -> String {
    let code = envelope.code.map_or("OK", crate::code::Code::as_str);
    match &envelope.request_id {
        Some(id) => format!("{code}: {} ({id})", envelope.message),
        None => format!("{code}: {}", envelope.message),
    }
}

/// The host did not answer, or its answer broke off.
///
/// **What follows from it.** With [`Reach::NotReached`], the host knows nothing of the call. With
/// [`Reach::MayHaveReached`], it may have carried it out or be doing so, since it never drops a call because the
/// caller went away. Making *the same call* again is safe against the host all the same: the same operation with
/// the same input and the same call key, or none, is the same intent within a session. While the first is
/// waiting, under way, unknown or committed, the host answers with the first's id and state, `repeated`, and
/// sends nothing; only where the first is proved not to have had an effect is it tried anew. A read, which
/// changes nothing, is carried out again.
///
/// That holds for the same call to the same host, for as long as the host keeps results. It does not hold under
/// another call key or with other input: that is another intent, and would be a second effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no answer from the host: {cause}; {reach}")]
pub struct NoAnswer {
    /// Whether the request may have reached the host.
    pub reach: Reach,
    /// What went wrong.
    pub cause: Cause,
}

/// Whether a request may have reached the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reach {
    /// Not one byte of it was offered to the operating system.
    #[error("nothing was sent to it")]
    NotReached,
    /// Some of it was. Whether all of it came, and what the host did, is not known here.
    #[error("it may have got the request: only the very same call may be made again")]
    MayHaveReached,
}

/// Why no answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// No connection could be made. Nobody listens there, or this process may not connect.
    #[error("no connection ({0})")]
    Connect(io::ErrorKind),
    /// The client's own patience ended ([`Client::with_patience`](crate::Client::with_patience)).
    #[error("nothing within {0:?}")]
    Deadline(Duration),
    /// The connection ended before a whole answer had come, or what came is not HTTP.
    #[error("the connection broke")]
    Broken,
}

/// Why an answer can't be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// An answer with this status that is neither an envelope nor a problem, such as a refusal of the door.
    #[error("status {0} without an envelope")]
    NoEnvelope(u16),
    /// The body is not JSON.
    #[error("not JSON")]
    NotJson,
    /// A member is missing or there twice, or a member or a word is unknown here.
    #[error("a member or a word that this version doesn't know, or one is missing")]
    Shape,
    /// The answer says two things that can't both hold.
    #[error("it contradicts itself: {0}")]
    Contradiction(Contradiction),
    /// It is longer than the client takes ([`Client::with_answer_limit`](crate::Client::with_answer_limit)).
    #[error("longer than {0} bytes")]
    TooLong(usize),
}

/// What can't both hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// A success with a code, an action or another outcome than committed; or a failure without a code or an
    /// action.
    #[error("`ok` against `code`, `action` or `outcome`")]
    Ok,
    /// `retryable` where the caller owns no backoff, or not where it does.
    #[error("`retryable` against `retry` and `retry_owner`")]
    Retryable,
    /// Dispatched and yet not attempted.
    #[error("`evidence.dispatch_started` against `outcome`")]
    Dispatched,
    /// The status of HTTP, or the kind of document, and what the envelope says.
    #[error("the answer's status or type against its body")]
    Status,
    /// It is about another invocation or operation than was asked for.
    #[error("it is about something else")]
    Subject,
}
