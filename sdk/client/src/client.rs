//! The client: where the host is, who asks, and each thing that can be asked.

use crate::answer::{self, Subject};
use crate::call::{Call, CallKey};
use crate::content::{self, Content, ContentError};
use crate::doubt::Doubts;
use crate::envelope::Envelope;
use crate::error::{CallError, Contradiction, Malformed};
use crate::id::RequestId;
use crate::next::{Next, next_step};
use crate::operations::{Operation, Operations};
use crate::retries::Retries;
use crate::success::Success;
use crate::twice::{MayHappenTwice, NotRepeatable, left_unknown};
use crate::wire::{self, Answer, Asked, Place, Token, Unread, after};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long an answer is waited for unless it is said: longer than a host waits for a remote by itself.
const PATIENCE: Duration = Duration::from_secs(180);

/// The longest answer that is taken unless it is said, in bytes.
const ANSWER_LIMIT: usize = 64 << 20;

/// The longest wait that a host can be asked for, in seconds.
const LONGEST_WAIT: u64 = 3600;

/// How long a wait rests when it is answered before its time with nothing new, as by a host that stops.
const REST: Duration = Duration::from_millis(500);

/// Calls one host. Cheap to clone; clones know of each other's calls. Each request has a connection of its own,
/// is sent once, follows nothing, and asks no proxy. Needs a tokio runtime with time and input and output.
#[derive(Clone, Debug)]
pub struct Client {
    place: Place,
    token: Option<Token>,
    patience: Duration,
    answer_limit: usize,
    pub(crate) retries: Option<Retries>,
    pub(crate) doubts: Arc<Doubts>,
}

/// The address is not on this machine: tokens and answers would cross the network readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a host is called over HTTP on a loopback address only, since nothing is encrypted")]
pub struct NotLoopback;

impl Client {
    /// Of the host that listens on this Unix socket (`agent.sock` in its home). It knows this process by the
    /// socket; an operator admits it once.
    #[must_use]
    pub fn unix(socket: impl Into<PathBuf>) -> Self {
        Self::at(Place::Socket(socket.into()), None)
    }

    /// Of the host that listens on this loopback address, with the token that an operator gave this agent.
    ///
    /// # Errors
    /// When the address is another machine's.
    pub fn http(address: SocketAddr, token: Token) -> Result<Self, NotLoopback> {
        if address.ip().is_loopback() {
            Ok(Self::at(Place::Http(address), Some(token)))
        } else {
            Err(NotLoopback)
        }
    }

    fn at(place: Place, token: Option<Token>) -> Self {
        let doubts = Arc::default();
        Self { place, token, patience: PATIENCE, answer_limit: ANSWER_LIMIT, retries: None, doubts }
    }

    /// Shows this token, over a Unix socket too.
    #[must_use]
    pub fn with_token(self, token: Token) -> Self {
        Self { token: Some(token), ..self }
    }

    /// Waits this long for the whole answer to a request, 180 seconds unless set; a wait, that long beyond its
    /// own time. It should be longer than the host waits for remotes: when it ends, the host goes on.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Takes answers of up to so many bytes, 64 MiB unless set. Of a longer one nothing is used; what was
    /// called has happened all the same. Contents have no limit, since none is held.
    #[must_use]
    pub fn with_answer_limit(self, bytes: usize) -> Self {
        Self { answer_limit: bytes, ..self }
    }

    /// Tries calls again, and waits for what goes on, where that is safe by the answer's own word; see
    /// [`Retries`]. Without this every request is sent once.
    #[must_use]
    pub fn with_retries(self, retries: Retries) -> Self {
        Self { retries: Some(retries), ..self }
    }

    /// What may be called, by name.
    ///
    /// # Errors
    /// [`CallError::Answered`] while the vault is locked or this agent is not admitted, and when there is no
    /// answer that can be used.
    pub async fn operations(&self) -> Result<Vec<Operation>, CallError> {
        let answer = self.exchange(Asked::get("/v1/operations"), self.patience).await?;
        if answer.status == 200 && answer.kind == answer::JSON {
            let Operations { operations } = answer::read(&answer.body)?;
            return Ok(operations);
        }
        let envelope = answer::envelope(&answer, Subject::Any)?;
        if envelope.ok {
            return Err(Malformed::Contradiction(Contradiction::Subject).into());
        }
        Err(CallError::Answered(Box::new(envelope)))
    }

    /// Carries out a call, or meets the first of the same intent: then the answer is that one's, `repeated`, and
    /// nothing was sent. The host goes on with it when this future is dropped or the connection breaks.
    ///
    /// # Errors
    /// See [`CallError`]. What to do next is in the envelope's `action`; [`next_step`] says what a program may do
    /// by itself.
    pub async fn call(&self, call: &Call) -> Result<Success, CallError> {
        let mut entered = self.doubts.enter(call)?;
        crate::retries::run(self, call, &mut entered).await
    }

    /// Makes a call under a new call key although it may have happened before: the one way to a second dispatch of
    /// an unknown. `unknown` is the answer that says so. The key is made of its id, so that however often this is
    /// done for one unknown, it is one second intent; whether that becomes unknown too, its own answer says.
    ///
    /// # Errors
    /// [`CallError::NotRepeatable`] where the answer is no unknown or the host is still at it, else as with
    /// [`call`](Self::call).
    pub async fn repeat_unknown(
        &self,
        call: &Call,
        unknown: Envelope,
        accepted: MayHappenTwice,
    ) -> Result<Success, CallError> {
        let MayHappenTwice { .. } = accepted;
        let first = left_unknown(&unknown)?;
        if unknown.operation.as_ref() != Some(&call.operation) {
            return Err(NotRepeatable::OtherOperation.into());
        }
        let again = call.clone().under(CallKey::twice(first));
        let mut entered = self.doubts.enter_all_the_same(&again);
        crate::retries::run(self, &again, &mut entered).await
    }

    /// The newest answer of a call. Nothing is sent to the remote.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn result(&self, id: &RequestId) -> Result<Success, CallError> {
        Success::of(self.fetched(id).await?)
    }

    /// The answer of a call once nothing moves by itself any more: it is over, or the next move is a person's who
    /// was not asked. At the latest after `most` it is answered as it stands. A host ends a wait when it thinks
    /// fit; then it is asked to wait again.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn wait(&self, id: &RequestId, most: Duration) -> Result<Success, CallError> {
        Success::of(self.waited(id, after(most)).await?)
    }

    /// Has the host ask the remote what became of an unknown call; no effect is sent. Where nothing can be
    /// asked, the answer is the record as it stands.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn reconcile(&self, id: &RequestId) -> Result<Success, CallError> {
        let asked = Asked::post(format!("/v1/invocations/{id}/reconcile"), None);
        Success::of(self.ask(asked, Subject::Invocation(id)).await?)
    }

    /// Has the host send an unknown effect once more where its contract makes a second arrival harmless. Where
    /// nothing may be sent, the answer is the record as it stands.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn retry(&self, id: &RequestId) -> Result<Success, CallError> {
        Success::of(self.sent_again(id).await?)
    }

    /// Loses interest in a call: nothing of its effect leaves the host if it has not left yet. The answer says
    /// what had happened by then, which may be everything.
    ///
    /// # Errors
    /// [`CallError::NoAnswer`] and [`CallError::Malformed`].
    pub async fn cancel(&self, id: &RequestId) -> Result<Envelope, CallError> {
        let asked = Asked::post(format!("/v1/invocations/{id}/cancel"), None);
        self.ask(asked, Subject::Invocation(id)).await
    }

    /// The content that is stored beside the answer of a call, from this byte on.
    ///
    /// # Errors
    /// [`ContentError::PastEnd`], and [`ContentError::Call`] where there is none or no answer.
    pub async fn content(&self, id: &RequestId, from: u64) -> Result<Content, ContentError> {
        let mut asked = Asked::get(format!("/v1/invocations/{id}/content"));
        asked.from = (from > 0).then_some(from);
        let begun = wire::begin(&self.place, self.token.as_ref(), asked, self.patience).await;
        let (response, driver) = begun.map_err(CallError::NoAnswer)?;
        if let Some(facts) = content::facts(&response, from) {
            let body = response.into_body();
            return Ok(Content { body, _driver: driver, patience: self.patience, facts });
        }
        if let (416, Some(bytes)) = (response.status().as_u16(), content::length_of_unsatisfied(&response)) {
            return Err(ContentError::PastEnd { bytes });
        }
        let (status, kind) = (response.status().as_u16(), wire::kind(&response));
        let none = CallError::Malformed(Malformed::NoEnvelope(status));
        if kind != answer::PROBLEM {
            return Err(none.into());
        }
        let body = Limited::new(response.into_body(), self.answer_limit).collect();
        let Ok(Ok(body)) = tokio::time::timeout_at(after(self.patience), body).await else {
            return Err(none.into());
        };
        let answer = Answer { status, kind, body: body.to_bytes() };
        let envelope = answer::envelope(&answer, Subject::Invocation(id)).map_err(CallError::Malformed)?;
        Err(CallError::Answered(Box::new(envelope)).into())
    }

    pub(crate) async fn called(&self, call: &Call, body: Bytes) -> Result<Envelope, CallError> {
        self.ask(Asked::post("/v1/call", Some(body)), Subject::Operation(&call.operation)).await
    }

    pub(crate) async fn fetched(&self, id: &RequestId) -> Result<Envelope, CallError> {
        self.ask(Asked::get(format!("/v1/invocations/{id}")), Subject::Invocation(id)).await
    }

    /// Children of a batch are sent again as a call of their own, so that the answer may bear another id.
    pub(crate) async fn sent_again(&self, id: &RequestId) -> Result<Envelope, CallError> {
        self.ask(Asked::post(format!("/v1/invocations/{id}/retry"), None), Subject::Any).await
    }

    pub(crate) async fn waited(&self, id: &RequestId, until: Instant) -> Result<Envelope, CallError> {
        loop {
            let begun = Instant::now();
            let left = until.saturating_duration_since(begun);
            let seconds = left.as_millis().div_ceil(1000).min(LONGEST_WAIT.into());
            let asked = Asked::post(format!("/v1/invocations/{id}/wait?seconds={seconds}"), None);
            let patience = self.patience.saturating_add(left);
            let answer = self.exchange(asked, patience).await?;
            let envelope = self.understood(&answer, Subject::Invocation(id))?;
            let goes_on = match next_step(&envelope) {
                Next::Wait { .. } => true,
                Next::Done
                | Next::CallAgain { .. }
                | Next::SendStoredAgain { .. }
                | Next::Fetch { .. }
                | Next::Stop => false,
            };
            if !goes_on || Instant::now() >= until {
                return Ok(envelope);
            }
            let rest = (begun + REST).min(until);
            tokio::time::sleep_until(rest).await;
            if Instant::now() >= until {
                return Ok(envelope);
            }
        }
    }

    async fn ask(&self, asked: Asked, subject: Subject<'_>) -> Result<Envelope, CallError> {
        let answer = self.exchange(asked, self.patience).await?;
        self.understood(&answer, subject)
    }

    fn understood(&self, answer: &Answer, subject: Subject<'_>) -> Result<Envelope, CallError> {
        let envelope = answer::envelope(answer, subject)?;
        self.doubts.learn(&envelope);
        Ok(envelope)
    }

    async fn exchange(&self, asked: Asked, patience: Duration) -> Result<Answer, CallError> {
        let token = self.token.as_ref();
        let answer = wire::exchange(&self.place, token, asked, patience, self.answer_limit).await;
        answer.map_err(|unread| match unread {
            Unread::NoAnswer(no_answer) => no_answer.into(),
            Unread::Malformed(malformed) => malformed.into(),
        })
    }
}
