//! The table of statuses, from peers that do what leads to each.

use crate::OK;
use crate::served::{Served, call, home, home_at, settings};
use crate::wire::Answer;
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::envelope::Envelope;
use proofport_core::origin::Origin;
use proofport_gateway::serve::status;
use proofport_tests::peer::{Act, Peer, Script};
use serde_json::Value;

/// Whether some HTTP library or other repeats a request by itself that is answered with this.
fn is_repeated(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500..)
}

/// That an answer with this status misleads no client that looks at the status alone.
#[track_caller]
fn is_safe(answer: &Answer) {
    let body = answer.json();
    let done = matches!(body["outcome"].as_str(), Some("unknown" | "committed"));
    assert!(!(done && is_repeated(answer.status)), "{answer:?}");
    let settled = body["ok"] == true || body["code"] == "IN_PROGRESS" || body["code"] == "APPROVAL_PENDING";
    assert_eq!(answer.status < 300, settled, "{answer:?}");
}

fn response(head: &str) -> Vec<u8> {
    format!("HTTP/1.1 {head}\r\ncontent-length: 2\r\n\r\n{{}}").into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_became_of_a_call_has_its_status() {
    let lost = Script(vec![Act::ReadRequest, Act::Effect, Act::Close]);
    let cut = Act::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec());
    let cut = Script(vec![Act::ReadRequest, Act::Effect, cut, Act::Close]);
    let answered = |head: &str| Script::answer(response(head));
    let cases = [
        ("plain", Script::answer(OK), 200, Value::Null, None),
        ("plain", lost, 424, "OUTCOME_UNKNOWN".into(), None),
        ("plain", cut, 424, "REMOTE_RESULT_INCOMPLETE".into(), None),
        ("plain", answered("500 Internal Server Error"), 424, "REMOTE_FAILED".into(), None),
        ("plain", answered("503 Service Unavailable"), 424, "OUTCOME_UNKNOWN".into(), None),
        ("plain", answered("401 Unauthorized"), 424, "AUTH_FAILED".into(), None),
        ("plain", answered("404 Not Found"), 422, "REMOTE_REJECTED".into(), None),
        ("plain", answered("429 Too Many Requests"), 424, "RATE_LIMITED".into(), None),
        ("plain", answered("429 Too Many Requests\r\nretry-after: 7"), 429, "RATE_LIMITED".into(), Some("7")),
    ];
    for (operation, script, expected, code, delay) in cases {
        let (peer, rig) = home(script.clone()).await;
        let served = Served::new(rig, settings()).await;
        let answer = served.call(operation, "{}").await;
        assert_eq!((answer.status, &answer.json()["code"]), (expected, &code), "{script:?}: {answer:?}");
        assert_eq!(answer.field("retry-after"), delay, "{script:?}");
        assert_eq!(peer.effects(), 1);
        is_safe(&answer);
        served.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_taken_on_has_its_status() {
    let (_peer, rig) = home(Script::answer(OK)).await;
    let served = Served::new(rig, settings()).await;
    let check = async |method: &str, target: &str, body: &str, expected: u16, code: &str| {
        let answer = served.ask(method, target, body).await;
        assert_eq!(
            (answer.status, answer.json()["code"].as_str()),
            (expected, Some(code)),
            "{target} {body}"
        );
        is_safe(&answer);
    };
    let with = |operation: &str, input: &str, key| call(operation, input, key);
    assert_eq!(served.ask("POST", "/v1/call", &with("plain", "{}", Some("k"))).await.status, 200);
    let nobody = format!("/v1/invocations/act_{}", "b".repeat(26));
    for (method, target, body, expected, code) in [
        ("POST", "/v1/call", with("plain", r#"{"bytes":1}"#, Some("k")), 409, "CALL_KEY_REUSED"),
        ("POST", "/v1/call", with("nothing", "{}", None), 404, "UNSUPPORTED_ACTION"),
        ("POST", "/v1/call", with("plain", r#"{"bytes":"x"}"#, None), 422, "INVALID_INPUT"),
        ("POST", "/v1/call", with("plain", r#"{"bytes":70000}"#, None), 413, "PAYLOAD_LIMIT"),
        ("GET", &nobody, String::new(), 404, "NO_SUCH_INVOCATION"),
        ("POST", &format!("{nobody}/wait?seconds=0"), String::new(), 404, "NO_SUCH_INVOCATION"),
        ("POST", &format!("{nobody}/reconcile"), String::new(), 404, "NO_SUCH_INVOCATION"),
        ("POST", &format!("{nobody}/retry"), String::new(), 404, "NO_SUCH_INVOCATION"),
        ("POST", &format!("{nobody}/cancel"), String::new(), 404, "NO_SUCH_INVOCATION"),
        ("GET", &format!("{nobody}/content"), String::new(), 404, "NO_SUCH_INVOCATION"),
        ("GET", "/v1/invocations/act_1", String::new(), 404, "NO_SUCH_INVOCATION"),
        ("GET", "/v1/invocations/%ff", String::new(), 404, "NO_SUCH_INVOCATION"),
    ] {
        check(method, target, &body, expected, code).await;
    }
    served.host.vault().write().unwrap().lock();
    check("POST", "/v1/call", &with("nothing", "{}", None), 503, "VAULT_LOCKED").await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_be_repeated_has_a_status_that_is() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let rig = home_at(Origin::parse(&format!("http://{closed}")).unwrap()).await;
    let served = Served::new(rig, settings()).await;
    let answer = served.call("plain", "{}").await;
    assert_eq!((answer.status, &answer.json()["code"]), (503, &"CONNECT_FAILED".into()), "{answer:?}");
    assert_eq!(
        (&answer.json()["retryable"], &answer.json()["outcome"]),
        (&true.into(), &"not_attempted".into())
    );
    served.stop().await;
}

#[test]
fn no_status_of_a_code_is_repeated_where_something_may_have_been_done() {
    for code in Code::ALL {
        let envelope = Envelope::refusal(*code, None);
        let status = status(&envelope).as_u16();
        let nothing_was_done = matches!(envelope.outcome(), Some(Outcome::NotAttempted | Outcome::Rejected));
        assert!(nothing_was_done || !is_repeated(status), "{code}: {status}");
        let moves = matches!(code, Code::ApprovalPending | Code::InProgress);
        assert_eq!(status < 300, moves, "{code}: {status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_the_same_later_by_its_id() {
    let lost = Script(vec![Act::ReadRequest, Act::Effect, Act::Close]);
    let peer: (Peer, _) = home(lost).await;
    let served = Served::new(peer.1, settings()).await;
    let first = served.call("plain", "{}").await;
    let id = crate::served::id(&first);
    for (method, what) in
        [("GET", ""), ("POST", "/wait?seconds=1"), ("POST", "/reconcile"), ("POST", "/retry")]
    {
        let again = served.ask(method, &format!("/v1/invocations/{id}{what}"), "").await;
        assert_eq!((again.status, &again.json()["request_id"]), (424, &Value::from(id.as_str())), "{what}");
    }
    for bounds in ["seconds=3601", "seconds=-1", "seconds=x", "seconds=", "second=1", "seconds=1&seconds=2"] {
        let answer = served.post(&format!("/v1/invocations/{id}/wait?{bounds}")).await;
        assert_eq!((answer.status, &answer.json()["code"]), (422, &"INVALID_INPUT".into()), "{bounds}");
    }
    assert_eq!(peer.0.accepted(), 1);
    served.stop().await;
}
