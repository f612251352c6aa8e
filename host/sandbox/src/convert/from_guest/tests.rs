//! The rules, as tables: an ordinary answer with one thing changed, and the breach that it is.

use super::*;
use crate::fault::{FieldPlace, ManifestProblem};
use proofport_core::contract::{KeyPlace, Outcome, Repeat};
use proofport_core::exchange::Request;
use proofport_core::id::{Name, RequestId};
use proofport_core::manifest::{Manifest, QueryTemplate};
use proofport_core::origin::Origin;
use proofport_core::time::UnixMillis;
use std::sync::Arc;

fn wit_operation() -> wit::Operation {
    let schema = r#"{"type":"object","properties":{"amount":{"type":"integer"}}}"#.to_owned();
    wit::Operation {
        name: "act".to_owned(),
        summary: "Acts.".to_owned(),
        input_schema: schema.clone(),
        output_schema: schema,
        failure_schema: None,
        effect: wit::Effect::Write,
        repeat: wit::Repeat::Keyed(wit::KeyedContract {
            place: wit::KeyPlace::Header("X-Once".to_owned()),
            scope: "account".to_owned(),
            retention_seconds: Some(60),
            compares_payload: true,
            running_status: Some(409),
            replay_header: Some("Replayed".to_owned()),
        }),
        statuses_before_work: vec![429, 503],
        reconcile: None,
        batch: None,
        job_operation: None,
        completion_marker: None,
        kept_headers: vec!["Request-Id".to_owned()],
        stores_content: false,
        stop: None,
        raw_commands: false,
    }
}

fn grace(seconds: u32) -> Option<wit::StopContract> {
    Some(wit::StopContract { grace_seconds: seconds })
}

fn wit_manifest() -> wit::Manifest {
    let read = wit::Operation {
        name: "look".to_owned(),
        stores_content: true,
        effect: wit::Effect::Read,
        repeat: wit::Repeat::Idempotent,
        ..wit_operation()
    };
    wit::Manifest {
        name: "example".to_owned(),
        version: "1.0.0".to_owned(),
        summary: "An example.".to_owned(),
        config_schema: r#"{"type":"object"}"#.to_owned(),
        credential_slots: vec![wit::CredentialSlot {
            name: "key".to_owned(),
            purpose: "Authenticates.".to_owned(),
            modes: vec![wit::InjectionMode::HttpBearer],
        }],
        operations: vec![wit_operation(), read],
        query_templates: vec![
            wit::QueryTemplate::Http(wit::HttpQueryTemplate {
                method: "POST".to_owned(),
                path: "/search/{}".to_owned(),
            }),
            wit::QueryTemplate::Ssh(vec!["cat".to_owned(), "{}".to_owned()]),
        ],
    }
}

fn read_manifest(change: impl FnOnce(&mut wit::Manifest)) -> Result<Manifest, Breach> {
    let mut given = wit_manifest();
    change(&mut given);
    manifest(given)
}

fn rules(operation: &str) -> Rules {
    Rules {
        origins: ["https://a.example", "https://b.example:8443"].map(|o| Origin::parse(o).unwrap()).to_vec(),
        manifest: Arc::new(read_manifest(|_| {}).unwrap()),
        operation: Name::parse(operation).unwrap(),
        ssh_hosts: vec!["ops@box:22".to_owned()],
        raw_commands: false,
    }
}

fn call() -> Call {
    Call {
        operation: Name::parse("act").unwrap(),
        input: r#"{"amount":1}"#.to_owned(),
        config: "{}".to_owned(),
        reference: RequestId::from_random([0; 16]).reference(),
        idempotency_key: None,
        accepted_at: UnixMillis(0),
    }
}

fn http() -> wit::HttpRequest {
    wit::HttpRequest {
        origin: None,
        method: "POST".to_owned(),
        path: "/act".to_owned(),
        headers: vec![field("Content-Type", "text/plain")],
        body: None,
        credential: Some("key".to_owned()),
    }
}

fn field(name: &str, value: &str) -> wit::Header {
    wit::Header { name: name.to_owned(), value: value.to_owned() }
}

fn sent(role: wit::Role, request: wit::Request, operation: &str) -> Result<Send, Breach> {
    let send = wit::Send { role, request, summary: "Act once".to_owned() };
    match step(wit::Step::Send(send), &call(), &[], &rules(operation))? {
        Step::Send(send) => Ok(send),
        other @ (Step::Settle(_) | Step::Refuse(_)) => panic!("{other:?}"),
    }
}

fn effect(change: impl FnOnce(&mut wit::HttpRequest)) -> Result<Send, Breach> {
    let mut request = http();
    change(&mut request);
    sent(wit::Role::Effect, wit::Request::Http(request), "act")
}

#[test]
fn an_ordinary_request_is_resolved_and_lower_cased() {
    let Request::Http(http) = effect(|_| {}).unwrap().request else { panic!("not HTTP") };
    assert_eq!(http.origin.to_string(), "https://a.example", "none is the first");
    assert_eq!(http.headers[0].name, "content-type");
    let second = effect(|request| request.origin = Some("https://b.example:8443".to_owned())).unwrap();
    let Request::Http(http) = second.request else { panic!("not HTTP") };
    assert_eq!(http.origin.port(), 8443);
}

#[test]
fn requests_are_held_against_the_rules() {
    let check = |change: fn(&mut wit::HttpRequest), expected: Breach| {
        assert_eq!(effect(change).unwrap_err(), expected);
    };
    check(|r| r.origin = Some("https://a.example:444".to_owned()), Breach::UnlistedOrigin);
    check(|r| r.origin = Some("http://a.example".to_owned()), Breach::UnlistedOrigin);
    check(|r| r.origin = Some("https://a.example@evil.example".to_owned()), Breach::UnlistedOrigin);
    check(|r| r.origin = Some(String::new()), Breach::UnlistedOrigin);
    check(|r| r.path = "//evil.example/act".to_owned(), Breach::InvalidPath);
    check(|r| r.path = "/a/../b".to_owned(), Breach::InvalidPath);
    check(|r| r.path = "https://evil.example/".to_owned(), Breach::InvalidPath);
    check(|r| r.path = "/a b".to_owned(), Breach::InvalidPath);
    for method in ["", "post", "CONNECT", "TRACE", "GET /x", "P\r\nX"] {
        let error = effect(|r| r.method = method.to_owned()).unwrap_err();
        assert_eq!(error, Breach::InvalidMethod, "{method:?}");
    }
    for name in ["Authorization", "HOST", "content-length", "Transfer-Encoding", "Cookie", "expect"] {
        let error = effect(|r| r.headers = vec![field(name, "x")]).unwrap_err();
        assert_eq!(error, Breach::HostOwnedHeader, "{name}");
    }
    // The host writes the key of a keyed contract, under whatever name the contract gives.
    check(|r| r.headers = vec![field("x-ONCE", "mine")], Breach::HostOwnedHeader);
    check(|r| r.headers = vec![field("Idempotency-Key", "mine")], Breach::HostOwnedHeader);
    check(|r| r.headers = vec![field("a b", "x")], Breach::InvalidHeader);
    check(|r| r.headers = vec![field("a", "x\r\nb: y")], Breach::InvalidHeader);
    check(|r| r.headers = vec![field("a", "x"); 65], Breach::InvalidHeader);
    check(|r| r.credential = Some("other".to_owned()), Breach::UnknownSlot);
    check(|r| r.credential = Some("NOT A NAME".to_owned()), Breach::UnknownSlot);
}

#[test]
fn only_queries_are_sent_as_queries() {
    let check = |change: fn(&mut wit::HttpRequest), allowed: bool| {
        let mut request = http();
        change(&mut request);
        let got = sent(wit::Role::Query, wit::Request::Http(request.clone()), "act");
        assert_eq!(got.is_ok(), allowed, "{} {}: {got:?}", request.method, request.path);
        assert!(allowed || got.unwrap_err() == Breach::NotAQuery);
    };
    check(|r| r.method = "GET".to_owned(), true);
    check(|r| r.method = "HEAD".to_owned(), true);
    check(|_| {}, false);
    check(|r| r.method = "DELETE".to_owned(), false);
    check(|r| r.path = "/search/x".to_owned(), true);
    check(|r| r.path = "/search/x?page=2".to_owned(), true);
    check(|r| r.path = "/search/x/y".to_owned(), false);
    check(|r| r.path = "/search/".to_owned(), false);
    check(
        |r| {
            r.method = "GET".to_owned();
            r.body = Some(b"x".to_vec());
        },
        false,
    );
}

#[test]
fn a_read_sends_no_effect() {
    assert_eq!(
        sent(wit::Role::Effect, wit::Request::Http(http()), "look").unwrap_err(),
        Breach::EffectInRead
    );
}

#[test]
fn ssh_commands_are_held_against_the_rules() {
    let base = || wit::SshRequest {
        host: None,
        command: wit::SshCommand::Argv(vec!["cat".to_owned(), "/etc/hostname".to_owned()]),
        environment: Vec::new(),
        stdin: None,
        credential: None,
    };
    let check = |change: fn(&mut wit::SshRequest), role: wit::Role, expected: Result<(), Breach>| {
        let mut request = base();
        change(&mut request);
        assert_eq!(sent(role, wit::Request::Ssh(request), "act").map(|_| ()), expected);
    };
    use wit::Role::{Effect, Query};
    check(|_| {}, Query, Ok(()));
    check(|_| {}, Effect, Ok(()));
    check(|r| r.host = Some("ops@box:22".to_owned()), Query, Ok(()));
    check(|r| r.host = Some("ops@elsewhere:22".to_owned()), Query, Err(Breach::UnlistedHost));
    check(|r| r.command = wit::SshCommand::Argv(vec!["rm".to_owned()]), Query, Err(Breach::NotAQuery));
    check(|r| r.command = wit::SshCommand::Argv(Vec::new()), Effect, Err(Breach::InvalidCommand));
    check(
        |r| r.command = wit::SshCommand::Argv(vec!["a\0b".to_owned()]),
        Effect,
        Err(Breach::InvalidCommand),
    );
    // What was reviewed is an argument vector: nothing goes with it, and no option stands for an argument.
    check(|r| r.stdin = Some(b"DELETE".to_vec()), Query, Err(Breach::NotAQuery));
    check(|r| r.stdin = Some(Vec::new()), Query, Ok(()));
    check(|r| r.stdin = Some(b"DELETE".to_vec()), Effect, Ok(()));
    check(|r| r.environment = vec![("A".to_owned(), "b".to_owned())], Query, Err(Breach::NotAQuery));
    check(
        |r| r.command = wit::SshCommand::Argv(vec!["cat".to_owned(), "-n".to_owned()]),
        Query,
        Err(Breach::NotAQuery),
    );
    check(|r| r.command = wit::SshCommand::Raw("ls".to_owned()), Effect, Err(Breach::RawCommand));
    check(|r| r.environment = vec![("A=B".to_owned(), String::new())], Effect, Err(Breach::InvalidCommand));
}

#[test]
fn a_raw_command_needs_the_connections_word_and_the_operations() {
    let request = wit::Request::Ssh(wit::SshRequest {
        host: None,
        command: wit::SshCommand::Raw("df -h | tail".to_owned()),
        environment: Vec::new(),
        stdin: None,
        credential: None,
    });
    let send = wit::Send { role: wit::Role::Effect, request, summary: "Look".to_owned() };
    for (declared, allowed) in [(true, true), (true, false), (false, true), (false, false)] {
        let rules = rules("act");
        let mut manifest = (*rules.manifest).clone();
        manifest.operations[0].raw_commands = declared;
        let rules = Rules { raw_commands: allowed, manifest: Arc::new(manifest), ..rules };
        let step = step(wit::Step::Send(send.clone()), &call(), &[], &rules);
        let expected = if declared && allowed { None } else { Some(Breach::RawCommand) };
        assert_eq!(step.err(), expected, "{declared} {allowed}");
    }
}

#[test]
fn summaries_are_one_plain_line() {
    for bad in ["", "  ", "a\nb", "\u{1b}[2J", "pay \u{202e}001", &"x".repeat(501)] {
        let send = wit::Send {
            role: wit::Role::Effect,
            request: wit::Request::Http(http()),
            summary: bad.to_owned(),
        };
        let got = step(wit::Step::Send(send), &call(), &[], &rules("act"));
        assert_eq!(got.unwrap_err(), Breach::InvalidSummary, "{bad:?}");
    }
}

fn wit_verdict() -> wit::Verdict {
    wit::Verdict {
        outcome: wit::Outcome::Committed,
        success: true,
        reason: wit::Reason::Done,
        output: Some(r#"{"amount":1}"#.to_owned()),
        retry_after_seconds: Some(3),
        children: vec![wit::ChildVerdict {
            index: 0,
            id: "a".to_owned(),
            outcome: wit::Outcome::Rejected,
            success: false,
            reason: wit::Reason::Conflict,
            output: None,
        }],
        job: None,
    }
}

#[test]
fn verdicts_are_read() {
    let settle = |verdict: wit::Verdict| step(wit::Step::Settle(verdict), &call(), &[], &rules("act"));
    let Step::Settle(verdict) = settle(wit_verdict()).unwrap() else { panic!("not settled") };
    assert_eq!(verdict.output, Some(serde_json::json!({"amount": 1})));
    assert_eq!(verdict.children[0].outcome, Outcome::Rejected);

    let mut broken = wit_verdict();
    broken.output = Some("{".to_owned());
    assert_eq!(settle(broken).unwrap_err(), Breach::InvalidJson(FieldPlace::Output));
    let mut broken = wit_verdict();
    broken.children[0].output = Some("1 2".to_owned());
    assert_eq!(settle(broken).unwrap_err(), Breach::InvalidJson(FieldPlace::ChildOutput));
    let mut broken = wit_verdict();
    broken.job = Some(wit::Job { id: String::new() });
    assert_eq!(settle(broken).unwrap_err(), Breach::InvalidJob);
}

#[test]
fn a_refusal_names_fields_of_the_input() {
    let refuse =
        |pointer: &str| step(wit::Step::Refuse(vec![pointer.to_owned()]), &call(), &[], &rules("act"));
    assert_eq!(refuse("/amount").unwrap(), Step::Refuse(vec!["/amount".to_owned()]));
    assert_eq!(refuse("/nothing").unwrap_err(), Breach::InvalidField);
}

#[test]
fn an_ordinary_manifest_is_read() {
    let manifest = read_manifest(|_| {}).unwrap();
    let act = &manifest.operations[0];
    assert_eq!(act.kept_headers, ["request-id"]);
    let Repeat::Keyed(keyed) = &act.contract.repeat else { panic!("not keyed") };
    assert_eq!(keyed.place, KeyPlace::Header("x-once".to_owned()));
    assert_eq!(keyed.replay_header.as_deref(), Some("replayed"));
    assert_eq!(manifest.query_templates.len(), 2);
    assert!(matches!(&manifest.query_templates[0], QueryTemplate::Http { path, .. } if path == "/search/{}"));
}

#[test]
fn an_operation_says_whether_its_content_is_stored() {
    let manifest = read_manifest(|_| {}).unwrap();
    let check = |name: &str, expected: bool| {
        let operation = manifest.operation(&Name::parse(name).unwrap()).unwrap();
        assert_eq!(operation.stores_content, expected, "{name}");
    };
    check("act", false);
    check("look", true);
}

#[test]
fn manifests_are_held_against_the_rules() {
    use ManifestProblem as P;
    let act = || Name::parse("act").unwrap();
    let check = |change: fn(&mut wit::Manifest), expected: P| {
        assert_eq!(read_manifest(change).unwrap_err(), Breach::InvalidManifest(expected));
    };
    check(|m| m.name = "No".to_owned(), P::InvalidName);
    check(|m| m.version = "1".to_owned(), P::InvalidVersion);
    check(|m| m.summary = "a\u{7}".to_owned(), P::InvalidText);
    check(|m| m.operations.clear(), P::NoOperation);
    check(|m| m.operations[1].name = "act".to_owned(), P::DuplicateOperation(act()));
    check(
        |m| m.credential_slots.push(m.credential_slots[0].clone()),
        P::DuplicateSlot(Name::parse("key").unwrap()),
    );
    check(|m| m.credential_slots[0].modes.clear(), P::SlotWithoutMode(Name::parse("key").unwrap()));
    check(
        |m| m.config_schema = "[]".to_owned(),
        P::SchemaRoot(Name::parse("example").unwrap(), FieldPlace::ConfigSchema),
    );
    check(
        |m| m.operations[0].input_schema = r#"{"type":"array"}"#.to_owned(),
        P::SchemaRoot(act(), FieldPlace::InputSchema),
    );
    check(
        |m| m.operations[0].failure_schema = Some(r#"{"type":"object"}"#.to_owned()),
        P::FreeText { operation: act(), pointer: String::new() },
    );
    for header in ["Set-Cookie", "authorization", "WWW-Authenticate", "a b", ""] {
        let got = read_manifest(|m| m.operations[0].kept_headers = vec![header.to_owned()]);
        assert_eq!(got.unwrap_err(), Breach::InvalidManifest(P::KeptHeader(act())), "{header}");
    }
    check(|m| m.operations[0].statuses_before_work = vec![200], P::Status(act()));
    check(|m| m.operations[0].statuses_before_work = vec![600], P::Status(act()));
    check(|m| m.operations[0].statuses_before_work = vec![0], P::Status(act()));
    assert!(read_manifest(|m| m.operations[0].statuses_before_work = vec![1, 199, 300, 599]).is_ok());
    check(|m| m.operations[0].stop = grace(0), P::Grace(act()));
    check(|m| m.operations[0].stop = grace(61), P::Grace(act()));
    assert!(read_manifest(|m| m.operations[0].stop = grace(60)).is_ok());
    let keyed = |place: &str| {
        let place = wit::KeyPlace::Header(place.to_owned());
        read_manifest(|m| match &mut m.operations[0].repeat {
            wit::Repeat::Keyed(keyed) => keyed.place = place,
            wit::Repeat::None | wit::Repeat::Idempotent | wit::Repeat::Conditional => {}
        })
    };
    assert_eq!(keyed("Authorization").unwrap_err(), Breach::InvalidManifest(P::KeyHeader(act())));
    assert_eq!(keyed("no token").unwrap_err(), Breach::InvalidManifest(P::KeyHeader(act())));
    check(|m| m.operations[0].effect = wit::Effect::Read, P::ReadContract(act()));
    check(|m| m.operations[0].job_operation = Some("act".to_owned()), P::JobOperation(act()));
    check(|m| m.operations[0].job_operation = Some("gone".to_owned()), P::JobOperation(act()));
    check(|m| m.operations[0].completion_marker = Some("a\nb".to_owned()), P::CompletionMarker(act()));
    for (method, path) in [("post", "/x"), ("POST", "x"), ("POST", "/x?y"), ("POST", "/{}y"), ("TRACE", "/")]
    {
        let template = wit::HttpQueryTemplate { method: method.to_owned(), path: path.to_owned() };
        let got = read_manifest(|m| m.query_templates = vec![wit::QueryTemplate::Http(template)]);
        assert_eq!(got.unwrap_err(), Breach::InvalidManifest(P::QueryTemplate), "{method} {path}");
    }
    check(|m| m.query_templates = vec![wit::QueryTemplate::Ssh(vec!["{}".to_owned()])], P::QueryTemplate);
    let broken = read_manifest(|m| m.operations[0].output_schema = "{".to_owned());
    assert_eq!(broken.unwrap_err(), Breach::InvalidJson(FieldPlace::OutputSchema));
}

#[test]
fn batches_are_held_against_the_rules() {
    use ManifestProblem as P;
    let act = || Name::parse("act").unwrap();
    let object = r#"{"type":"object"}"#;
    let check = |(items, child_id, max, schema): (&str, &str, u32, Option<&str>),
                 expected: Option<Breach>| {
        let batch = wit::BatchContract {
            items: items.to_owned(),
            child_id: child_id.to_owned(),
            mode: wit::BatchMode::Atomic,
            max,
            child_output_schema: schema.map(str::to_owned),
        };
        let read = read_manifest(|m| m.operations[0].batch = Some(batch));
        let got = read.as_ref().map(|manifest| {
            let operation = &manifest.operations[0];
            assert_eq!(operation.child_output_schema.is_some(), schema.is_some());
            operation.contract.batch.as_ref().unwrap().max
        });
        assert_eq!(got, expected.as_ref().map_or(Ok(max), Err), "{items} {child_id} {max}");
    };
    let batch = || Some(Breach::InvalidManifest(P::Batch(act())));
    check(("/items", "/id", 1, None), None);
    check(("/items", "/id", 1000, Some(object)), None);
    check(("", "", 1, None), None);
    check(("items", "/id", 1, None), batch());
    check(("/items", "id", 1, None), batch());
    check(("/items", "/id", 0, None), batch());
    check(("/items", "/id", 1001, None), batch());
    let place = FieldPlace::ChildOutputSchema;
    let root = Breach::InvalidManifest(P::SchemaRoot(act(), place));
    check(("/items", "/id", 1, Some(r#"{"type":"string"}"#)), Some(root));
    check(("/items", "/id", 1, Some("{")), Some(Breach::InvalidJson(place)));
}
