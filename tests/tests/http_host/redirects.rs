//! Case 16: where an effect is sent on, and where it is not.

use crate::{CA, OK, Site, nobody, received, record, says};
use proofport_broker::Clock;
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::envelope::Envelope;
use proofport_core::event::EventKind;
use proofport_core::origin::Origin;
use proofport_core::state::State;
use proofport_core::time::UnixMillis;
use proofport_tests::canary::assert_absent_below;
use proofport_tests::peer::{Act, Ca, Peer, Script, Scripts};
use proofport_tests::rig::{CANARY, caller, now};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::task::block_in_place;

fn redirect(status: u16, location: &str) -> Script {
    says(format!("HTTP/1.1 {status} X\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"))
}

/// Time goes on between any two looks at it.
struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn now(&self) -> UnixMillis {
        UnixMillis(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// One effect at `first`, whose connection lists these origins for redirects, and whose secret may go
/// to `also` besides. What is claimed, and what is on record.
async fn send(operation: &str, first: &Peer, listed: &[Origin], also: &[Origin]) -> (Envelope, State) {
    let list: Vec<String> = listed.iter().map(|origin| format!("\"{origin}\"")).collect();
    let more = format!("redirect_origins = [{}]", list.join(", "));
    let site = Site { also: also.to_vec(), more, ..Site::of(first.origin()) };
    let mut rig = site.make().await;
    rig.clock = Arc::new(Ticking(AtomicU64::new(now().0)));
    let open = rig.open().await;
    let envelope = open.call(operation, "{}").await;
    let id = envelope.request_id().unwrap();
    let state = record(&open, &envelope);
    // Each dispatch has its own place in the record, before anything that was seen of it.
    let kinds: Vec<_> =
        open.broker.timeline(&id).unwrap().iter().map(|recorded| recorded.event.kind()).collect();
    let dispatched = kinds.iter().filter(|kind| **kind == EventKind::DispatchStarted).count();
    assert_eq!(dispatched, state.attempts.len());
    open.close();
    assert_absent_below(CANARY, &rig.home());
    // After a restart the claim is the same, and nothing is sent again.
    let accepted = first.accepted();
    let open = rig.open().await;
    let stored = open.broker.result(&id, &caller()).envelope;
    assert_eq!((stored.code(), stored.outcome()), (envelope.code(), envelope.outcome()));
    assert_eq!(first.accepted(), accepted);
    open.close();
    (envelope, state)
}

fn body(request: &str) -> &str {
    request.split_once("\r\n\r\n").unwrap().1
}

fn field<'a>(request: &'a str, field: &str) -> Option<&'a str> {
    request
        .lines()
        .find_map(|line| line.to_ascii_lowercase().starts_with(field).then(|| &line[field.len()..]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listed_origin_gets_the_effect() {
    for (operation, status) in [("act", 307), ("act", 308), ("keyed", 307), ("idempotent", 308)] {
        let what = format!("{operation} {status}");
        let second = Peer::https(Script::answer(OK), &CA);
        let first = Peer::https(redirect(status, &format!("{}/v2/on?x=1", second.origin())), &CA);
        let (envelope, state) = send(operation, &first, &[second.origin()], &[second.origin()]).await;
        assert!(envelope.ok(), "{what}: {envelope:?}");
        assert_eq!((first.accepted(), second.accepted(), second.effects()), (1, 1, 1), "{what}");
        let (before, after) = (received(&first, 0), received(&second, 0));
        assert!(before.starts_with(&format!("POST /{operation} HTTP/1.1\r\n")), "{what}: {before}");
        assert!(after.starts_with("POST /v2/on?x=1 HTTP/1.1\r\n"), "{what}: {after}");
        assert_eq!(body(&before), body(&after), "{what}");
        assert_eq!(body(&after), "amount=1", "{what}");
        for request in [&before, &after] {
            assert!(request.contains(CANARY), "{what}: the credential is for both");
        }
        assert_eq!(field(&after, "host: "), Some(second.origin().authority().as_str()), "{what}");
        // The key is the intent's, wherever it goes.
        assert_eq!(field(&before, "idempotency-key: ").is_some(), operation == "keyed", "{what}");
        assert_eq!(field(&before, "idempotency-key: "), field(&after, "idempotency-key: "), "{what}");

        let [refused, followed] = state.attempts.as_slice() else { panic!("{what}: {state:?}") };
        let end = refused.end.as_ref().unwrap();
        assert_eq!((end.generation, end.outcome), (1, Outcome::Rejected), "{what}");
        assert_eq!(end.redirected, Some(second.origin()), "{what}");
        assert_eq!(end.evidence.http_status(), Some(status), "{what}");
        assert_eq!(followed.dispatch.generation, 2, "{what}");
        assert_eq!(followed.dispatch.follows, Some(second.origin()), "{what}");
        assert_ne!(
            followed.dispatch.request, refused.dispatch.request,
            "{what}: another place, another request"
        );
        assert_eq!(
            followed.dispatch.key.as_ref().map(|used| &used.key),
            refused.dispatch.key.as_ref().map(|used| &used.key),
            "{what}"
        );
    }
}

/// Not sent on: one attempt, and nothing at all at the second peer.
async fn stays(what: &str, operation: &str, first: &Peer, second: &Peer, listed: &[Origin]) {
    let (envelope, state) = send(operation, first, listed, &[second.origin()]).await;
    // An answer that is no answer to this request: the peer may have done anything before it.
    assert_eq!(
        (envelope.code(), envelope.outcome()),
        (Some(Code::OutcomeUnknown), Some(Outcome::Unknown)),
        "{what}"
    );
    assert_eq!(state.attempts.len(), 1, "{what}: {state:?}");
    assert_eq!(state.attempts[0].end.as_ref().unwrap().redirected, None, "{what}");
    assert_eq!(state.setup.len(), 1, "{what}: nothing else was dialled: {:?}", state.setup);
    assert_eq!((first.accepted(), second.accepted()), (1, 0), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_else_is_followed() {
    let second = Peer::https(Script::answer(OK), &CA);
    let plain = Peer::http(Script::answer(OK));
    let (to, port) = (second.origin(), second.port());
    let listed = [to.clone()];
    // A status that changes the method in some hands.
    for status in [300, 301, 302, 303, 304, 305, 306] {
        let first = Peer::https(redirect(status, &format!("{to}/on")), &CA);
        stays(&status.to_string(), "act", &first, &second, &listed).await;
    }
    let other = Peer::https(Script::answer(OK), &CA);
    let locations = [
        ("another port", format!("{}/on", other.origin())),
        ("another name", format!("https://localhost:{port}/on")),
        ("a subdomain", format!("https://api.localhost:{port}/on")),
        ("plain http", format!("http://127.0.0.1:{}/on", plain.port())),
        ("plain http on the listed port", format!("http://127.0.0.1:{port}/on")),
        ("the scheme's port", "https://127.0.0.1/on".to_owned()),
        ("a user", format!("https://somebody@127.0.0.1:{port}/on")),
        ("the listed one as a user", format!("https://127.0.0.1:{port}@localhost:{port}/on")),
        ("the same origin, which is not listed", "/on".to_owned()),
        ("a network path", format!("//localhost:{port}/on")),
        ("no place", String::new()),
        ("a file", "file:///etc/passwd".to_owned()),
        ("a number", format!("https://0x7f000002:{port}/on")),
    ];
    for (what, location) in locations {
        for operation in ["act", "keyed"] {
            let first = Peer::https(redirect(307, &location), &CA);
            stays(what, operation, &first, &second, &listed).await;
        }
    }
    let twice =
        format!("HTTP/1.1 307 X\r\nlocation: {to}/a\r\nlocation: {to}/b\r\ncontent-length: 0\r\n\r\n");
    stays("two places", "act", &Peer::https(says(twice), &CA), &second, &listed).await;
    let secret: String = CANARY.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let told = redirect(307, &format!("{to}/on?key={secret}"));
    stays("a place with the secret in it", "act", &Peer::https(told, &CA), &second, &listed).await;
    let listed_nowhere = redirect(308, &format!("{to}/on"));
    stays("nothing is listed", "act", &Peer::https(listed_nowhere, &CA), &second, &[]).await;
    assert_eq!((other.accepted(), plain.accepted(), second.accepted()), (0, 0, 0));
}

/// A redirect that does not end is no answer.
#[tokio::test(flavor = "multi_thread")]
async fn incomplete_redirects_are_not_followed() {
    let second = Peer::https(Script::answer(OK), &CA);
    let cut = format!("HTTP/1.1 307 X\r\nlocation: {}/on\r\ncontent-length: 9\r\n\r\nhal", second.origin());
    let first = Peer::https(says(cut), &CA);
    let (envelope, state) = send("act", &first, &[second.origin()], &[second.origin()]).await;
    assert_eq!(envelope.code(), Some(Code::RemoteResultIncomplete));
    assert_eq!((envelope.outcome(), state.attempts.len()), (Some(Outcome::Unknown), 1));
    assert_eq!(second.accepted(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_end_somewhere() {
    // In a circle of one.
    let first = Peer::https_as(
        Scripts { each: (0..9).map(|_| redirect(307, "/again")).collect(), default: None },
        CA.server(crate::NAMES),
    );
    let (envelope, state) = send("act", &first, &[first.origin()], &[]).await;
    assert_eq!(envelope.outcome(), Some(Outcome::Unknown), "{envelope:?}");
    assert_eq!((first.accepted(), state.attempts.len()), (4, 4));
    let generations: Vec<_> = state.attempts.iter().map(|attempt| attempt.dispatch.generation).collect();
    assert_eq!(generations, [1, 2, 3, 4]);
    assert_eq!(first.effects(), 0);

    // There and back, where only there is listed. Ports are needed before there are peers.
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let front = Origin::parse(&format!("https://{}", door.local_addr().unwrap())).unwrap();
    let back = Peer::https(redirect(307, &format!("{front}/back")), &CA);
    let first = Peer::https(redirect(307, &format!("{}/on", back.origin())), &CA);
    lead(door, first.port());
    let more = format!("redirect_origins = [\"{}\"]", back.origin());
    let rig = Site { also: vec![back.origin()], more, ..Site::of(front) }.make().await;
    let open = rig.open().await;
    let envelope = open.call("act", "{}").await;
    assert_eq!(envelope.outcome(), Some(Outcome::Unknown), "{envelope:?}");
    assert_eq!((first.accepted(), back.accepted(), record(&open, &envelope).attempts.len()), (1, 1, 2));
    open.close();
}

/// Leads whoever comes through this door to that port.
fn lead(door: TcpListener, port: u16) {
    std::thread::spawn(move || {
        for stream in door.incoming() {
            let (inside, outside) = (TcpStream::connect(("127.0.0.1", port)).unwrap(), stream.unwrap());
            for (from, to) in [(&inside, &outside), (&outside, &inside)] {
                let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
}

/// What becomes of the second hop, and what may be claimed then.
#[tokio::test(flavor = "multi_thread")]
async fn the_second_hop_speaks_for_itself() {
    let refused = "HTTP/1.1 422 Unprocessable Content\r\ncontent-length: 2\r\n\r\n{}";
    let failed = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 2\r\n\r\n{}";
    let lost = Script(vec![Act::ReadRequest, Act::Effect, Act::Reset]);
    let half = Script(vec![Act::ReadRequest, Act::Effect, Act::Send(OK[..OK.len() - 1].into()), Act::Close]);
    let cases = [
        ("refuses", says(refused), Code::RemoteRejected, Outcome::Rejected),
        ("fails", Script::answer(failed), Code::RemoteFailed, Outcome::Committed),
        ("loses the answer", lost, Code::OutcomeUnknown, Outcome::Unknown),
        ("cuts the answer", half, Code::RemoteResultIncomplete, Outcome::Unknown),
    ];
    for (what, script, code, outcome) in cases {
        let second = Peer::https(script, &CA);
        let first = Peer::https(redirect(307, &format!("{}/on", second.origin())), &CA);
        let (envelope, state) = send("act", &first, &[second.origin()], &[second.origin()]).await;
        assert_eq!(
            (envelope.code(), envelope.outcome()),
            (Some(code), Some(outcome)),
            "{what}: {envelope:?}"
        );
        assert_eq!((state.attempts.len(), first.accepted(), second.accepted()), (2, 1, 1), "{what}");
        assert!(second.effects() == 0 || outcome != Outcome::Rejected, "{what}");
    }
}

/// The second hop is never dispatched: the first's refusal stands.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_hop_that_is_not_reached_leaves_the_refusal() {
    let known = Peer::https(Script::answer(OK), &CA);
    let stranger = Peer::https(Script::answer(OK), &Ca::new());
    let mute = Peer::http(Script(vec![Act::Read(5), Act::Close]));
    let mute_origin = Origin::parse(&format!("https://127.0.0.1:{}", mute.port())).unwrap();
    let cases: [(&str, Origin, bool, Code); 4] = [
        ("the secret is not for it", known.origin(), false, Code::CredentialUnavailable),
        ("nobody is there", nobody(), true, Code::ConnectFailed),
        ("somebody else is there", stranger.origin(), true, Code::PeerUnverified),
        ("no TLS is there", mute_origin, true, Code::ConnectFailed),
    ];
    for (what, to, allowed, code) in cases {
        let first = Peer::https(redirect(307, &format!("{to}/on")), &CA);
        let also = if allowed { vec![to.clone()] } else { Vec::new() };
        let (envelope, state) = send("act", &first, &[to], &also).await;
        let got = (envelope.code(), envelope.outcome(), envelope.http_status());
        assert_eq!(
            got,
            (Some(Code::RemoteRejected), Some(Outcome::Rejected), Some(307)),
            "{what}: {envelope:?}"
        );
        assert_eq!(state.attempts.len(), 1, "{what}");
        let unsent: Vec<_> = state.unsent.iter().map(|end| (end.generation, end.outcome, end.code)).collect();
        assert_eq!(unsent, [(2, Outcome::NotAttempted, Some(code))], "{what}");
        assert_eq!((first.accepted(), first.effects()), (1, 0), "{what}");
    }
    block_in_place(|| stranger.wait_ended(1));
    assert_eq!(known.accepted(), 0);
    assert_eq!(stranger.received(), [b""]);
    assert!(!String::from_utf8_lossy(&mute.received()[0]).contains("amount"));
}
