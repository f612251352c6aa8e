//! A secret turns up nowhere: not in an envelope, a record, a file of the home, a log at its most
//! talkative, a panic's text or a `Debug` output, whatever went wrong.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use proofport_core::origin::Origin;
use proofport_tests::canary::{assert_absent, assert_absent_below, shapes};
use proofport_tests::peer::{Act, Ca, Peer, Script, Scripts};
use proofport_tests::rig::{CANARY, Rig, Wanted};
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Everything that is logged, at every level, by every crate.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// One write on a connection whose peer does this, and everything that it left behind.
async fn check(what: &str, origin: Origin, log: &Log) {
    let mut wanted = Wanted::new("good", origin, "key");
    wanted = wanted.limits("deadline_seconds = 2\nsetup_attempts = 1\nresponse_bytes = 4096");
    let rig = Rig::new(&wanted).await;
    let open = rig.open().await;
    for operation in ["act", "look"] {
        let delivery = open.deliver(operation, "{}", None).await;
        let envelope = delivery.envelope.clone();
        delivery.confirmed();
        assert_absent(CANARY, what, serde_json::to_string(&envelope).unwrap().as_bytes());
        assert_absent(CANARY, what, format!("{envelope:?}").as_bytes());
        let id = envelope.request_id().unwrap();
        let record = open.broker.diagnostic(&id).unwrap().unwrap();
        assert_absent(CANARY, what, serde_json::to_string(&record).unwrap().as_bytes());
        assert_absent(CANARY, what, format!("{record:?}").as_bytes());
        let events = open.broker.timeline(&id).unwrap();
        assert_absent(CANARY, what, format!("{events:?}").as_bytes());
    }
    assert_absent(CANARY, what, format!("{:?}", open.vault).as_bytes());
    open.close();
    assert_absent_below(CANARY, &rig.home());
    let logged = std::mem::take(&mut *log.0.lock().unwrap());
    assert!(!logged.is_empty(), "something is logged at this level");
    assert_absent(CANARY, &format!("the log of: {what}"), &logged);
}

fn answer(status: u16, body: &[u8]) -> Script {
    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", body.len());
    Script::answer([head.as_bytes(), body].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_turns_up_nowhere() {
    let log = Log::default();
    let panics = log.clone();
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let _ = writeln!(panics.clone(), "{info}");
        usual(info);
    }));
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .init();
    let http = |script: Script| Peer::http(Scripts { each: Default::default(), default: Some(script) });
    for status in [200, 401, 403, 429, 500, 502] {
        let peer = http(answer(status, b"{}"));
        check(&format!("a plain {status}"), peer.origin(), &log).await;
        // The peer had it: this test looks for the right thing.
        assert!(peer.received().iter().any(|bytes| String::from_utf8_lossy(bytes).contains(CANARY)));
    }
    for status in [200, 401] {
        for (shape, bytes) in shapes(CANARY) {
            let body = [b"{\"error\":\"bad key ".as_slice(), &bytes, b"\"}"].concat();
            let peer = http(answer(status, &body));
            check(&format!("a {status} that reflects it: {shape}"), peer.origin(), &log).await;
        }
    }
    let reflected = format!("HTTP/1.1 200 OK\r\nx-seen: {CANARY}\r\ncontent-length: 2\r\n\r\n{{}}");
    let wire = [
        ("a header that reflects it", Script::answer(reflected.clone())),
        (
            "a head cut in it",
            Script(vec![Act::ReadRequest, Act::Send(reflected.as_bytes()[..40].into()), Act::Close]),
        ),
        ("a status line of it", Script::answer(format!("{CANARY}\r\n\r\n"))),
        ("a reset", Script(vec![Act::ReadRequest, Act::Effect, Act::Reset])),
        ("silence", Script(vec![Act::ReadRequest, Act::Effect, Act::Hold])),
        ("an end before the request", Script(vec![Act::Read(1), Act::Reset])),
        ("malformed JSON", answer(200, format!("{{\"{CANARY}").as_bytes())),
        ("too much", answer(200, CANARY.repeat(400).as_bytes())),
    ];
    for (what, script) in wire {
        let peer = http(script);
        check(what, peer.origin(), &log).await;
    }
    let stranger = Peer::https(Scripts { each: Default::default(), default: None }, &Ca::new());
    check("an unknown authority", stranger.origin(), &log).await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    check("nobody", Origin::parse(&format!("http://{free}")).unwrap(), &log).await;
    check("no such name", Origin::parse("https://name.invalid").unwrap(), &log).await;
}
