//! What is done about unknowns, as far as their records permit it.

use proofport_broker::Broker;
use proofport_core::unknown::{NextStep, UnknownEffect};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// How many are attended to at once.
const AT_ONCE: usize = 8;

/// A move that may settle an unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Repeat,
    Ask,
}

/// Makes one move about each unknown that permits one, of the newest `most`.
///
/// # Panics
/// When a record can't be read.
pub(super) async fn attend(broker: &Broker, most: usize) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut moves = JoinSet::new();
    let unknowns = broker.unknowns().unwrap();
    for (id, next) in
        unknowns.iter().filter_map(|unknown| Some((unknown.request_id, next(unknown)?))).take(most)
    {
        let (broker, places) = (broker.clone(), Arc::clone(&places));
        moves.spawn(async move {
            let _place = places.acquire_owned().await.unwrap();
            // What comes of it is on record.
            match next {
                Move::Repeat => drop(broker.retry(&id).await.map(|delivery| delivery.confirmed())),
                Move::Ask => drop(broker.reconcile(&id).await.map(|delivery| delivery.confirmed())),
            }
        });
    }
    moves.join_all().await;
}

/// To send it again tells more than to ask; where that is not permitted, it is asked about.
fn next(unknown: &UnknownEffect) -> Option<Move> {
    let moves = unknown.next.iter().filter_map(|step| match step {
        NextStep::Repeat | NextStep::RepeatWithKey { .. } => Some(Move::Repeat),
        NextStep::Reconcile { .. } => Some(Move::Ask),
        NextStep::Wait | NextStep::Attest => None,
    });
    moves.min_by_key(|next| *next != Move::Repeat)
}
