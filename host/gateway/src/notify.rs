//! Telling people that an agent waits for their word: a command of the admin's, run for each new question. It
//! is told which call waits and nothing that a notification on a screen should not show.

use proofport_broker::{Broker, Card};
use proofport_core::id::{OperationName, RequestId};
use proofport_core::time::UnixMillis;
use serde::Serialize;
use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::sync::Semaphore;

/// How long such a command may take before it is stopped.
const LONGEST: Duration = Duration::from_secs(30);

/// How many of them run at once.
const AT_ONCE: usize = 4;

/// What of this process's environment it gets: enough to reach a desktop, and no passphrase.
const KEPT: [&str; 8] = [
    "PATH",
    "HOME",
    "LANG",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "XAUTHORITY",
];

/// What the command gets on standard input, as one line of JSON.
#[derive(Serialize)]
struct Told<'a> {
    request_id: RequestId,
    operation: &'a OperationName,
    until: UnixMillis,
}

/// Runs this command for each question that is put from now on, and for those that wait already, until the
/// returned future is dropped. One that fails is logged and changes nothing.
pub async fn notify(broker: &Broker, command: &[String]) {
    let Some((program, arguments)) = command.split_first() else { return };
    let hands = Arc::new(Semaphore::new(AT_ONCE));
    let mut changed = broker.questions();
    let mut told: BTreeSet<RequestId> = BTreeSet::new();
    loop {
        changed.borrow_and_update();
        let cards = broker.approvals().unwrap_or_else(|error| {
            tracing::error!(%error, "what waits for an approval can't be read");
            Vec::new()
        });
        told.retain(|id| cards.iter().any(|card| card.request_id == *id));
        for card in cards {
            if !told.insert(card.request_id) {
                continue;
            }
            let Ok(hand) = Arc::clone(&hands).acquire_owned().await else { return };
            let (program, arguments) = (program.clone(), arguments.to_vec());
            tokio::spawn(async move {
                tell(&program, &arguments, &card).await;
                drop(hand);
            });
        }
        if changed.changed().await.is_err() {
            return;
        }
    }
}

async fn tell(program: &str, arguments: &[String], card: &Card) {
    let told = Told { request_id: card.request_id, operation: &card.operation, until: card.until };
    let mut command = Command::new(program);
    command.args(arguments).env_clear();
    command.envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.env("PROOFPORT_REQUEST_ID", card.request_id.to_string());
    command.env("PROOFPORT_OPERATION", card.operation.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let run = async {
        let mut child = command.spawn()?;
        if let Some(mut input) = child.stdin.take() {
            let mut line = serde_json::to_vec(&told)?;
            line.push(b'\n');
            // One that doesn't read has its environment.
            let _ = input.write_all(&line).await;
        }
        child.wait().await
    };
    match tokio::time::timeout(LONGEST, run).await {
        Ok(Ok(status)) if status.success() => {}
        Ok(Ok(status)) => tracing::warn!(%status, "the command that tells of a waiting approval failed"),
        Ok(Err(error)) => tracing::warn!(%error, "the command that tells of a waiting approval can't be run"),
        Err(_) => {
            tracing::warn!("the command that tells of a waiting approval took too long, and was stopped")
        }
    }
}
