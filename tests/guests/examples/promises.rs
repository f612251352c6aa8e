//! Nothing is wrong with this one: its operations differ in what they promise. `act` and `drop` write by
//! `POST` and `DELETE` and promise nothing, `busy` does no work where it answers 503, `same` is
//! idempotent, `keyed` carries a key, `marked` one whose first answer the service keeps and marks.

use proofport_hostile_guests::{
    Call, Effect, Exchange, Hostile, HttpRequest, KeyPlace, KeyedContract, Manifest, Operation, Outcome,
    Reason, Repeat, Response, Role, Step, done, failed, get, manifest, operation, post, send, verdict,
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
        let marked = KeyedContract {
            running_status: Some(409),
            replay_header: Some("Idempotent-Replayed".into()),
            ..keyed.clone()
        };
        let write = |name, repeat| Operation { repeat, ..operation(name, "Changes it.", Effect::Write) };
        let operations = vec![
            write("act", Repeat::None),
            write("drop", Repeat::None),
            Operation { statuses_before_work: vec![503], ..write("busy", Repeat::None) },
            write("same", Repeat::Idempotent),
            write("keyed", Repeat::Keyed(keyed)),
            write("marked", Repeat::Keyed(marked)),
        ];
        Manifest { operations, ..manifest() }
    }

    fn next(call: &Call, history: &[Exchange]) -> Step {
        let busy = call.operation == "busy";
        match history.last().map(|exchange| &exchange.response) {
            None if call.operation == "drop" => {
                send(Role::Effect, HttpRequest { method: "DELETE".into(), ..get("/act") })
            }
            None => send(Role::Effect, post("/act")),
            Some(Response::Http(response)) => Step::Settle(match response.status {
                200..=299 => done(),
                503 if busy => verdict(Outcome::Rejected, Reason::Unavailable, None),
                status => failed(status),
            }),
            Some(Response::Ssh(_)) => Step::Settle(verdict(Outcome::Unknown, Reason::Unreadable, None)),
        }
    }
}

proofport_hostile_guests::hostile!(This);
