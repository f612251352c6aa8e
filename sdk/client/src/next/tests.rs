//! Every combination of what an answer can say about what comes next, against a table of what is permitted.

use super::*;

const ID: &str = "act_aaaaaaaaaaaaaaaaaaaaaaaaaa";
const OUTCOMES: [Option<Outcome>; 5] = [
    None,
    Some(Outcome::NotAttempted),
    Some(Outcome::Rejected),
    Some(Outcome::Committed),
    Some(Outcome::Unknown),
];
const UNKNOWN: &[Option<Outcome>] = &[Some(Outcome::Unknown)];
const NOTHING_HAPPENED: &[Option<Outcome>] = &[Some(Outcome::NotAttempted), Some(Outcome::Rejected)];

/// What a program may do by itself.
#[derive(Clone, Copy)]
enum May {
    /// The same call again; needs `retryable` and `retry_after_delay`.
    CallAgain,
    /// The others need an id.
    SendStoredAgain,
    Wait,
    Fetch,
}

/// Where it may. What is in no row is nothing that may be done.
struct Row {
    codes: &'static [Code],
    outcomes: &'static [Option<Outcome>],
    retries: &'static [Retry],
    owners: &'static [RetryOwner],
    may: May,
}

const LOST: &[Code] = &[Code::OutcomeUnknown, Code::RemoteResultIncomplete];
const REFUSED: &[Code] =
    &[Code::ConnectFailed, Code::PreparationFailed, Code::RateLimited, Code::ConfirmedAbsent];

const ROWS: [Row; 8] = [
    Row {
        codes: &[Code::ApprovalPending, Code::InProgress],
        outcomes: &OUTCOMES,
        retries: Retry::ALL,
        owners: RetryOwner::ALL,
        may: May::Wait,
    },
    Row {
        codes: LOST,
        outcomes: UNKNOWN,
        retries: &[Retry::Backoff, Retry::SameIdempotencyKey, Retry::Reconcile],
        owners: &[RetryOwner::Host],
        may: May::Wait,
    },
    Row {
        codes: LOST,
        outcomes: UNKNOWN,
        retries: &[Retry::SameIdempotencyKey],
        owners: &[RetryOwner::Caller, RetryOwner::Operator],
        may: May::SendStoredAgain,
    },
    // A read: an unknown write is never the caller's.
    Row {
        codes: LOST,
        outcomes: UNKNOWN,
        retries: &[Retry::Backoff],
        owners: &[RetryOwner::Caller],
        may: May::CallAgain,
    },
    Row {
        codes: REFUSED,
        outcomes: NOTHING_HAPPENED,
        retries: &[Retry::Backoff],
        owners: &[RetryOwner::Caller],
        may: May::CallAgain,
    },
    Row {
        codes: REFUSED,
        outcomes: NOTHING_HAPPENED,
        retries: &[Retry::Backoff],
        owners: &[RetryOwner::Host],
        may: May::Wait,
    },
    Row {
        codes: &[Code::RemoteFailed, Code::ResultUnreadable, Code::Partial],
        outcomes: &OUTCOMES,
        retries: Retry::ALL,
        owners: &[RetryOwner::Host],
        may: May::Wait,
    },
    Row {
        codes: &[Code::ResultUndelivered],
        outcomes: &OUTCOMES,
        retries: &[Retry::FetchResult],
        owners: RetryOwner::ALL,
        may: May::Fetch,
    },
];

fn expected(envelope: &Envelope, code: Code) -> Next {
    let row = ROWS.iter().find(|row| {
        row.codes.contains(&code)
            && row.outcomes.contains(&envelope.outcome)
            && row.retries.contains(&envelope.retry)
            && row.owners.contains(&envelope.retry_owner)
    });
    let after = envelope.retry_after_seconds.map(|seconds| Duration::from_secs(seconds.into()));
    let said = envelope.retryable && envelope.action == Some(Action::RetryAfterDelay);
    match (row.map(|row| row.may), envelope.request_id.clone()) {
        // What may have happened without an id is no read that was carried out.
        (Some(May::CallAgain), None) if LOST.contains(&code) => Next::Stop,
        (Some(May::CallAgain), _) if said => Next::CallAgain { after },
        (Some(May::SendStoredAgain), Some(id)) => Next::SendStoredAgain { id, after },
        (Some(May::Wait), Some(id)) => Next::Wait { id },
        (Some(May::Fetch), Some(id)) => Next::Fetch { id },
        (Some(May::CallAgain | May::SendStoredAgain | May::Wait | May::Fetch) | None, _) => Next::Stop,
    }
}

fn plain() -> Envelope {
    serde_json::from_value(serde_json::json!({
        "ok": false, "schema": "proofport.envelope/1", "message": "", "retryable": false, "retry": "never",
        "retry_owner": "nobody", "repeated": false,
        "evidence": {
            "dispatch_started": false, "request_complete": false, "response_headers_received": false,
            "response_complete": false, "masked": 0,
        },
    }))
    .unwrap()
}

#[test]
fn only_what_is_permitted_follows() {
    let actions: Vec<Option<Action>> =
        [None].into_iter().chain(Action::ALL.iter().copied().map(Some)).collect();
    let mut envelope = plain();
    let mut counts = [0_usize; 6];
    for (id, after) in
        [(None, None), (None, Some(7)), (Some(ID), None), (Some(ID), Some(0)), (Some(ID), Some(7))]
    {
        envelope.request_id = id.map(|id| RequestId::parse(id).unwrap());
        envelope.retry_after_seconds = after;
        for code in Code::ALL.iter().copied() {
            envelope.code = Some(code);
            for outcome in OUTCOMES {
                envelope.outcome = outcome;
                for retry in Retry::ALL.iter().copied() {
                    envelope.retry = retry;
                    for owner in RetryOwner::ALL.iter().copied() {
                        envelope.retry_owner = owner;
                        for action in actions.iter().copied() {
                            envelope.action = action;
                            for retryable in [false, true] {
                                envelope.retryable = retryable;
                                let next = next_step(&envelope);
                                assert_eq!(next, expected(&envelope, code), "{envelope:?}");
                                counts[kind(&next)] += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    // A table that is never met would agree with everything.
    assert_eq!(counts[kind(&Next::Done)], 0, "a code and done");
    assert!(counts[1..].iter().all(|count| *count > 0), "{counts:?}");
}

fn kind(next: &Next) -> usize {
    match next {
        Next::Done => 0,
        Next::CallAgain { .. } => 1,
        Next::SendStoredAgain { .. } => 2,
        Next::Wait { .. } => 3,
        Next::Fetch { .. } => 4,
        Next::Stop => 5,
    }
}

#[test]
fn nothing_follows_a_success_nor_what_is_neither() {
    let check = |ok: bool, code: Option<Code>, expected: Next| {
        let envelope = Envelope { ok, code, request_id: Some(RequestId::parse(ID).unwrap()), ..plain() };
        assert_eq!(next_step(&envelope), expected, "{ok} {code:?}");
    };
    check(true, None, Next::Done);
    check(false, None, Next::Stop);
    for code in Code::ALL.iter().copied() {
        check(true, Some(code), Next::Stop);
    }
}
