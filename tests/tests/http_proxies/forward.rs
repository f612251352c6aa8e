//! Plain HTTP through a forward proxy, which reads the request and answers on its own when the origin
//! does not.

use crate::login::{has_field, leaves_nothing};
use crate::{
    OK, PASSWORD, Setting, Way, address, always, claim, guarded, hold, holds, nobody, origin, start,
};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Retry};
use proofport_core::evidence::{Hop, HttpEvidence};
use proofport_core::state::State;
use proofport_tests::canary::assert_absent;
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::squid::{NAME, SquidOptions};

fn evidence(state: &State) -> &HttpEvidence {
    state.attempts[0].end.as_ref().unwrap().evidence.http().unwrap()
}

/// One write through squid to this peer: what is claimed, and the status that it rests on.
async fn check(what: &str, script: Script, expected: (Option<Code>, Outcome, Option<u16>)) {
    let proxy = start(SquidOptions::default());
    let way = Way::forward(proxy.address()).impatient(holds(&script));
    let peer = Peer::http(always(script));
    let setting = Setting::new("good", peer.origin(), way).await;
    let envelope = setting.call("act").await;
    let state = setting.state(&envelope);
    let (code, outcome) = claim(&envelope);
    assert_eq!((code, outcome, evidence(&state).status), expected, "{what}: {envelope:?}");
    assert_eq!(evidence(&state).hop, Hop::ForwardProxy, "{what}");
    // squid 5 says nothing by Proxy-Status, so nothing it says for itself is proof.
    assert!(evidence(&state).proxy_status.is_empty(), "{what}");
    hold(what, &envelope, &[&peer]);
    assert_eq!(peer.accepted(), 1, "{what}: squid does not repeat a POST");
    let received = String::from_utf8_lossy(&peer.received()[0]).into_owned();
    if peer.effects() == 1 {
        assert!(received.starts_with("POST /act HTTP/1.1\r\n"), "{what}: {received}");
        assert!(received.contains(&format!("Via: 1.1 {NAME} ")), "{what}: {received}");
    }
    setting.open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn squid_answers_for_the_origin() {
    use Act::{Close, Effect, ReadRequest, Reset, Send};
    use Outcome::{Committed, Unknown};
    let unknown = Some(Code::OutcomeUnknown);
    check("200", Script::answer(OK), (None, Committed, Some(200))).await;
    check("reset", Script(vec![ReadRequest, Effect, Reset]), (unknown, Unknown, Some(502))).await;
    check("closed", Script(vec![ReadRequest, Effect, Close]), (unknown, Unknown, Some(502))).await;
    check("a part of the request", Script(vec![Act::Read(1), Reset]), (unknown, Unknown, Some(502))).await;
    let half = Send(OK[..OK.len() - 1].to_vec());
    let incomplete = (Some(Code::RemoteResultIncomplete), Unknown, Some(200));
    check("half a body", Script(vec![ReadRequest, Effect, half, Close]), incomplete).await;
    check("silent", Script::silent(), (unknown, Unknown, None)).await;
}

/// squid's 503 with its error page: nothing reached anybody, and nothing proves it. Trusting squid by
/// name changes nothing, since it sends no Proxy-Status.
#[tokio::test(flavor = "multi_thread")]
async fn an_origin_that_is_down_behind_squid_is_unknown() {
    let proxy = start(SquidOptions::default());
    let trusted = format!("trusted_hops = [\"{NAME}\"]");
    for more in ["", &trusted] {
        let to = origin(&format!("http://{}", nobody()));
        let setting = Setting::new("good", to, Way::forward(proxy.address()).with(more)).await;
        let envelope = setting.call("act").await;
        let expected = (Some(Code::OutcomeUnknown), Outcome::Unknown);
        assert_eq!(claim(&envelope), expected, "{more}: {envelope:?}");
        assert_eq!(envelope.retry(), Retry::Reconcile, "{more}");
        let state = setting.state(&envelope);
        assert_eq!((evidence(&state).status, evidence(&state).proxy_status.len()), (Some(503), 0), "{more}");
        setting.open.close();
    }
}

/// A hop that does send Proxy-Status is believed if it is trusted, for the errors that say that nothing
/// was forwarded.
#[tokio::test(flavor = "multi_thread")]
async fn a_trusted_hop_can_say_that_nothing_was_forwarded() {
    let check = async |said: &str, trusted: &str, expected: (Option<Code>, Outcome)| {
        let answer = format!("HTTP/1.1 503 X\r\nproxy-status: {said}\r\ncontent-length: 0\r\n\r\n");
        let proxy = Peer::http(always(Script(vec![Act::ReadRequest, Act::Send(answer.into()), Act::Close])));
        let peer = Peer::http(always(Script::answer(OK)));
        let way = Way::forward(address(&proxy)).with(trusted);
        let setting = Setting::new("good", peer.origin(), way).await;
        let envelope = setting.call("act").await;
        assert_eq!(claim(&envelope), expected, "{said} with {trusted}: {envelope:?}");
        hold(said, &envelope, &[&peer]);
        setting.open.close();
    };
    let unknown = (Some(Code::OutcomeUnknown), Outcome::Unknown);
    let refused = (Some(Code::RateLimited), Outcome::Rejected);
    check("gate;error=connection_refused", "trusted_hops = [\"gate\"]", refused).await;
    check("gate;error=connection_refused", "", unknown).await;
    check("gate;error=connection_refused", "trusted_hops = [\"gatehouse\"]", unknown).await;
    check("gate;error=connection_terminated", "trusted_hops = [\"gate\"]", unknown).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxys_password_is_the_proxys() {
    let squid = guarded();
    let check = async |what: &str, password: Option<&'static str>, expected: (Option<Code>, Outcome)| {
        let peer = Peer::http(always(Script::answer(OK)));
        let way = Way { password, ..Way::forward(squid.address()) };
        let setting = Setting::new("good", peer.origin(), way).await;
        let envelope = setting.call("act").await;
        assert_eq!(claim(&envelope), expected, "{what}: {envelope:?}");
        hold(what, &envelope, &[&peer]);
        for received in peer.received() {
            assert_absent(PASSWORD, what, &received);
            assert!(!has_field(&received, "proxy-authorization"), "{what}");
        }
        if !envelope.ok() {
            assert_eq!(peer.accepted(), 0, "{what}");
            let state = setting.state(&envelope);
            assert_eq!((evidence(&state).status, evidence(&state).from_origin), (Some(407), false), "{what}");
        }
        leaves_nothing(what, setting, &envelope, password.unwrap_or(PASSWORD));
    };
    check("the password", Some(PASSWORD), (None, Outcome::Committed)).await;
    let refused = (Some(Code::RemoteRejected), Outcome::Rejected);
    check("another password", Some("wr0ng+/=p4ssw0rd&%20-f5e4d3c2b1a0"), refused).await;
    check("no password", None, refused).await;
}

/// The proxy gets the whole URL, with the name as it is written, and the credentials for itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_forward_proxy_is_asked_in_absolute_form() {
    let proxy = Peer::http(always(Script::answer(OK)));
    let way = Way::forward(address(&proxy)).with_password(PASSWORD);
    let setting = Setting::new("good", origin("http://127.0.0.1:7"), way).await;
    let envelope = setting.call("act").await;
    assert_eq!(claim(&envelope), (None, Outcome::Committed), "{envelope:?}");
    let received = String::from_utf8_lossy(&proxy.received()[0]).to_ascii_lowercase();
    assert!(received.starts_with("post http://127.0.0.1:7/act http/1.1\r\n"), "{received}");
    assert!(received.contains("\r\nhost: 127.0.0.1:7\r\n"), "{received}");
    assert_eq!(received.matches("\r\nproxy-authorization: basic ").count(), 1, "{received}");
    leaves_nothing("absolute form", setting, &envelope, PASSWORD);
}

/// What HTTP calls idempotent a proxy may repeat (RFC 9110 section 9.2.2), and squid does where a kept
/// connection to the origin ends without an answer. Nothing tells the host of it, so a refusal that the
/// first copy may have caused is none. A `POST` is never repeated.
#[tokio::test(flavor = "multi_thread")]
async fn squid_repeats_what_http_calls_idempotent() {
    let keep = [Act::ReadRequest, Act::Effect, Act::Send(OK.to_vec())];
    let lose = [Act::ReadRequest, Act::Effect, Act::Close];
    let answer = |status: u16| format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n").into_bytes();
    let check = async |operation: &str, second: Script, expected: (Option<Code>, Outcome), effects: usize| {
        let proxy = start(SquidOptions::default());
        let first = Script(keep.iter().chain(&lose).cloned().collect());
        let peer = Peer::http(Scripts { each: vec![first].into(), default: Some(second) });
        let way = Way::forward(proxy.address());
        let setting = Setting::new("promises", peer.origin(), way).await;
        // An operation that brings no content with it leaves squid's connection to the origin to the next.
        assert!(setting.open.call_with("drop", "{}", Some("first")).await.ok());
        assert_eq!(peer.effects(), 1);
        let envelope = setting.open.call_with(operation, "{}", Some("second")).await;
        assert_eq!(claim(&envelope), expected, "{operation}: {envelope:?}");
        assert_eq!(setting.state(&envelope).attempts.len(), 1, "{operation}: the host sent it once");
        assert_eq!(peer.effects() - 1, effects, "{operation}");
        setting.open.close();
    };
    let unknown = (Some(Code::OutcomeUnknown), Outcome::Unknown);
    check("drop", Script::answer(OK), (None, Outcome::Committed), 2).await;
    for status in [404, 409, 410, 412, 429] {
        let refuse = Script(vec![Act::ReadRequest, Act::Send(answer(status)), Act::Close]);
        check("drop", refuse, unknown, 1).await;
    }
    check("act", Script::answer(OK), (None, Outcome::Committed), 1).await;
}
