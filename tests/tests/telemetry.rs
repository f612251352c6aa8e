//! Traces as a collector of OpenTelemetry receives them, over a real socket: what they say is what the record
//! says, in words of closed sets, and whatever becomes of the collector changes no answer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use proofport_broker::{Authority, CallRequest, Caller, Reach};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Phase, Source, Stage};
use proofport_core::envelope::Envelope;
use proofport_core::event::Event;
use proofport_core::evidence::{Cause, Evidence, Hop};
use proofport_core::id::{OperationName, RequestId};
use proofport_gateway::config::Config;
use proofport_gateway::telemetry::Exporter;
use proofport_tests::canary;
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::plain_http::{Message, exchange, read_message};
use proofport_tests::rig::{CANARY, Open, Rig, Wanted, name};
use proofport_tests::serving::Serving;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

/// A collector that hands on every request as it came, and answers each with the next of these texts, the last
/// one for ever.
struct Collector {
    address: SocketAddr,
    requests: Receiver<Message>,
}

impl Collector {
    fn start(answers: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests): (Sender<Message>, _) = channel();
        // It ends with the test's process.
        std::thread::spawn(move || {
            for (n, stream) in listener.incoming().enumerate() {
                let mut stream = BufReader::new(stream.unwrap());
                let Ok(Some(request)) = read_message(&mut stream) else { continue };
                let answer = answers.get(n).or(answers.last()).unwrap();
                // Handed on first, so that what was answered is there.
                if sender.send(request).is_err() || stream.get_mut().write_all(answer.as_bytes()).is_err() {
                    return;
                }
            }
        });
        Self { address, requests }
    }

    fn config(&self) -> String {
        format!("[telemetry]\notlp = \"http://{}\"\n", self.address)
    }

    /// Everything that came so far, byte by byte.
    fn received(&self) -> Vec<Message> {
        self.requests.try_iter().collect()
    }
}

/// Every span of these requests.
fn spans(requests: &[Message]) -> Vec<Value> {
    let mut spans = Vec::new();
    for request in requests {
        assert_eq!(request.line(), "POST /v1/traces");
        assert_eq!(request.header("content-type").as_deref(), Some("application/json"));
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let resource = &body["resourceSpans"][0]["resource"]["attributes"][0];
        assert_eq!(
            (&resource["key"], &resource["value"]["stringValue"]),
            (&"service.name".into(), &"proofport".into())
        );
        spans.extend(body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone());
    }
    spans
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a Value> {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == format!("proofport.{key}"))?;
    found["value"].as_object().unwrap().values().next()
}

fn named<'a>(spans: &'a [Value], name: &str) -> Vec<&'a Value> {
    spans.iter().filter(|span| span["name"] == format!("proofport.{name}")).collect()
}

fn nanos(span: &Value, key: &str) -> u64 {
    span[key].as_str().unwrap().parse().unwrap()
}

/// The id of a trace in hexadecimal.
fn trace(id: &RequestId) -> String {
    data_encoding::HEXLOWER.encode(id.as_bytes())
}

/// Every name and value must be a word of a closed set, an id of ours or a number.
fn assert_closed(span: &Value) {
    let stages: BTreeSet<String> =
        Stage::ALL.iter().map(|stage| format!("proofport.stage.{stage}")).collect();
    let names = [
        "proofport.call",
        "proofport.connector_step",
        "proofport.connection",
        "proofport.query",
        "proofport.attempt",
        "proofport.approval",
        "proofport.retry_wait",
    ];
    let span_name = span["name"].as_str().unwrap();
    assert!(names.contains(&span_name) || stages.contains(span_name), "{span}");
    let known = [
        "traceId",
        "spanId",
        "parentSpanId",
        "name",
        "kind",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "attributes",
        "status",
    ];
    assert!(span.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{span}");
    let hex = |key: &str, digits: usize| {
        let text = span[key].as_str().unwrap();
        assert!(text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit()), "{span}");
        assert!(text.bytes().any(|b| b != b'0'), "{span}");
    };
    hex("traceId", 32);
    hex("spanId", 16);
    if !span["parentSpanId"].is_null() {
        hex("parentSpanId", 16);
    }
    assert!(nanos(span, "startTimeUnixNano") <= nanos(span, "endTimeUnixNano"), "{span}");
    for attribute in span["attributes"].as_array().unwrap() {
        let value = &attribute["value"];
        let text = || value["stringValue"].as_str().unwrap();
        let number = || value["intValue"].as_str().unwrap().parse::<u64>().unwrap();
        let holds = match attribute["key"].as_str().unwrap() {
            "proofport.request_id" => RequestId::parse(text()).is_ok_and(|id| trace(&id) == span["traceId"]),
            "proofport.phase" => Phase::parse(text()).is_some(),
            "proofport.outcome" => Outcome::parse(text()).is_some(),
            "proofport.code" => text() == "OK" || Code::parse(text()).is_some(),
            "proofport.source" => Source::parse(text()).is_some(),
            "proofport.stage" => Stage::parse(text()).is_some(),
            "proofport.hop" => Hop::parse(text()).is_some(),
            "proofport.cause" => Cause::parse(text()).is_some(),
            "proofport.purpose" => ["read", "prepare", "reconcile"].contains(&text()),
            "proofport.decision" => {
                ["approved", "denied", "granted", "lapsed", "withdrawn"].contains(&text())
            }
            "proofport.attempts" | "proofport.generation" => number() < 100,
            "proofport.repeated" | "proofport.reused" => value["boolValue"].is_boolean(),
            other => panic!("{other} is no attribute"),
        };
        assert!(holds, "{attribute}");
    }
}

/// Nothing of where it went, with what and for whom is anywhere in what was sent.
fn assert_silent(requests: &[Message], peer: &Peer) {
    let said = [
        "/act",
        "idempotency",
        "authorization",
        "bearer",
        "127.0.0.1:",
        "tester",
        "\"c.",
        "promises",
        "c.act",
    ];
    for request in requests {
        canary::assert_absent(CANARY, "a batch of spans", &request.bytes());
        let body = String::from_utf8(request.body.clone()).unwrap().to_ascii_lowercase();
        for word in said {
            assert!(!body.contains(word), "{word}: {body}");
        }
        assert!(!body.contains(&format!(":{}", peer.port())), "{body}");
    }
}

fn start(open: &Open, lines: &str) -> Exporter {
    let config = Config::parse(lines, Path::new("/home/x/proofport.toml")).unwrap();
    Exporter::start(&open.broker, &config.telemetry).unwrap()
}

fn counted(open: &Open) -> (u64, u64, u64) {
    let counted = open.broker.figures().counted();
    (counted.spans_exported, counted.spans_dropped, counted.notes_dropped)
}

async fn call_as(open: &Open, authority: Authority, operation: &str) -> Envelope {
    let caller = Caller { principal: "tester".to_owned(), session: "one".to_owned(), authority };
    let operation = OperationName { connection: name("c"), operation: name(operation) };
    open.broker.call(CallRequest { operation, input: b"{}".to_vec(), call_key: None, caller }).await.envelope
}

async fn rig(scripts: Vec<Script>, asks: bool, more: &str) -> (Peer, Rig) {
    let peer = Peer::http(Scripts { each: scripts.into(), default: None });
    let mut wanted = Wanted::new("promises", peer.origin(), "key").limits(more);
    wanted.asks = asks;
    let rig = Rig::new(&wanted).await;
    (peer, rig)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_is_what_the_record_says() {
    let lost = Script(vec![Act::ReadRequest, Act::Effect, Act::Close]);
    let (peer, rig) = rig(vec![Script::answer(OK), lost], false, "").await;
    let open = rig.open().await;
    let collector = Collector::start(&[OK]);
    let exporter = start(&open, &collector.config());
    let well = call_as(&open, Authority::Operator, "act").await;
    let again = call_as(&open, Authority::Operator, "act").await;
    let unknown = call_as(&open, Authority::Operator, "drop").await;
    let refused = call_as(&open, Authority::Operator, "nothing").await;
    assert!(well.ok() && again.repeated());
    assert_eq!(unknown.outcome(), Some(Outcome::Unknown));
    exporter.stop().await;
    let requests = collector.received();
    let spans = spans(&requests);
    spans.iter().for_each(assert_closed);
    assert_silent(&requests, &peer);
    assert_eq!(counted(&open), (spans.len() as u64, 0, 0), "all that were made came");
    let ids: BTreeSet<&str> = spans.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), spans.len(), "each once");

    for (envelope, status, code, attempts) in [
        (&well, 1, "OK", "1"),
        (&unknown, 2, "OUTCOME_UNKNOWN", "1"),
        (&refused, 2, "UNSUPPORTED_ACTION", "0"),
    ] {
        let id = envelope.request_id().unwrap();
        let of_it: Vec<Value> = spans.iter().filter(|span| span["traceId"] == trace(&id)).cloned().collect();
        let calls = named(&of_it, "call");
        let root = calls.iter().find(|span| span["parentSpanId"].is_null()).unwrap();
        let said = |key: &str| attribute(root, key).unwrap().as_str().unwrap();
        assert_eq!(
            (said("code"), said("attempts"), said("request_id")),
            (code, attempts, id.to_string().as_str())
        );
        assert_eq!(said("outcome"), envelope.outcome().unwrap().as_str());
        assert_eq!(said("phase"), envelope.phase().unwrap().as_str());
        assert_eq!((root["status"]["code"].as_u64(), root["kind"].as_u64()), (Some(status), Some(2)));
        // Everything else hangs on it, or on something that does.
        let all: BTreeSet<&str> = of_it.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
        for span in &of_it {
            let parent = span["parentSpanId"].as_str();
            assert!(parent.is_none_or(|parent| all.contains(parent)), "{span}");
            assert_eq!(parent.is_none(), span["spanId"] == root["spanId"], "{span}");
            let stage = span["name"].as_str().unwrap().starts_with("proofport.stage.");
            assert!(stage || parent.is_none_or(|parent| root["spanId"] == parent), "{span}");
        }
        assert_as_recorded(&open, &id, &of_it, root);
    }
    let met = spans.iter().filter(|span| attribute(span, "repeated") == Some(&Value::Bool(true)));
    let met: Vec<_> = met.map(|span| span["traceId"].as_str().unwrap()).collect();
    assert_eq!(met, [trace(&well.request_id().unwrap())], "a repeated answer stands below the first call");
    open.close();
}

/// Connections and attempts with the durations of the record, in its order.
fn assert_as_recorded(open: &Open, id: &RequestId, spans: &[Value], root: &Value) {
    let history = open.broker.timeline(id).unwrap();
    let (mut setups, mut ends) = (Vec::new(), Vec::new());
    let (mut stages, mut dispatched) = (0, 0);
    for recorded in &history {
        if let Event::ConnectionAttempted(setup) = &recorded.event {
            setups.push(setup.timings.iter().map(|timing| timing.micros * 1000).sum::<u64>());
            stages += setup.timings.len();
        }
        if let Event::DispatchStarted(dispatch) = &recorded.event {
            dispatched = dispatch.at.0 * 1_000_000;
        }
        if let Event::AttemptEnded(end) = &recorded.event {
            let Evidence::Http(http) = &end.evidence else { panic!("{end:?}") };
            ends.push((http.micros * 1000, end.outcome.as_str()));
        }
    }
    let took = |span: &&Value| nanos(span, "endTimeUnixNano") - nanos(span, "startTimeUnixNano");
    assert_eq!(named(spans, "connection").iter().map(took).collect::<Vec<_>>(), setups);
    let is_stage = |span: &&Value| span["name"].as_str().unwrap().starts_with("proofport.stage.");
    assert_eq!(spans.iter().filter(is_stage).count(), stages);
    let attempts = named(spans, "attempt");
    let found: Vec<_> = attempts
        .iter()
        .map(|span| (took(span), attribute(span, "outcome").unwrap().as_str().unwrap()))
        .collect();
    assert_eq!(found, ends);
    assert!(attempts.iter().all(|span| nanos(span, "startTimeUnixNano") == dispatched));
    let Event::ActionAccepted(accepted) = &history[0].event else { panic!("{history:?}") };
    let began = accepted.at.0 * 1_000_000;
    assert_eq!(nanos(root, "startTimeUnixNano"), began);
    // A fault of the clock's making: a step may have begun in the millisecond of the acceptance.
    for span in spans.iter().filter(|span| span["name"] != "proofport.connector_step") {
        assert!(nanos(span, "startTimeUnixNano") >= began, "{span}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wait_for_a_person_is_a_span() {
    let (_peer, rig) = rig(vec![Script::answer(OK)], true, "").await;
    let open = rig.open().await;
    let collector = Collector::start(&[OK]);
    let exporter = start(&open, &collector.config());
    let mut ids = Vec::new();
    for (operation, approves) in [("act", true), ("same", false)] {
        let pending = call_as(&open, Authority::Agent, operation).await;
        assert_eq!(pending.code(), Some(Code::ApprovalPending));
        let id = pending.request_id().unwrap();
        if approves {
            open.broker.approve(&id, None, Reach::Once).await.unwrap();
        } else {
            open.broker.deny(&id, None).await.unwrap();
        }
        ids.push(id);
    }
    exporter.stop().await;
    let spans = spans(&collector.received());
    spans.iter().for_each(assert_closed);
    for (id, decision) in ids.iter().zip(["approved", "denied"]) {
        let history = open.broker.timeline(id).unwrap();
        let at = |wanted: fn(&Event) -> bool| {
            history.iter().find(|recorded| wanted(&recorded.event)).unwrap().at.0 * 1_000_000
        };
        let asked = at(|event| matches!(event, Event::ApprovalRequested(_)));
        let decided = at(|event| matches!(event, Event::ApprovalDecided(_)));
        let of_it: Vec<Value> = spans.iter().filter(|span| span["traceId"] == trace(id)).cloned().collect();
        let [approval] = named(&of_it, "approval")[..] else { panic!("{of_it:#?}") };
        assert_eq!(attribute(approval, "decision").unwrap(), decision);
        let times = (nanos(approval, "startTimeUnixNano"), nanos(approval, "endTimeUnixNano"));
        assert_eq!(times, (asked, decided));
        let root = &named(&of_it, "call")[0];
        assert_eq!((&approval["parentSpanId"], &root["status"]), (&root["spanId"], &serde_json::json!({})));
    }
    open.close();
}

const REFUSES: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";

const REJECTS: &str =
    "HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\n{\"partialSuccess\":{\"rejectedSpans\":\"1\"}}";

const NONSENSE: &str = "SSH-2.0-OpenSSH_9.9\r\n";

/// Whatever the collector does, calls are answered as without one, and what it did not take is counted.
#[tokio::test(flavor = "multi_thread")]
async fn no_collector_changes_an_answer() {
    // Nothing listens there: the port is taken by one who does not.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let scripted: [(&'static [&'static str], u64); 3] = [(&[REFUSES], 0), (&[REJECTS], 1), (&[NONSENSE], 0)];
    let mut cases = vec![(address, None, 0), (silent.local_addr().unwrap(), None, 0)];
    for (answers, partly) in scripted {
        let collector = Collector::start(answers);
        cases.push((collector.address, Some(collector), partly));
    }
    for (address, collector, partly) in cases {
        let (peer, rig) = rig(vec![Script::answer(OK)], false, "").await;
        let open = rig.open().await;
        let exporter = start(&open, &format!("[telemetry]\notlp = \"http://{address}\"\n"));
        let answered = call_as(&open, Authority::Operator, "act");
        let envelope = tokio::time::timeout(PATIENCE, answered).await.unwrap();
        assert!(envelope.ok(), "{envelope:?}");
        assert_eq!(peer.effects(), 1);
        tokio::time::timeout(PATIENCE, exporter.stop()).await.unwrap();
        let (exported, dropped, notes) = counted(&open);
        if partly > 0 {
            assert!(exported > 0);
            // Of each batch so many; how many batches there were is the clock's business.
            let batches = collector.map_or(0, |collector| collector.received().len() as u64);
            assert_eq!((dropped, notes), (partly * batches, 0), "{address}");
            assert!(dropped > 0);
        } else {
            assert_eq!((exported, notes), (0, 0), "{address}");
            // The silent one is left when the host stops, whatever it still had.
            assert!(dropped > 0 || address == silent.local_addr().unwrap(), "{address}");
        }
        open.close();
    }
}

/// The program itself: what is under way when it is told to stop is in the last batch.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_stops_hands_over_its_last_spans() {
    let (peer, rig) = rig(vec![Script::answer(OK)], false, "").await;
    let collector = Collector::start(&[OK]);
    let file = rig.home().join("proofport.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}\n{}", collector.config())).unwrap();
    tokio::task::block_in_place(|| {
        let serving = Serving::start(&rig.home());
        let (token, _) = serving.token("agent");
        let body = "{\"operation\": \"c.act\", \"input\": {}}";
        let length = body.len();
        let request = format!(
            "POST /v1/call HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        let answer = exchange(serving.http(), request.as_bytes()).unwrap();
        assert_eq!(answer.status(), Some(200), "{}", String::from_utf8_lossy(&answer.bytes()));
        let shown = exchange(
            serving.http(),
            b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        );
        assert_eq!(shown.unwrap().status(), Some(200));
        assert_eq!(serving.stop(), Some(0));
        let requests = collector.received();
        let spans = spans(&requests);
        spans.iter().for_each(assert_closed);
        assert_silent(&requests, &peer);
        let id = serde_json::from_slice::<Value>(&answer.body).unwrap()["request_id"].clone();
        let roots = named(&spans, "call");
        assert_eq!(roots.len(), 1);
        assert_eq!(attribute(roots[0], "request_id"), Some(&id));
        assert_eq!(named(&spans, "attempt").len(), 1);
        // A trace is the host's own: no caller names one.
        assert!(roots[0]["parentSpanId"].is_null());
        assert!(
            requests
                .iter()
                .all(|request| !request.bytes().windows(16).any(|part| part == b"b7ad6b7169203331"))
        );
    });
}

/// Without a collector nothing listens to the broker, so that somebody else still can.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_made_for_nobody() {
    let (_peer, rig) = rig(vec![Script::answer(OK)], false, "").await;
    let open = rig.open().await;
    let config = Config::parse("", Path::new("/home/x/proofport.toml")).unwrap();
    assert!(Exporter::start(&open.broker, &config.telemetry).is_none());
    assert!(call_as(&open, Authority::Operator, "act").await.ok());
    // One that reads too slowly loses notes, and the calls go on.
    let mut notes = open.broker.notes(1).unwrap();
    assert!(open.broker.notes(1).is_none(), "one listener");
    assert!(call_as(&open, Authority::Operator, "act").await.repeated());
    assert!(call_as(&open, Authority::Operator, "act").await.repeated());
    assert!(notes.try_recv().is_ok() && notes.try_recv().is_err());
    assert_eq!(counted(&open), (0, 0, 1));
    open.close();
}
