//! A session that fails over and over at one operation is stopped: its call carries nothing out, and the
//! answer is its last failure.

use crate::broker::{CallRequest, Inner};
use crate::delivery::Delivery;
use proofport_core::code::Code;
use proofport_core::digest::Digest;
use proofport_core::failures::{self, FailureBudget, Mark};
use proofport_core::id::OperationName;
use proofport_core::state::State;
use proofport_core::time::UnixMillis;
use proofport_journal::{Journal, JournalError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Calls that are in a tally already and under way in this process, by whose they are. They have not
/// failed, so that many calls at once don't stop a session in which nothing fails.
#[derive(Clone, Default)]
pub(crate) struct UnderWay(Arc<Mutex<HashMap<Digest, u32>>>);

impl UnderWay {
    fn count(&self, whose: &Digest) -> u32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(whose).copied().unwrap_or(0)
    }

    fn enter(&self, whose: Digest) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(whose).or_default() += 1;
    }

    fn leave(&self, whose: &Digest) {
        let mut under_way = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = under_way.get_mut(whose) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                under_way.remove(whose);
            }
        }
    }
}

/// What one call's failure is counted against.
pub(crate) struct Account {
    whose: Digest,
    budget: FailureBudget,
    under_way: UnderWay,
    /// Whether this call is in the tally.
    counted: bool,
    /// Whether it is still among those that have not failed.
    entered: bool,
}

impl Account {
    /// What this call counts against: its session at its operation.
    pub(crate) fn of(
        under_way: &UnderWay,
        (principal, session): (&str, &str),
        operation: &OperationName,
        budget: FailureBudget,
    ) -> Self {
        let operation = operation.to_string();
        let parts = [principal, session, &operation];
        let whose = Digest::of_parts("proofport.failures/1", &parts.map(|part| part.as_bytes()));
        Self { whose, budget, under_way: under_way.clone(), counted: false, entered: false }
    }

    /// What goes into the tally with the events that led to this state.
    pub(crate) fn mark(
        &mut self,
        journal: &Journal,
        state: &State,
        now: UnixMillis,
    ) -> Result<Option<(Digest, Mark)>, JournalError> {
        if self.entered && state.active().is_none() {
            // Its first attempt is over: resting for another one is no success yet.
            self.leave();
        }
        let Some(mark) = failures::mark(state, self.counted, self.budget, now) else { return Ok(None) };
        match mark {
            // A read that succeeds where nothing failed has nothing to say.
            Mark::Succeeded if !self.counted && journal.tally(&self.whose)?.is_none() => return Ok(None),
            Mark::Succeeded => {}
            Mark::Failed { .. } => {
                self.counted = true;
                if state.active().is_some() {
                    self.entered = true;
                    self.under_way.enter(self.whose);
                }
            }
        }
        Ok(Some((self.whose, mark)))
    }

    fn leave(&mut self) {
        if std::mem::take(&mut self.entered) {
            self.under_way.leave(&self.whose);
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Inner {
    /// The answer to a call that is not carried out, since its session's budget is spent; none: it may be
    /// carried out.
    pub(crate) fn too_often(self: &Arc<Self>, account: &Account, request: &CallRequest) -> Option<Delivery> {
        let now = self.now();
        let under_way = account.under_way.count(&account.whose);
        let look = || {
            let Some(tally) = self.journal.tally(&account.whose)? else { return Ok(None) };
            let Some(until) = failures::spent(tally, under_way, account.budget, now) else { return Ok(None) };
            Ok(self.state(&tally.last)?.map(|state| (until, state)))
        };
        let (until, state) = match look() {
            Ok(spent) => spent?,
            Err(error) => {
                let error: crate::broker::ReadError = error;
                tracing::error!(%error, "a tally of failures could not be looked up");
                return Some(self.refusal(Code::Internal, Some(request.operation.clone())));
            }
        };
        let mut delivery = self.answer(&state, true);
        if delivery.envelope.ok() {
            // It was found since that the last one was no failure.
            return None;
        }
        delivery.envelope = delivery.envelope.too_often(until, now);
        Some(delivery)
    }
}
