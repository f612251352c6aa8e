//! No secret in what is logged, by us or by russh at its most talkative, nor in any failure's words.

use crate::server::{PASSWORD, Peer, Script, Step};
use crate::{connect, options, password, run, target};
use log::{LevelFilter, Log, Metadata, Record};
use proofport_core::secret::Secret;
use proofport_egress::ssh::SshInjection;
use std::sync::atomic::{AtomicU64, Ordering};

const WRONG: &str = "a wrong one, and a secret";

struct Listener;

static HEARD: AtomicU64 = AtomicU64::new(0);
static LEAKED: AtomicU64 = AtomicU64::new(0);

impl Log for Listener {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let text = record.args().to_string();
        HEARD.fetch_add(1, Ordering::Relaxed);
        if [PASSWORD, WRONG].iter().any(|secret| text.contains(secret)) {
            LEAKED.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn flush(&self) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_logged_or_told() {
    log::set_logger(&Listener).unwrap();
    log::set_max_level(LevelFilter::Trace);
    let told = |text: String| {
        assert!(!text.contains(PASSWORD) && !text.contains(WRONG), "{text}");
    };
    let wrong = Secret::new(WRONG.as_bytes().to_vec());
    let answer = SshInjection::KeyboardInteractive(wrong.duplicate());
    for (injection, banner) in [(SshInjection::Password(wrong), 0), (answer, 0), (password(), 100_000)] {
        let peer = Peer::start(Script { banner, ..Script::new(&[]) }).await;
        let setup = connect(&target(peer.port, &peer.key), &injection, 0).await;
        told(format!("{:?} {:?}", setup.attempts, setup.result.err()));
    }
    let peer = Peer::start(Script::new(&[Step::Success, Step::Disconnect])).await;
    told(format!("{:?}", run(&peer, options(), 0).await));
    assert!(HEARD.load(Ordering::Relaxed) > 0, "nothing was listened to");
    assert_eq!(LEAKED.load(Ordering::Relaxed), 0);
}
