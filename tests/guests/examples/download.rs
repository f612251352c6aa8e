//! Nothing is wrong with this one: it has contents stored that are too large to be shown. `fetch` reads
//! by `GET`, without a credential what is below `/open`; `export` writes by `POST`. Both take the input's
//! path, and their output says what was stored.

use proofport_hostile_guests::{
    Call, Effect, Exchange, Hostile, HttpRequest, Manifest, Operation, Outcome, Reason, Response, Role, Step, Verdict,
    failed, get, manifest, operation, post, send, verdict,
};

struct This;

impl Hostile for This {
    fn describe() -> Manifest {
        let operations = vec![
            stored("fetch", "Fetches something large.", Effect::Read),
            stored("export", "Makes something large.", Effect::Write),
        ];
        Manifest { operations, ..manifest() }
    }

    fn next(call: &Call, history: &[Exchange]) -> Step {
        let Some(path) = path(&call.input) else { return Step::Refuse(vec!["/path".into()]) };
        match history.last().map(|exchange| &exchange.response) {
            None if path.starts_with("/open") => {
                send(Role::Query, HttpRequest { credential: None, ..get(path) })
            }
            None if call.operation == "fetch" => send(Role::Query, get(path)),
            None => send(Role::Effect, post(path)),
            Some(Response::Http(response)) => Step::Settle(match (response.status, &response.stored) {
                (200..=299, Some(stored)) => {
                    let output = format!(r#"{{"bytes":{},"digest":"{}"}}"#, stored.bytes, stored.digest);
                    Verdict { success: true, ..verdict(Outcome::Committed, Reason::Done, Some(&output)) }
                }
                (200..=299, None) => verdict(Outcome::Committed, Reason::Unreadable, None),
                (status, _) => failed(status),
            }),
            Some(Response::Ssh(_)) => Step::Settle(verdict(Outcome::Unknown, Reason::Unreadable, None)),
        }
    }
}

fn stored(name: &str, summary: &str, effect: Effect) -> Operation {
    let input = r#"{"type":"object","properties":{"path":{"type":"string","pattern":"^/[A-Za-z0-9/._-]*$"}},"required":["path"],"additionalProperties":false}"#;
    let output = r#"{"type":"object","properties":{"bytes":{"type":"integer"},"digest":{"type":"string"}},"required":["bytes","digest"],"additionalProperties":false}"#;
    Operation {
        input_schema: input.into(),
        output_schema: output.into(),
        stores_content: true,
        ..operation(name, summary, effect)
    }
}

/// The path in an input that its schema holds to characters which JSON does not escape.
fn path(input: &str) -> Option<&str> {
    input.strip_prefix(r#"{"path":""#)?.strip_suffix(r#""}"#)
}

proofport_hostile_guests::hostile!(This);
