//! A proxy that wants to know who asks, and a password that only it may learn.

use crate::{CA, OK, PASSWORD, Setting, USER, Way, address, always, claim, guarded, hold, origin, set};
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::envelope::Envelope;
use proofport_core::evidence::Cause;
use proofport_tests::canary::{assert_absent, assert_absent_below};
use proofport_tests::peer::{Peer, Script};
use proofport_tests::rig::name;

/// Another one, as ugly.
const WRONG: &str = "wr0ng+/=p4ssw0rd&%20-f5e4d3c2b1a0";

/// Whether a request has a field of this name, in lower case.
pub(crate) fn has_field(request: &[u8], name: &str) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    text.contains(&format!("\r\n{name}:"))
}

/// Closes the host, and looks for the password in whatever is left of the call.
pub(crate) fn leaves_nothing(what: &str, setting: Setting, envelope: &Envelope, password: &str) {
    assert_absent(password, what, serde_json::to_string(envelope).unwrap().as_bytes());
    assert_absent(password, what, format!("{envelope:?}").as_bytes());
    let id = envelope.request_id().unwrap();
    let record = setting.open.broker.diagnostic(&id).unwrap().unwrap();
    assert_absent(password, what, serde_json::to_string(&record).unwrap().as_bytes());
    assert_absent(password, what, format!("{record:?}").as_bytes());
    assert_absent(password, what, format!("{:?}", setting.open.broker.timeline(&id).unwrap()).as_bytes());
    setting.open.close();
    assert_absent_below(password, &setting.rig.home());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_accepted_or_not() {
    let squid = guarded();
    let check = async |what: &str, password: Option<&'static str>, expected: (Option<Code>, Outcome)| {
        let peer = Peer::https(always(Script::answer(OK)), &CA);
        let way = Way { password, ..Way::tunnel(squid.address()) };
        let setting = Setting::new("good", peer.origin(), way).await;
        let envelope = setting.call("act").await;
        assert_eq!(claim(&envelope), expected, "{what}: {envelope:?}");
        hold(what, &envelope, &[&peer]);
        let state = setting.state(&envelope);
        let attempt = state.setup.last().unwrap();
        if envelope.ok() {
            assert_eq!((attempt.cause, attempt.proxy_status), (None, None), "{what}");
        } else {
            let refused = (Some(Cause::ProxyAuthentication), Some(407));
            assert_eq!((attempt.cause, attempt.proxy_status), refused, "{what}");
            assert_eq!((state.setup.len(), peer.accepted()), (1, 0), "{what}: another try changes nothing");
        }
        for received in peer.received() {
            assert_absent(PASSWORD, what, &received);
            assert!(!has_field(&received, "proxy-authorization"), "{what}");
        }
        leaves_nothing(what, setting, &envelope, password.unwrap_or(PASSWORD));
    };
    check("the password", Some(PASSWORD), (None, Outcome::Committed)).await;
    let refused = (Some(Code::LoginFailed), Outcome::NotAttempted);
    check("another password", Some(WRONG), refused).await;
    check("no password", None, refused).await;
}

/// The password's own permission is asked for each use, and the proxy is a destination like any other.
#[tokio::test(flavor = "multi_thread")]
async fn a_password_goes_to_its_own_proxy_alone() {
    let peer = Peer::https(always(Script::answer(OK)), &CA);
    let proxy = Peer::http(always(Script::answer("HTTP/1.1 407 Who\r\ncontent-length: 0\r\n\r\n")));
    let way = Way::tunnel(address(&proxy)).with_password(PASSWORD);
    let setting = Setting::new("good", peer.origin(), way).await;
    {
        let mut vault = setting.open.vault.write().unwrap();
        vault.remove(&name("proxy")).unwrap();
        set(&mut vault, PASSWORD, address(&peer));
    }
    let envelope = setting.call("act").await;
    let expected = (Some(Code::CredentialUnavailable), Outcome::NotAttempted);
    assert_eq!(claim(&envelope), expected, "{envelope:?}");
    hold("another destination", &envelope, &[&peer]);
    assert_eq!((proxy.accepted(), peer.accepted()), (0, 0), "nobody is even dialled");
    leaves_nothing("another destination", setting, &envelope, PASSWORD);
}

/// A proxy that says back what it was told: in its name, in the exchange's, in a content that is stored.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_proxy_reflects_is_kept_nowhere() {
    let token = data_encoding::BASE64.encode(format!("{USER}:{PASSWORD}").as_bytes());
    let check = async |what: &str, field: &str, body: &str, stored: bool| {
        let answer = format!("HTTP/1.1 200 OK\r\n{field}content-length: {}\r\n\r\n{body}", body.len());
        let proxy = Peer::http(always(Script::answer(answer)));
        let way = Way::forward(address(&proxy)).with_password(PASSWORD);
        let setting = Setting::new("download", origin("http://127.0.0.1:7"), way).await;
        let envelope = setting.open.call("fetch", r#"{"path":"/open/large"}"#).await;
        assert_eq!(envelope.ok(), stored, "{what}: {envelope:?}");
        let content = setting.open.broker.journal().content(&envelope.request_id().unwrap()).unwrap();
        assert_eq!(content.is_some(), stored, "{what}");
        if let Some(content) = content {
            assert_eq!(content.chunk(0).unwrap().as_slice(), body.as_bytes(), "{what}");
        }
        leaves_nothing(what, setting, &envelope, PASSWORD);
    };
    check("nothing", "", "a content", true).await;
    check("the exchange's name", &format!("x-request-id: {token}\r\n"), "a content", true).await;
    check("the exchange's name, plain", &format!("x-request-id: {PASSWORD}\r\n"), "a content", true).await;
    check("its own name", &format!("proxy-status: \"{PASSWORD}\"\r\n"), "a content", true).await;
    check("a content", "", &format!("before {token} after"), false).await;
    check("a content, plain", "", &format!("before {PASSWORD} after"), false).await;
    check("the end of a content", "", PASSWORD, false).await;
    // Nobody asked for a coding, and nobody can look through one.
    check("a content in a coding", "content-encoding: gzip\r\n", "a content", false).await;
}
