//! One row of the table each: what the server did, and what is claimed of it.

use crate::server::{Peer, Script, Step};
use crate::{connect, options, password, run, stop_first, target};
use Step::{
    Blackhole, Close, Disconnect, Drop, Eof, Err, Failure, OpenChannels, Out, Signal, Status, Success,
};
use proofport_core::contract::Outcome;
use proofport_core::evidence::Cause;
use proofport_core::exchange::SshExit;
use proofport_core::ssh::SshRow;
use proofport_egress::{Watch, WirePoint};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Runs the script and compares. A claim is sound when `rejected` means that the server ran nothing, and
/// `committed` that it told of an end.
async fn check(steps: &'static [Step], row: SshRow, cause: Option<Cause>) {
    let peer = Peer::start(Script::new(steps)).await;
    let mut options = options();
    if row == SshRow::NoReply || row == SshRow::Deadline {
        options.deadline = Duration::from_millis(700);
    }
    let exchange = run(&peer, options, 10).await;
    let evidence = &exchange.evidence;
    assert_eq!(SshRow::of(evidence), row, "{steps:?}: {evidence:?}");
    // Whether the end of a connection is seen as FIN or RST depends on what was still under way.
    let reset = Some(Cause::ConnectionReset);
    let seen = if evidence.cause == reset { Some(Cause::ConnectionClosed) } else { evidence.cause };
    assert_eq!(seen, cause, "{steps:?}: {evidence:?}");
    assert_eq!(peer.came().execs, [b"'effect'".to_vec()], "{steps:?}");
    let told = steps
        .iter()
        .any(|step| matches!(step, Status(_) | Signal(_) | Out("done act_1\n") | Err("done act_1\n")));
    let refused = steps.iter().any(|step| matches!(step, Failure));
    match row.claims().0 {
        Outcome::Committed => assert!(told, "{steps:?}"),
        Outcome::Rejected => assert!(refused && peer.came().input == 0, "{steps:?}"),
        Outcome::Unknown => {}
        Outcome::NotAttempted => panic!("{steps:?}"),
    }
    let accepted = steps.iter().any(|step| matches!(step, Success));
    assert!(accepted || peer.came().input == 0, "{steps:?}: input for a command that was not accepted");
    assert_eq!(exchange.response.is_some(), evidence.complete(), "{steps:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_did_is_what_is_claimed() {
    const LOST: Option<Cause> = Some(Cause::ConnectionClosed);
    const LATE: Option<Cause> = Some(Cause::DeadlinePassed);
    const ODD: Option<Cause> = Some(Cause::ProtocolError);
    check(&[Success, Out("a"), Err("b"), Eof, Status(0), Close], SshRow::Success, None).await;
    check(&[Success, Status(0), Out("late"), Eof, Close], SshRow::Success, None).await;
    check(&[Status(0), Success, Eof, Close], SshRow::Success, None).await;
    check(&[Success, Eof, Status(7), Close], SshRow::Status, None).await;
    check(&[Success, Status(u32::MAX), Eof, Close], SshRow::Status, None).await;
    check(&[Success, Status(255), Close], SshRow::Status, None).await;
    check(&[Success, Signal("KILL"), Eof, Close], SshRow::Signal, None).await;
    check(&[Success, Signal("KILL"), Drop], SshRow::Signal, LOST).await;
    // Close after accepting; no word of an end.
    check(&[Success, Close], SshRow::ClosedWithoutEnd, None).await;
    check(&[Success, Out("a"), Eof, Close], SshRow::ClosedWithoutEnd, None).await;
    check(&[Close], SshRow::ClosedWithoutReply, None).await;
    check(&[Eof, Close], SshRow::ClosedWithoutReply, None).await;
    // A status, and then the output is cut.
    check(&[Success, Out("a"), Status(0), Close], SshRow::OutputCut, None).await;
    check(&[Success, Out("a"), Status(0), Drop], SshRow::OutputCut, LOST).await;
    check(&[Success, Out("a"), Status(9), Drop], SshRow::Status, LOST).await;
    // More output after the last: nothing of it is whole.
    check(&[Success, Eof, Out("a"), Status(0), Close], SshRow::OutputCut, ODD).await;
    // The marker, and no status.
    check(&[Success, Out("done act_1\n"), Drop], SshRow::Marker, LOST).await;
    check(&[Success, Out("done act_1\n"), Eof, Close], SshRow::Marker, None).await;
    check(&[Success, Err("done act_1\n"), Drop], SshRow::Marker, LOST).await;
    check(&[Success, Out("done "), Err("act_1\n"), Drop], SshRow::TransportLost, LOST).await;
    check(&[Success, Out("done act_1\n"), Status(3), Eof, Close], SshRow::Status, None).await;
    // Refused.
    check(&[Failure], SshRow::Refused, None).await;
    check(&[Failure, Close], SshRow::Refused, None).await;
    check(&[Out("a"), Failure], SshRow::Contradiction, None).await;
    check(&[Status(0), Failure], SshRow::Contradiction, None).await;
    check(&[Success, Status(0), Status(1), Eof, Close], SshRow::Contradiction, ODD).await;
    check(&[Success, Status(0), Signal("KILL"), Eof, Close], SshRow::Contradiction, ODD).await;
    check(&[Success, Status(4), Status(4), Eof, Close], SshRow::Status, None).await;
    // Lost.
    check(&[Drop], SshRow::TransportLost, LOST).await;
    check(&[Success, Drop], SshRow::TransportLost, LOST).await;
    check(&[Success, Disconnect], SshRow::TransportLost, Some(Cause::Disconnected)).await;
    check(&[Blackhole], SshRow::Keepalive, Some(Cause::KeepaliveTimeout)).await;
    check(&[Success, Blackhole], SshRow::Keepalive, Some(Cause::KeepaliveTimeout)).await;
    // The server lives and says nothing.
    check(&[], SshRow::NoReply, LATE).await;
    check(&[Success], SshRow::Deadline, LATE).await;
    check(&[Success, OpenChannels, Status(0), Eof, Close], SshRow::Success, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_has_32_bits_and_a_signal_a_name() {
    let check = async |steps, exit| {
        let peer = Peer::start(Script::new(steps)).await;
        assert_eq!(run(&peer, options(), 0).await.evidence.exit, Some(exit));
    };
    let signal = |name: &str| SshExit::Signal(name.to_owned());
    check(&[Success, Status(u32::MAX), Eof, Close], SshExit::Status(4_294_967_295)).await;
    check(&[Success, Status(256), Eof, Close], SshExit::Status(256)).await;
    check(&[Success, Signal("KILL"), Eof, Close], signal("KILL")).await;
    check(&[Success, Signal("SIGXCPU"), Eof, Close], signal("XCPU")).await;
    check(&[Success, Signal("odd@example.com"), Eof, Close], signal("odd@example.com")).await;
    check(&[Success, Signal("ignore all\nprevious"), Eof, Close], signal("OTHER")).await;
    check(&[Success, Signal(""), Eof, Close], signal("OTHER")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reason_is_kept_and_channels_are_refused() {
    let peer = Peer::start(Script::new(&[Success, Disconnect])).await;
    assert_eq!(run(&peer, options(), 0).await.evidence.disconnect_code, Some(11));
    let peer = Peer::start(Script::new(&[Success, OpenChannels, Status(0), Eof, Close])).await;
    let evidence = run(&peer, options(), 0).await.evidence;
    assert_eq!((evidence.channels_refused, evidence.complete()), (6, true));
    assert_eq!(peer.came().opened, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_never_opens_is_waited_for_no_longer_than_the_deadline() {
    let peer = Peer::start(Script { window: 0, ..Script::new(&[Success]) }).await;
    let mut options = options();
    options.deadline = Duration::from_millis(500);
    let evidence = run(&peer, options, 1000).await.evidence;
    assert_eq!(SshRow::of(&evidence), SshRow::Deadline, "{evidence:?}");
    assert_eq!((evidence.stdin_bytes, evidence.stdin_complete, peer.came().input), (0, false, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_confirmed_by_the_end_that_it_brings() {
    let check = async |steps, stop: bool, row, confirmed| {
        let peer = Peer::start(Script::new(steps)).await;
        let loaded = connect(&target(peer.port, &peer.key), &password(), 0).await.result.unwrap();
        let mut options = options();
        options.stop_first = stop_first().filter(|_| stop);
        let seen = peer.clone();
        let cancel = async move {
            while seen.came().execs.is_empty() {
                tokio::task::yield_now().await;
            }
        };
        let evidence = loaded.exchange(&options, Arc::new(()), cancel, None).await.evidence;
        assert_eq!((SshRow::of(&evidence), evidence.stop_confirmed), (row, confirmed), "{evidence:?}");
        let signals: &[&str] = if stop { &["TERM"] } else { &[] };
        assert_eq!(peer.came().signals, signals);
    };
    check(&[Success], true, SshRow::Signal, Some(true)).await;
    check(&[Success], false, SshRow::Cancelled, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_point_on_the_wire_is_told() {
    #[derive(Default)]
    struct Points(Mutex<Vec<WirePoint>>);
    impl Watch for Points {
        fn at(&self, point: WirePoint) {
            self.0.lock().unwrap().push(point);
        }
    }
    let peer = Peer::start(Script::new(&[Success])).await;
    let loaded = connect(&target(peer.port, &peer.key), &password(), 100).await.result.unwrap();
    let points = Arc::new(Points::default());
    let watch: Arc<dyn Watch> = Arc::clone(&points) as Arc<dyn Watch>;
    let mut options = options();
    options.stop_first = stop_first();
    let out = Arc::clone(&points);
    let cancel = async move {
        while !out.0.lock().unwrap().contains(&WirePoint::LastByteOut) {
            tokio::task::yield_now().await;
        }
    };
    loaded.exchange(&options, watch, cancel, None).await;
    // Input waits for the server's word, which is the first that comes in.
    let expected =
        [WirePoint::FirstByteOut, WirePoint::FirstByteIn, WirePoint::LastByteOut, WirePoint::LastByteIn];
    assert_eq!(*points.0.lock().unwrap(), expected);
}
