//! What a host counts is what happened, under labels of closed sets only; and the dashboard asks for nothing
//! that is not there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use proofport_broker::{Authority, CallRequest, Caller};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Phase};
use proofport_core::event::{EventKind, HostEvent};
use proofport_core::id::OperationName;
use proofport_core::secret::Secret;
use proofport_gateway::home::Home;
use proofport_gateway::host::{Connections, Host, OpenOptions};
use proofport_gateway::metrics;
use proofport_gateway::session::Sessions;
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::rig::{CANARY, PASSPHRASE, Wanted, make_home, name};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The value of every series, by its name and labels as they are spelled.
fn series(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

async fn call(host: &Host, authority: Authority, operation: &str) {
    call_with(host, authority, operation, None).await;
}

async fn call_with(host: &Host, authority: Authority, operation: &str, key: Option<&str>) {
    let caller = Caller { principal: "a".to_owned(), session: "s".to_owned(), authority };
    let operation = OperationName { connection: name("c"), operation: name(operation) };
    host.broker()
        .call(CallRequest { operation, input: b"{}".to_vec(), call_key: key.map(str::to_owned), caller })
        .await;
}

async fn open(home: &Path) -> Arc<Host> {
    let passphrase = Secret::new(PASSPHRASE.as_bytes().to_vec());
    let options = OpenOptions::program(Connections::All);
    Arc::new(Host::open(Home::at(home).unwrap(), &passphrase, options).await.unwrap())
}

fn check(host: &Arc<Host>, expected: &[(&str, f64)]) {
    let text = metrics::text(host);
    let series = series(&text);
    for (name, value) in expected {
        assert_eq!(series.get(&format!("proofport_{name}")), Some(value), "{name}\n{text}");
    }
}

async fn counted() -> (String, Arc<Host>, tempfile::TempDir) {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    let lost = Script(vec![Act::ReadRequest, Act::Effect, Act::Close]);
    let peer = Peer::http(Scripts { each: vec![Script::answer(answer), lost].into(), default: None });
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    let mut asks = Wanted::new("promises", peer.origin(), "key").limits("setup_attempts = 1");
    asks.asks = true;
    make_home(&home, &asks).await;
    let host = open(&home).await;
    call(&host, Authority::Operator, "act").await;
    call(&host, Authority::Operator, "act").await;
    call(&host, Authority::Operator, "drop").await;
    call(&host, Authority::Agent, "same").await;
    (metrics::text(&host), host, dir)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happened_is_counted_once() {
    let (text, host, _dir) = counted().await;
    let check = |name: &str, expected: f64| check(&host, &[(name, expected)]);
    check("answers_by_outcome_total{outcome=\"committed\"}", 2.0);
    check("answers_by_outcome_total{outcome=\"unknown\"}", 1.0);
    check("answers_by_outcome_total{outcome=\"not_attempted\"}", 1.0);
    check("answers_by_phase_total{phase=\"credential_injection\"}", 1.0);
    check("answers_by_code_total{code=\"OK\"}", 2.0);
    check("answers_by_code_total{code=\"OUTCOME_UNKNOWN\"}", 1.0);
    check("answers_by_code_total{code=\"APPROVAL_PENDING\"}", 1.0);
    check("answers_repeated_total", 1.0);
    check("events_total{kind=\"DISPATCH_STARTED\"}", 2.0);
    check("events_total{kind=\"APPROVAL_REQUESTED\"}", 1.0);
    check("approvals_waiting", 1.0);
    check("vault_locked", 0.0);
    check("invocations_under_way", 0.0);
    check("call_duration_seconds_count", 4.0);
    check("call_duration_seconds_bucket{le=\"+Inf\"}", 4.0);
    check("connector_faults_total", 0.0);
    // Two for each of the writes that went out, one for the question, one after the other.
    check("commit_batches_bucket{le=\"1.0\"}", 5.0);
    check("commit_batches_count", 5.0);
    check("commit_batches_sum", 5.0);
    check("commit_duration_seconds_count", 5.0);
    check("connector_instances", 0.0);
    assert!(text.ends_with("# EOF\n"));
    assert!(!text.contains(CANARY));
}

/// The peer's own count of connections is the truth.
#[tokio::test(flavor = "multi_thread")]
async fn connections_are_counted_as_the_peer_saw_them() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    let lost = Script(vec![Act::ReadRequest, Act::Effect, Act::Close]);
    let peer = Peer::http(Scripts { each: vec![Script::keep_alive(3, answer), lost].into(), default: None });
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    make_home(&home, &Wanted::new("promises", peer.origin(), "key").limits("setup_attempts = 1")).await;
    let host = open(&home).await;
    let expect = |opened: f64, closed: f64, reused: f64, idle: f64| {
        assert_eq!(opened, peer.accepted() as f64);
        let expected = [
            ("connections_opened_total{protocol=\"http\"}", opened),
            ("connections_closed_total{protocol=\"http\"}", closed),
            ("connections_open{protocol=\"http\"}", opened - closed),
            ("connections_reused_total", reused),
            ("connections_idle", idle),
            ("connections_opened_total{protocol=\"ssh\"}", 0.0),
            ("connections_open{protocol=\"ssh\"}", 0.0),
        ];
        check(&host, &expected);
    };
    expect(0.0, 0.0, 0.0, 0.0);
    for (n, key) in (0_u8..).zip(["1", "2", "3"]) {
        call_with(&host, Authority::Operator, "same", Some(key)).await;
        expect(1.0, 0.0, f64::from(n), 1.0);
    }
    // What nothing may repeat gets a connection of its own, which is lost here; the other one stays.
    call_with(&host, Authority::Operator, "act", Some("4")).await;
    expect(2.0, 1.0, 2.0, 1.0);
}

/// Facts about the host are events like any other, whoever puts them on record.
#[tokio::test(flavor = "multi_thread")]
async fn what_happens_to_the_host_is_counted_too() {
    let (_, host, _dir) = counted().await;
    let events = |kind: EventKind, count: f64| {
        check(&host, &[(format!("events_total{{kind=\"{kind}\"}}").as_str(), count)]);
    };
    events(EventKind::UnlockFailed, 0.0);
    events(EventKind::SessionDecided, 0.0);
    host.record(HostEvent::UnlockFailed).await.unwrap();
    host.record(HostEvent::UnlockFailed).await.unwrap();
    Sessions::open(&host).unwrap().token(&name("agent")).await.unwrap();
    events(EventKind::UnlockFailed, 2.0);
    events(EventKind::SessionDecided, 1.0);
    let on_record = host.broker().journal().host_events(10).unwrap();
    let kinds: Vec<_> = on_record.iter().map(|recorded| recorded.event.kind()).collect();
    assert_eq!(kinds, [EventKind::UnlockFailed, EventKind::UnlockFailed, EventKind::SessionDecided]);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_code_of_connectors_came_from_is_counted() {
    let (_, host, dir) = counted().await;
    let home = dir.path().join("home");
    Arc::into_inner(host).unwrap().close().unwrap();
    std::fs::remove_dir_all(Home::at(&home).unwrap().cache()).unwrap();
    for (compiled, cached) in [(1.0, 0.0), (0.0, 1.0)] {
        let host = open(&home).await;
        let compiler = ("connector_modules_total{source=\"compiler\"}", compiled);
        check(&host, &[compiler, ("connector_modules_total{source=\"cache\"}", cached)]);
        Arc::into_inner(host).unwrap().close().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_come_from_closed_sets() {
    let (text, _host, _dir) = counted().await;
    let words: BTreeSet<&str> = EventKind::ALL
        .iter()
        .map(|kind| kind.as_str())
        .chain(Phase::ALL.iter().map(|phase| phase.as_str()))
        .chain(Outcome::ALL.iter().map(|outcome| outcome.as_str()))
        .chain(Code::ALL.iter().map(|code| code.as_str()))
        .chain(["OK"])
        .collect();
    let mut seen = 0;
    for name in series(&text).keys() {
        let Some((_, labels)) = name.split_once('{') else { continue };
        let (label, value) = labels.trim_end_matches('}').split_once('=').unwrap();
        let value = value.trim_matches('"');
        match label {
            "le" => assert!(value == "+Inf" || value.parse::<f64>().is_ok(), "{name}"),
            "protocol" => assert!(["http", "ssh"].contains(&value), "{name}"),
            "source" => assert!(["compiler", "cache"].contains(&value), "{name}"),
            "kind" | "phase" | "outcome" | "code" => assert!(words.contains(value), "{name}"),
            other => panic!("{other} is no label"),
        }
        seen += 1;
    }
    assert!(seen > Code::ALL.len(), "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dashboard_asks_for_what_is_there() {
    let (text, _host, _dir) = counted().await;
    let known: BTreeSet<String> =
        series(&text).into_keys().map(|name| name.split('{').next().unwrap().to_owned()).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist/grafana.json");
    let dashboard: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let mut asked = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            for name in expression.split(|c| !is_name(c)).filter(|word| word.starts_with("proofport_")) {
                assert!(known.contains(name), "{name} of {}", panel["title"]);
                asked += 1;
            }
        }
    }
    assert!(asked > 10, "{asked}");
}
