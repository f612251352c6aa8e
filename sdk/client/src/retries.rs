//! Carrying out a call: once, or as often as its answers permit and its caller wishes.

use crate::call::Call;
use crate::client::Client;
use crate::doubt::Entered;
use crate::envelope::Envelope;
use crate::error::{CallError, NoAnswer, Reach};
use crate::id::RequestId;
use crate::next::{Next, next_step};
use crate::success::Success;
use crate::wire::after;
use std::time::Duration;
use tokio::time::Instant;

/// The first delay where none is given; it doubles with each try.
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// How far a client goes by itself. Every step is one that the answer permits ([`next_step`]):
///
/// - the very same call again after a delay, where the answer says that nothing happened or that it changes
///   nothing, and that the caller may (`retryable`);
/// - the host's own sending of the stored bytes under the same idempotency key;
/// - waiting for an approval, or for what the host is at;
/// - fetching a result that is stored;
/// - the very same call again, bytes and call key, where the host gave no answer, which it meets with the first
///   (see [`NoAnswer`]). An invocation is then asked about by its id where that is known.
///
/// Anything else comes back as it was answered. An unknown that no contract covers is never repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// How many more requests than the first may be made for one call, those that wait apart.
    pub most: u32,
    /// The longest delay before any of them. Where an answer asks for a longer one, it is handed to the caller.
    pub longest_delay: Duration,
    /// How long all waits for one call may take together. Zero: none is waited for.
    pub longest_wait: Duration,
}

/// The next request of a call.
#[derive(Debug)]
enum Step {
    Call,
    SendStoredAgain(RequestId),
    Wait(RequestId),
    Fetch(RequestId),
}

/// How far a call has come.
struct Budget {
    retries: Retries,
    tries: u32,
    waits_end: Option<Instant>,
}

/// Carries out a call.
pub(crate) async fn run(
    client: &Client,
    call: &Call,
    entered: &mut Entered<'_>,
) -> Result<Success, CallError> {
    let Some(body) = call.body() else { return Err(CallError::Unsendable) };
    let none = Retries { most: 0, longest_delay: Duration::ZERO, longest_wait: Duration::ZERO };
    let mut budget = Budget { retries: client.retries.unwrap_or(none), tries: 0, waits_end: None };
    let mut so_far = SoFar::default();
    let mut step = Step::Call;
    loop {
        entered.sets_out(step.about());
        let answered = match &step {
            Step::Call => client.called(call, body.clone()).await,
            Step::SendStoredAgain(id) => client.sent_again(id).await,
            Step::Wait(id) => client.waited(id, budget.waits_end()).await,
            Step::Fetch(id) => client.fetched(id).await,
        };
        let (next, delay) = match answered {
            Ok(envelope) => {
                entered.answered(&envelope);
                let envelope = so_far.after(envelope, &step)?;
                match budget.step(&envelope) {
                    Some(next) => {
                        so_far.known = Some(envelope);
                        next
                    }
                    None => return Success::of(envelope),
                }
            }
            Err(CallError::NoAnswer(no_answer)) => {
                entered.lost(no_answer.reach);
                match budget.delay(None) {
                    Some(delay) => {
                        so_far.silence(no_answer);
                        (step.after_silence(), delay)
                    }
                    None => return Err(so_far.without(no_answer, &step)),
                }
            }
            Err(error @ CallError::Malformed(_)) => {
                entered.lost(Reach::MayHaveReached);
                return Err(error);
            }
            Err(
                error @ (CallError::Answered(_)
                | CallError::InDoubt(_)
                | CallError::NotRepeatable(_)
                | CallError::Unsendable),
            ) => return Err(error),
        };
        tokio::time::sleep(delay).await;
        step = next;
    }
}

/// What earlier requests of a call brought, which a later one that brings nothing must not hide.
#[derive(Default)]
struct SoFar {
    /// A call that may have reached the host, and no answer since.
    lost: Option<NoAnswer>,
    /// The newest answer about an invocation.
    known: Option<Envelope>,
}

impl SoFar {
    /// What is known after this answer to this request. A refusal without an invocation is about its own request
    /// alone: after a lost answer it doesn't say what became of the lost one, and after an unknown it settles
    /// nothing.
    fn after(&mut self, envelope: Envelope, step: &Step) -> Result<Envelope, CallError> {
        if envelope.request_id.is_some() {
            self.lost = None;
            return Ok(envelope);
        }
        match (step.about(), self.known.take(), self.lost) {
            (Some(_), Some(known), _) => Err(CallError::Answered(Box::new(known))),
            (None, _, Some(lost)) => Err(lost.into()),
            (Some(_), None, _) | (None, _, None) => Ok(envelope),
        }
    }

    fn silence(&mut self, no_answer: NoAnswer) {
        match no_answer.reach {
            Reach::MayHaveReached => self.lost = Some(no_answer),
            Reach::NotReached => {}
        }
    }

    /// The end, where no answer comes to the last request.
    fn without(self, no_answer: NoAnswer, step: &Step) -> CallError {
        match (step.about(), self.known) {
            // It stands as it was answered, as far as anybody here knows.
            (Some(_), Some(known)) => CallError::Answered(Box::new(known)),
            (Some(_), None) | (None, _) => match no_answer.reach {
                Reach::MayHaveReached => no_answer.into(),
                Reach::NotReached => self.lost.unwrap_or(no_answer).into(),
            },
        }
    }
}

impl Step {
    /// The invocation that it asks about; none: it is the call itself.
    const fn about(&self) -> Option<&RequestId> {
        match self {
            Self::Call => None,
            Self::SendStoredAgain(id) | Self::Wait(id) | Self::Fetch(id) => Some(id),
        }
    }

    /// What follows where this got no answer: the same call, or a look at the record. What sends anything by an id
    /// is not asked for twice without a look.
    fn after_silence(self) -> Self {
        match self {
            Self::Call => Self::Call,
            Self::SendStoredAgain(id) | Self::Wait(id) | Self::Fetch(id) => Self::Fetch(id),
        }
    }
}

impl Budget {
    /// What is done after this answer, and how long from now; none: nothing.
    fn step(&mut self, envelope: &Envelope) -> Option<(Step, Duration)> {
        match next_step(envelope) {
            Next::Done | Next::Stop => None,
            Next::CallAgain { after } => Some((Step::Call, self.delay(after)?)),
            Next::SendStoredAgain { id, after } => Some((Step::SendStoredAgain(id), self.delay(after)?)),
            Next::Fetch { id } => Some((Step::Fetch(id), self.delay(None)?)),
            Next::Wait { id } => {
                (self.waits_end() > Instant::now()).then_some((Step::Wait(id), Duration::ZERO))
            }
        }
    }

    /// When waiting ends; its time begins with the first wait.
    fn waits_end(&mut self) -> Instant {
        *self.waits_end.get_or_insert_with(|| after(self.retries.longest_wait))
    }

    /// The delay before another try, which is then counted; none where none is left or the delay is too long.
    fn delay(&mut self, asked: Option<Duration>) -> Option<Duration> {
        if self.tries >= self.retries.most {
            return None;
        }
        let grown = FIRST_DELAY.saturating_mul(1_u32.checked_shl(self.tries).unwrap_or(u32::MAX));
        let delay = asked.unwrap_or(grown.min(self.retries.longest_delay));
        if delay > self.retries.longest_delay {
            return None;
        }
        self.tries += 1;
        Some(delay)
    }
}
