//! Nothing is wrong with this one: it writes under each promise about a second arrival. `once` has none,
//! `same` is idempotent, `keyed` carries a key, `held` a precondition. The content is as long as the input's
//! `bytes` says.

use proofport_hostile_guests::{
    Call, Effect, Exchange, Hostile, HttpRequest, KeyPlace, KeyedContract, Manifest, Operation, Outcome,
    Reason, Repeat, Response, Role, Step, Verdict, done, header, manifest, operation, post, send, verdict,
};

struct This;

impl Hostile for This {
    fn describe() -> Manifest {
        let keyed = KeyedContract {
            place: KeyPlace::Header("idempotency-key".into()),
            scope: "account".into(),
            retention_seconds: Some(86_400),
            compares_payload: true,
            running_status: None,
            replay_header: None,
        };
        let operations = vec![
            under("once", Repeat::None),
            under("same", Repeat::Idempotent),
            under("keyed", Repeat::Keyed(keyed)),
            under("held", Repeat::Conditional),
        ];
        Manifest { operations, ..manifest() }
    }

    fn next(call: &Call, history: &[Exchange]) -> Step {
        match history.last().map(|exchange| &exchange.response) {
            None => {
                let body = Some(vec![b'a'; bytes(&call.input)]);
                let put = call.operation == "same" || call.operation == "held";
                let mut request = HttpRequest { body, ..post("/act") };
                if put {
                    request.method = "PUT".into();
                }
                if call.operation == "held" {
                    request.headers.push(header("if-match", "\"1\""));
                }
                send(Role::Effect, request)
            }
            Some(Response::Http(response)) => Step::Settle(read(response.status)),
            Some(Response::Ssh(_)) => Step::Settle(verdict(Outcome::Unknown, Reason::Unreadable, None)),
        }
    }
}

fn under(name: &str, repeat: Repeat) -> Operation {
    Operation { repeat, ..operation(name, "Changes something.", Effect::Write) }
}

/// What a service of good manners means by a status.
fn read(status: u16) -> Verdict {
    match status {
        202 => Verdict { reason: Reason::Accepted, ..done() },
        200..=299 | 303 => done(),
        401 => verdict(Outcome::Rejected, Reason::Unauthenticated, None),
        403 => verdict(Outcome::Rejected, Reason::Forbidden, None),
        404 => verdict(Outcome::Rejected, Reason::NotFound, None),
        409 => verdict(Outcome::Rejected, Reason::Conflict, None),
        412 => verdict(Outcome::Rejected, Reason::PreconditionFailed, None),
        421 | 425 | 429 => verdict(Outcome::Rejected, Reason::RateLimited, None),
        300..=399 | 408 | 502..=504 => verdict(Outcome::Unknown, Reason::Unavailable, None),
        400..=499 => verdict(Outcome::Rejected, Reason::InvalidInput, None),
        _ => verdict(Outcome::Committed, Reason::RemoteFailed, None),
    }
}

/// The number behind `"bytes":`; 8 where there is none.
fn bytes(input: &str) -> usize {
    let digits = input.split_once(r#""bytes":"#).map_or("8", |(_, rest)| rest);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().unwrap_or(8)
}

proofport_hostile_guests::hostile!(This);
