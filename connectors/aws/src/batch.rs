//! The verdict on a batch: of all children together, and of each.

use proofport_sdk::{ChildVerdict, Outcome, Reason, Value, Verdict};

/// What an answer says of one child.
#[derive(Clone)]
pub(crate) enum Fate {
    /// It was done; its output.
    Done(Option<Value>),
    /// It was refused; the failure's output.
    Refused(Reason, Option<Value>),
    /// It was answered, and the answer does not say what became of it.
    Unclear(Reason, Option<Value>),
    /// It was not answered, or more than once. The host takes it for unknown.
    Missing,
}

/// The verdict on children in the order of the input, each with its id. `output` is that of a batch of
/// which all was done.
pub(crate) fn verdict(fates: Vec<(String, Fate)>, output: Value) -> Verdict {
    let all = fates.len();
    let missing = fates.iter().any(|(_, fate)| matches!(fate, Fate::Missing));
    let children: Vec<_> =
        (0..).zip(fates).filter_map(|(index, (id, fate))| child(index, id, fate)).collect();
    let of = |outcome| children.iter().filter(move |child| child.outcome == outcome);
    let done = of(Outcome::Committed).count();
    let unclear = of(Outcome::Unknown).map(|child| child.reason).next();
    let verdict = if done == all {
        Verdict::committed(output)
    } else if done > 0 {
        Verdict::failed(Reason::Partial)
    } else if missing {
        Verdict::unknown(Reason::Unreadable)
    } else if let Some(reason) = unclear {
        Verdict::unknown(reason)
    } else {
        Verdict::rejected(shared_reason(&children))
    };
    verdict.children(children)
}

/// The verdict on a batch that was answered as a whole, and not with a success: each child shares its fate.
pub(crate) fn whole(ids: impl Iterator<Item = String>, verdict: Verdict) -> Verdict {
    let children = (0..).zip(ids).map(|(index, id)| ChildVerdict {
        index,
        id,
        outcome: verdict.outcome,
        success: false,
        reason: verdict.reason,
        output: verdict.output.clone(),
    });
    let children = children.collect();
    verdict.children(children)
}

fn child(index: u32, id: String, fate: Fate) -> Option<ChildVerdict> {
    let (outcome, success, reason, output) = match fate {
        Fate::Done(output) => (Outcome::Committed, true, Reason::Done, output),
        Fate::Refused(reason, output) => (Outcome::Rejected, false, reason, output),
        Fate::Unclear(reason, output) => (Outcome::Unknown, false, reason, output),
        Fate::Missing => return None,
    };
    Some(ChildVerdict {
        index,
        id,
        outcome,
        success,
        reason,
        output: output.map(|output| output.to_string()),
    })
}

/// Why all were refused: their common reason. Where they differ, no one advice is right for all.
fn shared_reason(children: &[ChildVerdict]) -> Reason {
    let first = children.first().map_or(Reason::Unavailable, |child| child.reason);
    if children.iter().all(|child| child.reason == first) { first } else { Reason::Conflict }
}
