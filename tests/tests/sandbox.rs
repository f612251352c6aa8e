//! Hostile guests against the sandbox: each comes to a named end, and leaves the sandbox able to
//! serve the next call.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

use proofport_core::call::{Call, DispatchFacts};
use proofport_core::contract::{Outcome, Role};
use proofport_core::digest::Digest;
use proofport_core::exchange::{Exchange, HttpResponse, Request, Response, StoredContent};
use proofport_core::id::{Name, RequestId};
use proofport_core::manifest::Manifest;
use proofport_core::origin::Origin;
use proofport_core::time::UnixMillis;
use proofport_core::verdict::Step;
use proofport_sandbox::{
    Breach, Connector, Fault, FieldPlace, Limits, LoadError, ManifestProblem, ModuleError, Report, Rules,
    Sandbox, inspect,
};
use proofport_tests::guests::{guest, hostile};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

fn limits() -> Limits {
    Limits { instances: 2, ..Limits::default() }
}

fn sandbox(cache: Option<&Path>, limits: Limits) -> Sandbox {
    Sandbox::new(cache, Zeroizing::new([7; 32]), limits).unwrap()
}

fn call(operation: &str) -> Call {
    Call {
        operation: Name::parse(operation).unwrap(),
        input: r#"{"secret_of_caller":"tangerine"}"#.to_owned(),
        config: "{}".to_owned(),
        reference: RequestId::from_random([1; 16]).reference(),
        idempotency_key: None,
        accepted_at: UnixMillis(1_700_000_000_123),
    }
}

fn rules(manifest: &Manifest, operation: &str) -> Rules {
    Rules {
        origins: vec![Origin::parse("https://api.example").unwrap()],
        manifest: Arc::new(manifest.clone()),
        operation: Name::parse(operation).unwrap(),
        ssh_hosts: Vec::new(),
        raw_commands: false,
    }
}

/// A connector with the answers of its earlier steps filled in by a server that always says 200.
async fn drive(connector: &Connector, operation: &str, steps: usize) -> Result<Report<Step>, Fault> {
    let manifest = connector.describe("{}").await?.value;
    let (call, rules) = (call(operation), rules(&manifest, operation));
    let mut history = Vec::new();
    loop {
        let report = connector.next(&call, &history, &rules).await?;
        match &report.value {
            Step::Send(send) if history.len() < steps => history.push(answered(send.role, &send.request)),
            Step::Send(_) | Step::Settle(_) | Step::Refuse(_) => return Ok(report),
        }
    }
}

fn answered(role: Role, request: &Request) -> Exchange {
    let response =
        Response::Http(HttpResponse { status: 200, headers: Vec::new(), body: b"{}".to_vec(), stored: None });
    Exchange { role, request: request.clone(), response }
}

async fn assert_healthy(sandbox: &Sandbox, after: &str) {
    let report = drive(&sandbox.load(&guest("good")).unwrap(), "act", 1).await.unwrap();
    let Step::Settle(verdict) = report.value else { panic!("after {after}: {:?}", report.value) };
    assert_eq!((verdict.outcome, verdict.success), (Outcome::Committed, true), "after {after}");
}

/// What a guest comes to when it is driven through `act` (or `look`) against a server that works.
enum End {
    Fault(Fault),
    /// A trap of this kind, with these words in its log.
    Trap(&'static str, &'static str),
    /// It is a fault of another room: the step passes here.
    Passes(fn(&Step) -> bool),
}

fn sends(step: &Step) -> bool {
    matches!(step, Step::Send(_))
}

fn refuses(step: &Step) -> bool {
    matches!(step, Step::Refuse(_))
}

fn settles(step: &Step) -> bool {
    matches!(step, Step::Settle(_))
}

fn ends() -> Vec<(&'static str, &'static str, End)> {
    use End::{Passes, Trap};
    let breach = |breach| End::Fault(Fault::Breach(breach));
    let free_text = ManifestProblem::FreeText {
        operation: Name::parse("act").unwrap(),
        pointer: "/properties/why".to_owned(),
    };
    vec![
        ("above-ceiling", "act", Passes(settles)),
        ("batch", "send", Passes(refuses)),
        ("batch", "same", Passes(refuses)),
        ("batch", "keyed", Passes(refuses)),
        ("batch", "header", Passes(refuses)),
        ("batch", "atomic", Passes(refuses)),
        ("breaks-json", "act", breach(Breach::InvalidJson(FieldPlace::Output))),
        ("breaks-schema", "act", Passes(settles)),
        ("download", "fetch", Passes(refuses)),
        ("download", "export", Passes(refuses)),
        ("effect-in-read", "look", breach(Breach::EffectInRead)),
        ("effect-in-reconcile", "act", Passes(settles)),
        ("exits", "act", Trap("ended itself", "")),
        ("free-text-failure", "act", breach(Breach::InvalidManifest(free_text))),
        ("gigabyte-output", "act", End::Fault(Fault::OutputLimit)),
        ("good", "act", Passes(settles)),
        ("good", "look", Passes(settles)),
        ("infinite-loop", "act", End::Fault(Fault::OutOfFuel)),
        ("memory-bomb", "act", End::Fault(Fault::MemoryLimit)),
        ("nondeterminism", "act", Passes(sends)),
        ("overflows-stack", "act", Trap("out of bounds memory access", "")),
        ("panics", "act", Trap("unreachable", "I do not like")),
        ("post-as-query", "act", breach(Breach::NotAQuery)),
        ("refuses-in-prose", "act", breach(Breach::InvalidField)),
        ("refuses-late", "act", breach(Breach::RefuseAfterSend)),
        ("repeats", "once", Passes(settles)),
        ("repeats", "same", Passes(settles)),
        ("repeats", "keyed", Passes(settles)),
        ("sets-authorization", "act", breach(Breach::HostOwnedHeader)),
        ("settles-unasked", "act", Passes(settles)),
        ("sleeps", "act", Passes(settles)),
        ("smuggles-header", "act", breach(Breach::InvalidHeader)),
        ("submits-job", "act", Passes(settles)),
        ("claims-without-asking", "act", Passes(settles)),
        ("finds-nothing", "act", Passes(settles)),
        ("talks", "act", Passes(settles)),
        ("ten-thousand-queries", "act", Passes(sends)),
        ("two-effects", "act", breach(Breach::SecondEffect)),
        ("unlisted-origin", "act", breach(Breach::UnlistedOrigin)),
        ("courier", "act", Passes(settles)),
        ("courier", "look", Passes(settles)),
        ("promises", "act", Passes(settles)),
        ("promises", "busy", Passes(settles)),
        ("promises", "drop", Passes(settles)),
        ("promises", "keyed", Passes(settles)),
        ("promises", "same", Passes(settles)),
        ("contracts", "plain", Passes(settles)),
        ("contracts", "looks", Passes(settles)),
        ("contracts", "lists", Passes(settles)),
        ("contracts", "idempotent", Passes(settles)),
        ("contracts", "keyed", Passes(settles)),
        ("contracts", "expired", Passes(settles)),
        ("contracts", "conditional", Passes(settles)),
        ("contracts", "job", Passes(settles)),
        ("execs", "exec", Passes(refuses)),
        ("inquires", "once", Passes(settles)),
        ("inquires", "same", Passes(settles)),
        ("inquires", "keyed", Passes(settles)),
        ("inquires", "prepared", Passes(settles)),
        ("inquires", "submit", Passes(settles)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_hostile_guest_comes_to_its_end_and_leaves_the_sandbox_healthy() {
    let sandbox = sandbox(None, limits());
    for (name, operation, end) in ends() {
        let steps = if name == "nondeterminism" { 0 } else { 3 };
        let got = drive(&sandbox.load(&guest(name)).unwrap(), operation, steps).await;
        match (&got, end) {
            (Err(fault), End::Fault(expected)) => assert_eq!(*fault, expected, "{name}"),
            (Err(Fault::Trap { kind, log }), End::Trap(expected, words)) => {
                assert!(kind.contains(expected), "{name}: {kind}");
                assert!(String::from_utf8_lossy(log).contains(words), "{name}: {log:?}");
            }
            (Ok(report), End::Passes(test)) => assert!(test(&report.value), "{name}: {report:?}"),
            (got, _) => panic!("{name}: {got:?}"),
        }
        assert_healthy(&sandbox, name).await;
    }
}

#[test]
fn every_guest_has_its_row() {
    let mut tested: Vec<String> = ends().into_iter().map(|(name, _, _)| name.to_owned()).collect();
    tested.extend(refused().into_iter().map(|(name, _)| name.to_owned()));
    tested.sort();
    tested.dedup();
    assert_eq!(tested, hostile());
}

/// Whether it is the error that a module must be refused with.
type IsExpected = fn(&ModuleError) -> bool;

fn refused() -> Vec<(&'static str, IsExpected)> {
    vec![
        (
            "imports-http",
            |error| matches!(error, ModuleError::ForbiddenImport { name } if name == "wasi:http/client@0.3.0"),
        ),
        (
            "imports-sockets",
            |error| matches!(error, ModuleError::ForbiddenImport { name } if name.starts_with("wasi:sockets/")),
        ),
        (
            "wrong-world",
            |error| matches!(error, ModuleError::WrongWorldVersion { found, supported: "0.1.0" } if found == "0.9.0"),
        ),
    ]
}

#[tokio::test]
async fn modules_that_may_not_be_run_are_refused_before_they_are() {
    let sandbox = sandbox(None, limits());
    for (name, expected) in refused() {
        let error = inspect(&guest(name)).unwrap_err();
        assert!(expected(&error), "{name}: {error:?}");
        let Err(LoadError::Module(error)) = sandbox.load(&guest(name)) else { panic!("{name} was loaded") };
        assert!(expected(&error), "{name}: {error:?}");
    }
    assert_healthy(&sandbox, "refusals").await;
}

#[test]
fn an_inspection_says_what_an_admin_reviews() {
    let bytes = guest("good");
    let inspection = inspect(&bytes).unwrap();
    assert_eq!(inspection.digest, Digest::of_bytes(&bytes));
    assert_eq!(inspection.world_version, "0.1.0");
    assert_eq!(inspection.exports, ["proofport:connector/connector@0.1.0"]);
    assert_eq!(inspection.size, bytes.len());
    for package in ["proofport-connector-stripe", "proofport-example-charges"] {
        let inspection = inspect(&guest(package)).unwrap();
        assert!(
            inspection.imports.iter().all(|name| name.starts_with("wasi:") || name.starts_with("proofport:"))
        );
    }
}

#[tokio::test]
async fn a_stored_content_is_told_by_its_length_and_digest() {
    let sandbox = sandbox(None, limits());
    let connector = sandbox.load(&guest("download")).unwrap();
    let manifest = connector.describe("{}").await.unwrap().value;
    assert!(manifest.operations.iter().all(|operation| operation.stores_content));
    let large = StoredContent { bytes: 1 << 40, digest: Digest::of_bytes(b"large") };
    let said = serde_json::json!({ "bytes": 1_u64 << 40, "digest": Digest::of_bytes(b"large").hex() });
    let check = async |operation: &str, role: Role, status: u16, stored: Option<StoredContent>| {
        let call = Call { input: r#"{"path":"/large"}"#.to_owned(), ..call(operation) };
        let rules = rules(&manifest, operation);
        let sent = connector.next(&call, &[], &rules).await.unwrap().value;
        let Step::Send(send) = sent else { panic!("{sent:?}") };
        assert_eq!(send.role, role, "{operation}");
        let response = Response::Http(HttpResponse { status, headers: Vec::new(), body: Vec::new(), stored });
        let history = [Exchange { role, request: send.request, response }];
        let settled = connector.next(&call, &history, &rules).await.unwrap().value;
        let Step::Settle(verdict) = settled else { panic!("{settled:?}") };
        assert_eq!(verdict.success, stored.is_some(), "{operation}: {verdict:?}");
        assert_eq!(verdict.output, stored.map(|_| said.clone()), "{operation}");
    };
    for (operation, role) in [("fetch", Role::Query), ("export", Role::Effect)] {
        check(operation, role, 200, Some(large)).await;
        check(operation, role, 200, None).await;
        check(operation, role, 404, None).await;
    }
}

#[tokio::test]
async fn a_reconciliation_may_not_send_an_effect() {
    let sandbox = sandbox(None, limits());
    let connector = sandbox.load(&guest("effect-in-reconcile")).unwrap();
    let manifest = connector.describe("{}").await.unwrap().value;
    let rules = rules(&manifest, "act");
    let effect = connector.next(&call("act"), &[], &rules).await.unwrap();
    let Step::Send(send) = effect.value else { panic!("{:?}", effect.value) };
    let facts = DispatchFacts {
        first_dispatched_at: UnixMillis(1),
        last_dispatched_at: UnixMillis(2),
        now: UnixMillis(3),
        attempts: 1,
        request: send.request,
    };
    let fault = connector.reconcile(&call("act"), &facts, &[], &rules).await.unwrap_err();
    assert_eq!(fault, Fault::Breach(Breach::EffectInReconcile));
}

#[tokio::test]
async fn the_same_call_gives_the_same_answer_and_costs_the_same_fuel() {
    let first = sandbox(None, limits());
    let second = sandbox(None, Limits { instances: 1, ..limits() });
    let run = async |sandbox: &Sandbox, call: &Call| {
        let connector = sandbox.load(&guest("nondeterminism")).unwrap();
        let manifest = connector.describe("{}").await.unwrap().value;
        let report = connector.next(call, &[], &rules(&manifest, "act")).await.unwrap();
        let Step::Send(send) = report.value else { panic!("{:?}", report.value) };
        let Request::Http(http) = send.request else { panic!("{:?}", send.request) };
        (http.path.as_str().to_owned(), report.fuel)
    };
    let (path, fuel) = run(&first, &call("act")).await;
    for sandbox in [&first, &first, &second] {
        assert_eq!(run(sandbox, &call("act")).await, (path.clone(), fuel));
    }
    assert!(path.contains("clock=1700000000123&elapsed=0&"), "{path}");
    assert!(path.ends_with("&variables=0&arguments=0&files=0&entries=0"), "{path}");

    // The dice are the reference's: another call throws others.
    let other = Call { reference: RequestId::from_random([2; 16]).reference(), ..call("act") };
    assert_ne!(run(&first, &other).await.0, path);
}

#[tokio::test]
async fn a_deadline_stops_what_fuel_does_not() {
    let limits = Limits { fuel: u64::MAX, deadline: Duration::from_millis(100), ..limits() };
    let sandbox = sandbox(None, limits);
    let start = Instant::now();
    let fault = drive(&sandbox.load(&guest("infinite-loop")).unwrap(), "act", 3).await.unwrap_err();
    assert_eq!(fault, Fault::DeadlinePassed);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_healthy(&sandbox, "the deadline").await;
}

#[tokio::test]
async fn an_hour_of_sleep_takes_no_time() {
    let sandbox = sandbox(None, limits());
    let start = Instant::now();
    drive(&sandbox.load(&guest("sleeps")).unwrap(), "act", 3).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[tokio::test]
async fn what_a_guest_writes_is_kept_up_to_a_limit() {
    let sandbox = sandbox(None, Limits { log_bytes: 1000, ..limits() });
    let report = drive(&sandbox.load(&guest("talks")).unwrap(), "act", 3).await.unwrap();
    assert_eq!(report.log, [b'x'; 1000]);
}

#[tokio::test]
async fn a_fault_repeats_nothing_that_the_guest_said() {
    let sandbox = sandbox(None, limits());
    for name in ["panics", "breaks-json", "refuses-in-prose", "unlisted-origin", "sets-authorization"] {
        let fault = drive(&sandbox.load(&guest(name)).unwrap(), "act", 3).await.unwrap_err();
        let text = fault.to_string();
        for word in ["tangerine", "collector", "Bearer", "password", "{ok"] {
            assert!(!text.contains(word), "{name}: {text}");
        }
    }
}

#[tokio::test]
async fn many_calls_at_once_share_the_slots() {
    let sandbox = sandbox(None, limits());
    let connector = sandbox.load(&guest("good")).unwrap();
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let connector = connector.clone();
            tokio::spawn(async move { drive(&connector, "act", 1).await })
        })
        .collect();
    for call in calls {
        assert!(call.await.unwrap().is_ok());
    }
}

#[tokio::test]
async fn compiled_code_that_was_touched_is_compiled_anew() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("code");
    let sandbox = sandbox(Some(&folder), limits());
    assert_healthy(&sandbox, "a cold cache").await;
    let entry = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&entry).unwrap();

    sandbox.load(&guest("good")).unwrap();
    assert_eq!(std::fs::read(&entry).unwrap(), whole, "a warm load writes nothing");

    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x40;
    let changes: [(&str, Vec<u8>); 4] = [
        ("a flipped bit", flipped),
        ("the first half", whole[..middle].to_vec()),
        ("an empty file", Vec::new()),
        ("another file", b"#!/bin/sh\nexit 0\n".to_vec()),
    ];
    for (what, bytes) in changes {
        std::fs::write(&entry, bytes).unwrap();
        assert_healthy(&sandbox, what).await;
        assert_eq!(std::fs::read(&entry).unwrap().len(), whole.len(), "{what} was overwritten");
    }
}
