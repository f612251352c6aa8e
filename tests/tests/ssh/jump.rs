//! Hosts behind another.

use crate::world::{Declared, Terms, declaring, record, run, runs};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Stage};
use proofport_core::event::StopDetail;
use proofport_core::evidence::{Cause, Hop};
use proofport_tests::sshd::Sshd;

const ONE: [Declared; 1] = [Declared("one", "echo ran >>RUNS", false)];

/// Runs the command under these terms; gives the last stage that was entered, if any was, and why it
/// stopped.
async fn stopped(sshd: &Sshd, terms: &Terms, code: Code) -> (Option<Stage>, StopDetail) {
    let rig = declaring(sshd, terms, &ONE).await;
    let open = rig.open().await;
    let envelope = run(&open, "one").await;
    assert_eq!(
        (envelope.outcome(), envelope.code()),
        (Some(Outcome::NotAttempted), Some(code)),
        "{envelope:?}"
    );
    assert_eq!(runs(sshd), 0);
    let state = record(&open, &envelope);
    assert!(state.attempts.is_empty() && state.setup.len() < 2, "{state:?}");
    open.close();
    (state.setup.last().map(|attempt| attempt.stage), state.stopped.unwrap().detail)
}

/// Through a jump host, here the same server once more, whose keys and login are judged like the target's.
#[tokio::test(flavor = "multi_thread")]
async fn a_jump_host_leads_there() {
    let sshd = Sshd::start();
    let other = sshd.key("other", "");
    let through = |keys: &str| {
        let known = format!("host_keys = [\"{}\"]", sshd.host_key());
        let jump = format!("host = \"{}\"\nhost_keys = [\"{keys}\"]", sshd.account());
        let login = "secret = \"login\"\nmode = \"ssh_key\"";
        Terms { host_keys: format!("{known}\n[connections.c.ssh.jump]\n{jump}\n{login}"), ..Terms::of(&sshd) }
    };
    let (stage, why) = stopped(&sshd, &through(other.trim()), Code::PeerUnverified).await;
    assert_eq!(stage, Some(Stage::HostVerified));
    assert_eq!(why, StopDetail::Setup { cause: Cause::HostKeyUnknown });
    let rig = declaring(&sshd, &through(&sshd.host_key()), &ONE).await;
    let open = rig.open().await;
    let envelope = run(&open, "one").await;
    assert!(envelope.ok(), "{envelope:?}");
    let hops: Vec<_> = record(&open, &envelope).setup.iter().map(|attempt| attempt.hop).collect();
    assert_eq!((hops, runs(&sshd)), (vec![Hop::Direct, Hop::Tunnel], 1));
    let connections = open.broker.ssh_connections();
    assert_eq!((connections.opened, connections.open()), (2, 0), "one to each host, and no pool");
    open.close();
}
