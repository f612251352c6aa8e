//! The story.

use super::service::Manner;
use super::stage::Stage;
use super::telling::{Expected, Scene, Telling};
use anyhow::bail;
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::event::EventKind;
use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

/// How long a call may take to reach the service before the demo gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The signal that can't be caught.
const SIGKILL: i32 = 9;

/// A scene of the story.
pub(super) type Play = fn(&Stage) -> anyhow::Result<Scene>;

/// The scenes in order.
pub(super) const ALL: [Play; 5] = [success, rejection, lost_response, locked_vault, crash];

const DONE: Expected = Expected { code: None, outcome: Outcome::Committed, exit: 0 };
const DECLINED: Expected =
    Expected { code: Some(Code::RemoteRejected), outcome: Outcome::Rejected, exit: 11 };
const UNKNOWN: Expected = Expected { code: Some(Code::OutcomeUnknown), outcome: Outcome::Unknown, exit: 12 };
const LOCKED: Expected = Expected { code: Some(Code::VaultLocked), outcome: Outcome::NotAttempted, exit: 10 };

fn success(stage: &Stage) -> anyhow::Result<Scene> {
    let mut scene = Telling::begin(stage, "Success", Manner::Honest, 1000);
    scene.call(DONE)?;
    scene.end()
}

fn rejection(stage: &Stage) -> anyhow::Result<Scene> {
    let mut scene = Telling::begin(stage, "Rejection", Manner::Declines, 2000);
    scene.call(DECLINED)?;
    scene.end()
}

fn lost_response(stage: &Stage) -> anyhow::Result<Scene> {
    let mut scene = Telling::begin(stage, "Lost response", Manner::LosesTheAnswer, 3000);
    scene.call(UNKNOWN)?;
    let id = scene.call_again(UNKNOWN)?;
    scene.reconcile(&id, DONE)?;
    scene.end()
}

fn locked_vault(stage: &Stage) -> anyhow::Result<Scene> {
    let mut scene = Telling::begin(stage, "Locked vault", Manner::Honest, 4000);
    scene.vault("lock")?;
    scene.call(LOCKED)?;
    scene.vault("unlock")?;
    scene.end()
}

fn crash(stage: &Stage) -> anyhow::Result<Scene> {
    let mut scene = Telling::begin(stage, "Crash between dispatch and answer", Manner::HoldsTheAnswer, 5000);
    let host = scene.begin_call()?;
    if !stage.service.wait_until_holding(PATIENCE) {
        let left = host.kill()?;
        bail!("the call did not reach the service: {}", String::from_utf8_lossy(&left.stderr).trim());
    }
    let pid = host.pid();
    let left = host.kill()?;
    // Only now, with the process gone, does the connection end.
    stage.service.let_go();
    scene.service();
    let said = left.stdout.len();
    scene.note("killed", format!("the host process {pid}, with SIGKILL; it had printed {said} bytes"));
    if left.status.signal() != Some(SIGKILL) || said > 0 {
        scene.doubt("the host process was not killed before it could answer".to_owned());
    }
    let id = scene.call_again(UNKNOWN)?;
    scene.reconcile(&id, DONE)?;
    let events = stage.timeline(&id)?;
    let words: Vec<&str> = events.iter().map(|kind| kind.as_str()).collect();
    scene.note("timeline", words.join(" → "));
    // Two processes, one record: the dispatch of the first, and its end as the second found it.
    let place = |kind: EventKind| events.iter().position(|event| *event == kind);
    match (place(EventKind::DispatchStarted), place(EventKind::AttemptEnded)) {
        (Some(dispatched), Some(ended)) if dispatched < ended => {}
        (_, _) => scene.doubt("the record does not show the dispatch and its unknown end".to_owned()),
    }
    scene.end()
}
