//! How commands end, and what that proves.

use crate::world::{World, options, sh};
use proofport_core::contract::Outcome;
use proofport_core::evidence::Cause;
use proofport_core::exchange::{SshCommand, SshExit};
use proofport_core::ssh::SshRow;
use proofport_egress::ssh::{SshEgress, SshOutgoing, StopFirst};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn a_command_ends_as_the_server_says() {
    let world = World::new();
    let signal = |name: &str| SshExit::Signal(name.to_owned());
    let mut cases = vec![
        ("exit 0", SshExit::Status(0), SshRow::Success),
        ("exit 23", SshExit::Status(23), SshRow::Status),
        ("exit 255", SshExit::Status(255), SshRow::Status),
        ("kill -KILL $$", signal("KILL"), SshRow::Signal),
        ("kill -TERM $$", signal("TERM"), SshRow::Signal),
    ];
    let scripts: Vec<String> = (1..=6).map(|status| format!("exit {status}")).collect();
    cases.extend(
        (1..=6).zip(&scripts).map(|(n, script)| (script.as_str(), SshExit::Status(n), SshRow::Status)),
    );
    for (script, exit, row) in cases {
        let request = sh(&format!("echo out; echo err >&2; {script}"));
        let ran = world.run(request).await;
        let exchange = ran.exchange();
        assert_eq!(exchange.evidence.exit, Some(exit.clone()), "{script}");
        assert_eq!(SshRow::of(&exchange.evidence), row, "{script}: {:?}", exchange.evidence);
        let response = exchange.response.as_ref().unwrap();
        assert_eq!((&response.stdout[..], &response.stderr[..]), (&b"out\n"[..], &b"err\n"[..]), "{script}");
        assert!(exchange.evidence.complete() && exchange.evidence.stdin_complete, "{script}");
        assert_eq!(exchange.evidence.command_accepted, Some(true));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_arrive_as_they_were_meant() {
    let world = World::new();
    let words = ["printf", "[%s]", "a b", "", "it's", "$HOME", "`id`", "; exit 9", "*", "\n", "-n"];
    let mut request = sh("");
    request.command = SshCommand::Argv(words.map(str::to_owned).to_vec());
    let ran = world.run(request).await;
    let expected: String = words[2..].iter().map(|word| format!("[{word}]")).collect();
    assert_eq!(ran.exchange().response.as_ref().unwrap().stdout, expected.as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_may_run_something_else_or_nothing() {
    // What the account is made to run is what ends; the server hides the difference, and so do we.
    let world = World::with("command=\"echo forced; exit 7\"", "");
    let ran = world.run(sh("echo asked")).await;
    assert_eq!(ran.exchange().evidence.exit, Some(SshExit::Status(7)));
    assert_eq!(ran.exchange().response.as_ref().unwrap().stdout, b"forced\n");

    // No session at all: refused before anything was dispatched.
    let world = World::with("", "MaxSessions 0");
    let ran = world.run(sh("echo asked")).await;
    assert_eq!(ran.cause(), Some(Cause::ChannelRefused), "{:?}", ran.attempts);
}

/// A script that tells that it runs by a file, and runs for as long as the file is there.
fn lasting(file: &Path) -> String {
    format!(": > '{0}'; while [ -e '{0}' ]; do sleep 0.1; done", file.display())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_server_leaves_the_command_unknown() {
    let world = World::new();
    let began = world.shop.path("began");
    let script = format!("echo began; {}", lasting(&began));
    let outgoing = SshOutgoing::prepare(&sh(&script), Arc::clone(&world.credential)).unwrap();
    let setup = SshEgress::new().connect(&world.target, outgoing, crate::world::now(), 1).await;
    let loaded = setup.result.unwrap();
    let running =
        tokio::spawn(
            async move { loaded.exchange(&options(), Arc::new(()), std::future::pending(), None).await },
        );
    while !began.exists() {
        tokio::task::yield_now().await;
    }
    world.sshd.kill();
    let exchange = running.await.unwrap();
    let evidence = &exchange.evidence;
    assert_eq!(SshRow::of(evidence), SshRow::TransportLost, "{evidence:?}");
    assert_eq!(SshRow::of(evidence).claims().0, Outcome::Unknown);
    assert!(evidence.response_started() && evidence.exit.is_none() && exchange.response.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_closes_and_may_ask_first() {
    let world = World::new();
    let check = async |script: &str, stop: Option<Duration>, row: SshRow, confirmed: Option<bool>| {
        let began = world.shop.path(&format!("began-{}-{}", script.len(), stop.is_some()));
        let script = format!("{script} {}", lasting(&began));
        let outgoing = SshOutgoing::prepare(&sh(&script), Arc::clone(&world.credential)).unwrap();
        let setup = SshEgress::new().connect(&world.target, outgoing, crate::world::now(), 1).await;
        let loaded = setup.result.unwrap();
        let (cancel, cancelled) = tokio::sync::oneshot::channel::<()>();
        let mut options = options();
        options.stop_first = stop.map(|grace| StopFirst { grace });
        let running = tokio::spawn(async move {
            let cancel = async {
                let _ = cancelled.await;
            };
            loaded.exchange(&options, Arc::new(()), cancel, None).await
        });
        while !began.exists() {
            tokio::task::yield_now().await;
        }
        cancel.send(()).unwrap();
        let evidence = running.await.unwrap().evidence;
        assert_eq!(SshRow::of(&evidence), row, "{script}: {evidence:?}");
        assert_eq!(evidence.stop_confirmed, confirmed, "{script}: {evidence:?}");
    };
    check("", None, SshRow::Cancelled, None).await;
    // sshd passes a signal on only from a process that is separated from the privileged one, which it is
    // not for root.
    if rustix::process::getuid().is_root() {
        check("", Some(Duration::from_millis(300)), SshRow::Cancelled, Some(false)).await;
    } else {
        check("", Some(Duration::from_secs(20)), SshRow::Signal, Some(true)).await;
    }
    let stubborn = "trap '' TERM;";
    check(stubborn, Some(Duration::from_millis(300)), SshRow::Cancelled, Some(false)).await;
}
