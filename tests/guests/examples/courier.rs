//! Nothing is wrong with this one: it writes under each promise about a second arrival, and takes every
//! credential. `act`, `keyed` and `idempotent` write by `POST`; `prepared` asks by `GET /look` before it
//! does; `aim` writes to the origin and the path in its input, however they are spelled.

use proofport_hostile_guests::{
    Call, CredentialSlot, Effect, Exchange, Hostile, HttpRequest, InjectionMode, KeyPlace, KeyedContract,
    Manifest, Operation, Outcome, Reason, Repeat, Response, Role, Step, done, failed, get, manifest,
    operation, post, send, verdict,
};

struct This;

impl Hostile for This {
    fn describe() -> Manifest {
        let keyed = Repeat::Keyed(KeyedContract {
            place: KeyPlace::Header("Idempotency-Key".into()),
            scope: "account".into(),
            retention_seconds: Some(86_400),
            compares_payload: true,
            running_status: None,
            replay_header: None,
        });
        let mut operations = manifest().operations;
        operations.extend([
            Operation { repeat: keyed, ..operation("keyed", "Changes something once.", Effect::Write) },
            Operation {
                repeat: Repeat::Idempotent,
                ..operation("idempotent", "Sets something.", Effect::Write)
            },
            operation("prepared", "Looks, then changes something.", Effect::Write),
            operation("aim", "Changes something somewhere.", Effect::Write),
        ]);
        let credential_slots = vec![CredentialSlot {
            name: "key".into(),
            purpose: "Authenticates requests.".into(),
            modes: vec![
                InjectionMode::HttpBearer,
                InjectionMode::AwsSigv4,
                InjectionMode::TlsClientCertificate,
                InjectionMode::HttpBasic,
                InjectionMode::HttpHeader,
                InjectionMode::HttpQuery,
            ],
        }];
        Manifest { operations, credential_slots, ..manifest() }
    }

    fn next(call: &Call, history: &[Exchange]) -> Step {
        let asked = history.len();
        match history.last().map(|exchange| &exchange.response) {
            None if call.operation == "look" => send(Role::Query, get("/look?b=2&a=1")),
            None if call.operation == "prepared" => send(Role::Query, get("/look")),
            None if call.operation == "aim" => send(Role::Effect, aimed(&call.input)),
            None => send(Role::Effect, post(&format!("/{}", call.operation))),
            Some(_) if call.operation == "prepared" && asked == 1 => send(Role::Effect, post("/prepared")),
            Some(Response::Http(response)) => Step::Settle(match response.status {
                200..=299 => done(),
                status => failed(status),
            }),
            Some(Response::Ssh(_)) => Step::Settle(verdict(Outcome::Unknown, Reason::Unreadable, None)),
        }
    }
}

/// The request that an input like `{"at":["ORIGIN","PATH"]}` asks for, in canonical JSON. An empty
/// origin is the first.
fn aimed(input: &str) -> HttpRequest {
    let inner = input.strip_prefix(r#"{"at":[""#).and_then(|rest| rest.strip_suffix(r#""]}"#));
    let (origin, path) = inner.and_then(|inner| inner.split_once(r#"",""#)).unwrap_or_default();
    let origin = (!origin.is_empty()).then(|| origin.replace(r"\\", r"\"));
    HttpRequest { origin, ..post(&path.replace(r"\\", r"\")) }
}

proofport_hostile_guests::hostile!(This);
