//! A host killed anywhere around an exec. What sshd logged says whether it began the command; whatever
//! happened, in the end it ran exactly once.

use crate::world::{Declared, Terms, appears, declaring, runs};
use proofport_broker::{Clock, Point, SystemClock};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Source};
use proofport_core::event::EventKind;
use proofport_core::state::State;
use proofport_core::time::UnixMillis;
use proofport_tests::killpoint::{Kill, Scenario};
use proofport_tests::rig::Open;
use proofport_tests::sshd::{Place, Sshd};
use serde_json::json;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Its end is a file.
const ONE: Declared = Declared("one", "echo ran >>RUNS; : >HERE/ended", true);

const INPUT: &str = r#"{"command":"one"}"#;

/// What sshd logs when it begins a command.
const BEGINS: &str = "Starting session: command";

/// What it logs when a connection ends.
const ENDS: [&str; 3] = ["Connection closed by", "Connection reset by", "Disconnected from"];

/// After this long the connector takes an absence for proof, in seconds.
const ABSENCE_SETTLES: u64 = 301;

/// The system's clock, and how far it is ahead.
#[derive(Default)]
struct Ahead(AtomicU64);

impl Clock for Ahead {
    fn now(&self) -> UnixMillis {
        SystemClock.now().plus_seconds(self.0.load(Ordering::Relaxed))
    }
}

/// Kills a host there, and gives whether its server began the command.
async fn killed(kill: Kill, sshd: &Sshd, home: &Path) -> bool {
    let what = kill.to_word();
    let before = sshd.logged(BEGINS);
    let host = Command::new(env!("CARGO_BIN_EXE_crash-host"))
        .args([home.as_os_str(), what.as_ref(), "run".as_ref(), INPUT.as_ref()])
        .output()
        .unwrap();
    assert_eq!(host.status.signal(), Some(9), "{what}: the host never came here: {host:?}");
    // The server learns of it in its own time, and then says what it made of the connection.
    let ended = || ENDS.iter().map(|end| sshd.logged(end)).sum::<usize>();
    while sshd.is_serving() || sshd.logged("Connection from") > ended() {
        tokio::task::yield_now().await;
    }
    let began = sshd.logged(BEGINS) - before;
    assert!(began <= 1, "{what}");
    if began == 1 {
        appears(sshd, "ended").await;
    }
    began == 1
}

async fn check(kill: Kill, sshd: &Sshd) {
    let what = kill.to_word();
    let _ = std::fs::remove_file(sshd.path("ended"));
    let before = runs(sshd);
    let mut rig = declaring(sshd, &Terms::of(sshd), &[ONE]).await;
    let clock = Arc::new(Ahead::default());
    rig.clock = Arc::<Ahead>::clone(&clock);
    let began = tokio::task::block_in_place(|| {
        tokio::runtime::Handle::current().block_on(killed(kill, sshd, &rig.home()))
    });
    assert_eq!(runs(sshd) - before, usize::from(began), "{what}");

    let open = rig.open().await;
    let ids = open.broker.journal().invocations(10).unwrap();
    assert!(ids.len() <= 1, "{what}");
    for id in ids {
        let history = open.broker.journal().history(&id).unwrap();
        let state = State::replay(history.iter().map(|recorded| &recorded.event)).unwrap().unwrap();
        let dispatched = history.iter().any(|recorded| recorded.event.kind() == EventKind::DispatchStarted);
        // Laws 1 and 2.
        assert!(dispatched || !began, "{what}: a command without a dispatch on record");
        assert!(!dispatched || state.outcome() != Outcome::NotAttempted, "{what}: {state:?}");
        assert!(state.active().is_none(), "{what}: still under way");
        if state.outcome() == Outcome::Unknown {
            settle(&open, &clock, &id, began, &what).await;
        }
        let claimed = open.result(&id);
        let committed = claimed.outcome() == Some(Outcome::Committed);
        assert_eq!(committed, began, "{what}: {claimed:?}");
    }
    assert_eq!(
        runs(sshd) - before,
        usize::from(began),
        "{what}: neither a start nor a question runs anything"
    );
    let again = open.call("run", INPUT).await;
    assert!(again.ok(), "{what}: {again:?}");
    assert_eq!(again.repeated(), began, "{what}: {again:?}");
    assert_eq!(runs(sshd) - before, 1, "{what}: it ran exactly once");
    open.broker.journal().verify().unwrap();
    open.close();
}

/// Asks what became of an unknown. The script may still write down its end.
async fn settle(open: &Open, clock: &Ahead, id: &proofport_core::id::RequestId, began: bool, what: &str) {
    let found = if began {
        loop {
            let envelope = open.broker.reconcile(id).await.unwrap().envelope;
            if envelope.outcome() != Some(Outcome::Unknown) {
                break envelope;
            }
        }
    } else {
        // An absence is no proof before its time: the exec might still be on its way.
        let early = open.broker.reconcile(id).await.unwrap().envelope;
        assert_eq!(early.outcome(), Some(Outcome::Unknown), "{what}: {early:?}");
        clock.0.fetch_add(ABSENCE_SETTLES, Ordering::Relaxed);
        let found = open.broker.reconcile(id).await.unwrap().envelope;
        assert_eq!(found.code(), Some(Code::ConfirmedAbsent), "{what}: {found:?}");
        found
    };
    let shown = serde_json::to_value(&found).unwrap();
    assert_eq!(shown["evidence"]["source"], json!(Source::RemoteQuery.as_str()), "{what}: {shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_host_runs_a_command_exactly_once() {
    let write = |kill: &Kill| kill.scenario() == Scenario::Write;
    let all: Vec<Kill> = Kill::all().into_iter().filter(write).collect();
    assert!(all.contains(&Kill::At(Point::AfterCommit(EventKind::DispatchStarted))));
    let sshd = Sshd::at(Place::HERE, "LogLevel VERBOSE");
    // Where nothing ever ran, there is no state in which anything could be absent.
    let rig = declaring(&sshd, &Terms::of(&sshd), &[ONE]).await;
    let open = rig.open().await;
    assert!(open.call("run", INPUT).await.ok());
    open.close();
    for kill in all {
        check(kill, &sshd).await;
    }
}
