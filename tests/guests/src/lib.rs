//! What hostile guests share: an ordinary manifest, ordinary steps, and a way to replace just the
//! step that misbehaves. They use the world's bindings as they are, since the guest crate for honest
//! connectors would keep them from breaking rules.

wit_bindgen::generate!({
    path: "../../wit",
    world: "connector-world",
    pub_export_macro: true,
    export_macro_name: "export_world",
});

pub use exports::proofport::connector::connector::Guest;
pub use proofport::connector::types::*;

/// A guest in which one thing is wrong. What it leaves out is done as an honest connector does it.
pub trait Hostile {
    /// What it declares.
    fn describe() -> Manifest {
        manifest()
    }

    /// Its next step.
    fn next(call: &Call, history: &[Exchange]) -> Step {
        honest(call, history)
    }

    /// Its next step of a reconciliation.
    fn reconcile(_call: &Call, _history: &[Exchange]) -> ReconcileStep {
        ReconcileStep::Settle(verdict(Outcome::Unknown, Reason::Unreadable, None))
    }
}

/// Exports a [`Hostile`] guest as a connector.
#[macro_export]
macro_rules! hostile {
    ($guest:ident) => {
        struct Exported;

        impl $crate::Guest for Exported {
            fn describe(_config: String) -> $crate::Manifest {
                <$guest as $crate::Hostile>::describe()
            }

            fn next(call: $crate::Call, history: Vec<$crate::Exchange>) -> $crate::Step {
                <$guest as $crate::Hostile>::next(&call, &history)
            }

            fn reconcile(
                call: $crate::Call,
                _evidence: $crate::Evidence,
                history: Vec<$crate::Exchange>,
            ) -> $crate::ReconcileStep {
                <$guest as $crate::Hostile>::reconcile(&call, &history)
            }
        }

        $crate::export_world!(Exported with_types_in $crate);
    };
}

/// Two operations: `act` writes by `POST /act` and promises nothing about a second arrival, `look`
/// reads by `GET /look`. One optional credential, in the slot `key`.
pub fn manifest() -> Manifest {
    Manifest {
        name: "hostile".into(),
        version: "0.1.0".into(),
        summary: "A connector that misbehaves.".into(),
        config_schema: r#"{"type":"object"}"#.into(),
        credential_slots: vec![CredentialSlot {
            name: "key".into(),
            purpose: "Authenticates requests.".into(),
            modes: vec![InjectionMode::HttpBearer, InjectionMode::HttpHeader],
        }],
        operations: vec![
            operation("act", "Changes something.", Effect::Write),
            operation("look", "Looks at something.", Effect::Read),
        ],
        query_templates: Vec::new(),
    }
}

/// An operation without promises. Its output is `{"ok": boolean}`.
pub fn operation(name: &str, summary: &str, effect: Effect) -> Operation {
    let output = r#"{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}"#;
    Operation {
        name: name.into(),
        summary: summary.into(),
        input_schema: r#"{"type":"object"}"#.into(),
        output_schema: output.into(),
        failure_schema: None,
        effect,
        repeat: Repeat::None,
        statuses_before_work: Vec::new(),
        reconcile: None,
        batch: None,
        job_operation: None,
        completion_marker: None,
        kept_headers: Vec::new(),
        stores_content: false,
        stop: None,
        raw_commands: false,
    }
}

/// What an honest connector does: sends the operation's one request, then reads the answer.
pub fn honest(call: &Call, history: &[Exchange]) -> Step {
    match history.last().map(|exchange| &exchange.response) {
        None if call.operation == "look" => send(Role::Query, get("/look")),
        None => send(Role::Effect, post("/act")),
        Some(Response::Http(response)) => Step::Settle(match response.status {
            200..=299 => done(),
            status => failed(status),
        }),
        Some(Response::Ssh(_)) => Step::Settle(verdict(Outcome::Unknown, Reason::Unreadable, None)),
    }
}

/// The verdict of a success.
pub fn done() -> Verdict {
    Verdict { success: true, ..verdict(Outcome::Committed, Reason::Done, Some(r#"{"ok":true}"#)) }
}

/// The verdict on a status that is not of class 2xx.
pub fn failed(status: u16) -> Verdict {
    match status {
        400..=499 => verdict(Outcome::Rejected, Reason::InvalidInput, None),
        500 => verdict(Outcome::Committed, Reason::RemoteFailed, None),
        _ => verdict(Outcome::Unknown, Reason::Unavailable, None),
    }
}

/// A verdict without success.
pub fn verdict(outcome: Outcome, reason: Reason, output: Option<&str>) -> Verdict {
    Verdict {
        outcome,
        success: false,
        reason,
        output: output.map(Into::into),
        retry_after_seconds: None,
        children: Vec::new(),
        job: None,
    }
}

/// A step that sends.
pub fn send(role: Role, request: HttpRequest) -> Step {
    let summary = format!("{} {}", request.method, request.path);
    Step::Send(Send { role, request: Request::Http(request), summary })
}

/// `GET`, with the credential.
pub fn get(path: &str) -> HttpRequest {
    HttpRequest {
        origin: None,
        method: "GET".into(),
        path: path.into(),
        headers: Vec::new(),
        body: None,
        credential: Some("key".into()),
    }
}

/// `POST` of a small form, with the credential.
pub fn post(path: &str) -> HttpRequest {
    HttpRequest { method: "POST".into(), body: Some(b"amount=1".to_vec()), ..get(path) }
}

/// A header.
pub fn header(name: &str, value: &str) -> Header {
    Header { name: name.into(), value: value.into() }
}
