//! Which children of a batch may be sent once more, and on what terms.
//!
//! They go out as an invocation of their own, linked to the first: the same input with only these items.
//! Each child is there by its own record (laws 3 and 6):
//!
//! - committed: never.
//! - rejected, and the row says `backoff`: once the delay that the remote asked for is over. Whatever has to
//!   be corrected first is a new call.
//! - unknown: where the operation is idempotent; and where it is keyed and the connector places the key,
//!   while the remote still knows it. There each child's key is made of the call's and the child's identity
//!   (a rule of the world for connectors), so that the remote knows a child again in other company. A key
//!   in a header is the whole request's: with other content it would be refused, or be answered with the
//!   first answer.
//!
//! What is unknown keeps the call's reference and time, by which its connector may have named it, and the
//! machine that had it. Under a keyed contract the linked invocation takes over the first one's key, with its expiry, exactly
//! where it carries something unknown. What was refused needs no key that is known already, and with a new
//! one it can't be answered with the first one's refusal.
//!
//! A batch whose own outcome is unknown may be repeated whole, by its contract. While that is so no child is
//! sent beside it. An atomic batch is never sent in parts.

use crate::batch::claims;
use crate::contract::{KeyPlace, Outcome, Repeat, Retry};
use crate::event::{Binding, Continues, CredentialUse, Dispatch, KeyUse, QueryPurpose};
use crate::evidence::{Evidence, PeerIdentity};
use crate::manifest::BatchMode;
use crate::state::{Attempt, State};
use crate::time::UnixMillis;

/// What may be sent once more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Again {
    /// Positions of the children that may be sent now, in order.
    pub children: Vec<u32>,
    /// Those of them that are unknown in the record.
    pub unknown: Vec<u32>,
    /// When the next one may be sent that the remote asked to hold back; none: there is none such.
    pub not_before: Option<UnixMillis>,
}

/// Which children of this batch may be sent once more now.
#[must_use]
pub fn again(state: &State, now: UnixMillis) -> Again {
    if !may_be_divided(state) {
        return Again::default();
    }
    let delayed_until = held_back_until(state).filter(|until| now < *until);
    let alone = is_known_alone(state);
    let mut again = Again::default();
    for claim in claims(state, now) {
        match (claim.outcome, claim.retry) {
            (Outcome::Rejected, Retry::Backoff) => match delayed_until {
                None => again.children.push(claim.index),
                Some(until) => again.not_before = Some(until),
            },
            (Outcome::Unknown, Retry::Backoff | Retry::SameIdempotencyKey) if alone => {
                again.children.push(claim.index);
                again.unknown.push(claim.index);
            }
            (Outcome::NotAttempted | Outcome::Committed, _)
            | (
                Outcome::Rejected,
                Retry::Never
                | Retry::AfterCorrection
                | Retry::SameIdempotencyKey
                | Retry::Reconcile
                | Retry::FetchResult,
            )
            | (
                Outcome::Unknown,
                Retry::Never
                | Retry::AfterCorrection
                | Retry::Backoff
                | Retry::SameIdempotencyKey
                | Retry::Reconcile
                | Retry::FetchResult,
            ) => {}
        }
    }
    again
}

/// Whether children may leave in other company than they came.
fn may_be_divided(state: &State) -> bool {
    let Some(binding) = &state.binding else { return false };
    let independent =
        binding.contract.batch.as_ref().is_some_and(|batch| batch.mode == BatchMode::Independent);
    // Nobody repeats the whole any more, or nobody may.
    let alone = state.settled.is_some() || !binding.contract.repeat.is_repeatable();
    independent && alone && state.dispatched() && state.active().is_none() && state.retry_at.is_none()
}

/// Whether the remote would know a child again that it may have carried out, in other company than it came:
/// by nothing that belongs to the whole request, as a key in a header does; not at another origin; and not
/// by what a query said once and nobody kept.
pub(super) fn is_known_alone(state: &State) -> bool {
    let by_whole = match state.binding.as_ref().map(|binding| &binding.contract.repeat) {
        Some(Repeat::Keyed(keyed)) => matches!(keyed.place, KeyPlace::Header(_)),
        Some(Repeat::None | Repeat::Idempotent | Repeat::Conditional) | None => false,
    };
    let sent_on = state.attempts.iter().any(|attempt| attempt.dispatch.follows.is_some());
    let prepared = state.queries.iter().any(|query| query.purpose == QueryPurpose::Prepare);
    !by_whole && !sent_on && !prepared
}

/// Until when the newest answer asked to wait.
fn held_back_until(state: &State) -> Option<UnixMillis> {
    let attempt = state.attempts.last()?;
    let end = attempt.end.as_ref()?;
    let delay = end.retry_after_seconds?;
    let micros = match &end.evidence {
        Evidence::Http(http) => http.micros,
        Evidence::Ssh(ssh) => ssh.micros,
    };
    let answered = UnixMillis(attempt.dispatch.at.0.saturating_add(micros.div_ceil(1000)));
    Some(answered.plus_seconds(delay.into()))
}

/// What an invocation takes over that sends these children of this batch; `children` and the unknown ones
/// among them as [`again`] says, or fewer.
#[must_use]
pub fn continues(state: &State, children: &[u32], unknown: &[u32]) -> Continues {
    let positions = (0..).zip(children).filter(|(_, child)| unknown.contains(child));
    let unknown: Vec<u32> = positions.map(|(position, _)| position).collect();
    let carried = !unknown.is_empty();
    Continues {
        parent: state.accepted.request_id,
        key: first_key(state).filter(|_| carried).cloned(),
        credential: state.credential.clone().filter(|_| carried),
        reference: state.binding.as_ref().map(|binding| binding.reference.clone()).filter(|_| carried),
        accepted_at: carried.then(|| state.accepted.known_since()),
        peer: machine(state).filter(|_| carried).cloned(),
        unknown,
    }
}

/// The machine that had the commands; none where there were none.
fn machine(state: &State) -> Option<&PeerIdentity> {
    let exec = |attempt: &&Attempt| attempt.end.as_ref().is_some_and(|end| end.evidence.ssh().is_some());
    state.attempts.iter().find(exec).map(|attempt| &attempt.dispatch.peer)
}

fn first_key(state: &State) -> Option<&KeyUse> {
    state.attempts.iter().find_map(|attempt| attempt.dispatch.key.as_ref())
}

/// Whether an effect that sends something unknown again may go out like this: as its contract permits, only
/// while the remote still knows it, and over SSH only to the machine that had it.
pub(crate) fn may_send_again(continues: &Continues, repeat: &Repeat, dispatch: &Dispatch) -> bool {
    if continues.unknown.is_empty() {
        return true;
    }
    let key = dispatch.key.as_ref();
    let permitted = match repeat {
        Repeat::Idempotent => true,
        Repeat::Keyed(keyed) => {
            let same = continues.key.as_ref() == key && key.is_some_and(|key| dispatch.at < key.expires);
            same && keyed.place == KeyPlace::Connector
        }
        Repeat::None | Repeat::Conditional => false,
    };
    permitted && continues.peer.as_ref().is_none_or(|peer| *peer == dispatch.peer)
}

/// Whether what is sent again keeps the reference that it was sent with.
pub(crate) fn keeps_its_reference(continues: &Continues, binding: &Binding) -> bool {
    continues.reference.as_ref().is_none_or(|reference| *reference == binding.reference)
}

/// Whether this is the credential that what is sent again was sent with.
pub(crate) fn is_same_credential(continues: &Continues, credential: &CredentialUse) -> bool {
    continues.unknown.is_empty() || continues.credential.as_ref() == Some(credential)
}
