//! Releases through a whole host.

use crate::world::{Terms, head, home, published, record};
use data_encoding::{BASE64, HEXLOWER};
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_tests::sshd::Sshd;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::process::Command;

/// A release's input: an archive of one file with this text.
fn release(sshd: &Sshd, id: &str, text: &str) -> Value {
    let folder = sshd.path(&format!("made-{text}"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("version"), text).unwrap();
    let packed = Command::new("tar").arg("-C").arg(&folder).args(["-cf", "-", "."]).output().unwrap();
    assert!(packed.status.success());
    let sha256 = HEXLOWER.encode(&Sha256::digest(&packed.stdout));
    json!({ "id": id, "sha256": sha256, "archive": BASE64.encode(&packed.stdout) })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_made_current_and_a_conflict_is_refused() {
    let sshd = Sshd::start();
    let root = sshd.path("releases");
    std::fs::create_dir(&root).unwrap();
    let terms = Terms::of(&sshd);
    let toml = format!("{}[connections.c.config]\nroot = \"{}\"\n", head(&sshd, &terms), root.display());
    let rig = home("proofport-connector-ssh-deploy", &sshd, &terms, &toml).await;
    let open = rig.open().await;
    let version = || std::fs::read_to_string(root.join("current/version")).unwrap();

    let before = open.call("current", "{}").await;
    assert!(before.ok() && before.result().unwrap()["current"].is_null(), "{before:?}");
    let first = release(&sshd, "r1", "one");
    let made = open.call("release", &first.to_string()).await;
    assert!(made.ok(), "{made:?}");
    let expected = json!({ "id": "r1", "sha256": first["sha256"], "current": true });
    assert_eq!((made.result(), version().as_str()), (Some(&expected), "one"));
    let state = record(&open, &made);
    let sent = state.attempts[0].end.as_ref().unwrap().evidence.ssh().unwrap().clone();
    let archive = BASE64.decode(first["archive"].as_str().unwrap().as_bytes()).unwrap();
    assert_eq!((sent.stdin_bytes, sent.stdin_complete), (archive.len() as u64, true));

    // Other content under the same id: the script says that it did nothing, and its contract that it may.
    let other = open.call("release", &release(&sshd, "r1", "two").to_string()).await;
    let claim = (other.outcome(), other.code());
    assert_eq!(claim, (Some(Outcome::Rejected), Some(Code::RemoteRejected)), "{other:?}");
    let shown = published(&other);
    assert_eq!(
        (&shown["exit_status"], &shown["result"]),
        (&json!(105), &json!({ "why": "conflict" })),
        "{shown}"
    );
    assert_eq!(version(), "one");

    assert!(open.call("release", &release(&sshd, "r2", "two").to_string()).await.ok());
    assert_eq!(version(), "two");
    // More input than the connection allows is refused before anything is dialled.
    let mut third = release(&sshd, "r3", "three");
    third["archive"] = json!(BASE64.encode(&vec![0; 3 << 18]));
    let large = open.call("release", &third.to_string()).await;
    let claim = (large.outcome(), large.code());
    assert_eq!(claim, (Some(Outcome::NotAttempted), Some(Code::PayloadLimit)), "{large:?}");
    assert!(record(&open, &large).setup.is_empty());
    let after = open.call("current", "{}").await;
    assert_eq!(after.result().unwrap()["current"], "r2", "{after:?}");
    open.close();
}
