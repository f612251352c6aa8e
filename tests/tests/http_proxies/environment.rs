//! A proxy that only the environment names is no proxy.

use crate::{CA, OK, always};
use proofport_broker::Point;
use proofport_core::event::EventKind;
use proofport_tests::killpoint::Kill;
use proofport_tests::peer::{Peer, Script};
use proofport_tests::rig::{Rig, Wanted};
use std::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn proxies_of_the_environment_are_ignored() {
    let names = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    let answer = || always(Script::answer(OK));
    for peer in [Peer::http(answer()), Peer::https(answer(), &CA)] {
        let proxy = Peer::http(answer());
        let mut wanted = Wanted::new("good", peer.origin(), "key");
        wanted.more = "ca_file = \"ca.pem\"\n".to_owned();
        let rig = Rig::new(&wanted).await;
        std::fs::write(rig.home().join("ca.pem"), CA.pem()).unwrap();
        // A write that succeeds never comes there, so this host lives.
        let never = Kill::At(Point::BeforeCommit(EventKind::Stopped)).to_word();
        let mut host = Command::new(env!("CARGO_BIN_EXE_crash-host"));
        host.args([rig.home().as_os_str(), never.as_ref(), "act".as_ref()]);
        for name in names {
            host.env(name, proxy.origin().to_string());
        }
        let done = host.env_remove("no_proxy").env_remove("NO_PROXY").output().unwrap();
        let envelope = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && envelope.contains("\"outcome\":\"committed\""), "{done:?}");
        assert_eq!((peer.effects(), proxy.accepted()), (1, 0), "the peer itself was asked");
    }
}
