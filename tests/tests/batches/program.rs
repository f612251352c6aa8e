//! The program sends children again, settles single ones, and shows which call goes on from which.

use super::*;
use proofport_tests::program::program;
use proofport_tests::rig::PASSPHRASE;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The program on a home with one connection.
struct Program {
    program: PathBuf,
    rig: Rig,
    passphrase: PathBuf,
    _folder: tempfile::TempDir,
}

impl Program {
    fn new(rig: Rig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let passphrase = folder.path().join("passphrase");
        std::fs::write(&passphrase, format!("{PASSPHRASE}\n")).unwrap();
        Self { program: program(), rig, passphrase, _folder: folder }
    }

    /// What it prints, where it ends with this status and says all of this.
    #[track_caller]
    fn says(&self, args: &[&str], status: i32, texts: &[&str]) -> String {
        let mut command = Command::new(&self.program);
        command.env_clear().env("PROOFPORT_HOME", self.rig.home()).args(args).stdin(Stdio::null());
        let output = command.arg("--passphrase-file").arg(&self.passphrase).output().unwrap();
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(status), "{args:?}\n{out}\n{err}");
        for text in texts {
            assert!(out.contains(text) || err.contains(text), "{args:?}: no {text:?} in\n{out}\n{err}");
        }
        out
    }

    #[track_caller]
    fn json(&self, args: &[&str], status: i32) -> Value {
        serde_json::from_str(&self.says(&[args, &["--json"][..]].concat(), status, &[])).unwrap()
    }
}

fn id_of(answer: &Value) -> String {
    answer["request_id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn children_are_sent_again_and_both_records_say_so() {
    let unclear = bulk(&[(0, "a", 201), (1, "b", 409), (2, "c", 0)]);
    let (peer, rig) = rig(vec![applied(unclear), applied(bulk(&[(0, "c", 201)]))]).await;
    tokio::task::block_in_place(|| {
        let program = Program::new(rig);
        let first = id_of(&program.json(&["call", "c.same", "--input", INPUT], 13));
        program.says(&["unknowns"], 0, &[&first, "child 2 (c)", "proofport retry", "--child"]);
        let sent = program.json(&["retry", &first], 0);
        let linked = id_of(&sent);
        assert_eq!(sent["children"][0]["id"], "c");
        let again = program.says(&["retry", &first], 0, &[&linked, "nothing was sent now", "1: c"]);
        assert!(again.contains(&linked), "{again}");
        program.says(&["inspect", &first], 0, &["sent again as", &linked]);
        program.says(&["inspect", &linked], 0, &["children of", &first]);
        program.says(&["timeline", &first], 0, &["sent again as", &linked]);
        program.says(&["timeline", &linked], 0, &["children of", &first]);
        assert_eq!(program.json(&["inspect", &first], 0)["continued_by"], serde_json::json!([linked]));
        assert_eq!(program.json(&["timeline", &first], 0)["continued_by"], serde_json::json!([linked]));
        program.says(&["retry", &linked], 0, &["none of its children may be sent again"]);
    });
    assert_eq!((peer.effects(), sent_ids(&peer, 1)), (2, vec!["c".to_owned()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn single_children_are_settled_by_a_word() {
    let found = bulk(&[(1, "b", 404), (2, "c", 404)]);
    let (peer, rig) = rig(vec![applied(bulk(&[(0, "a", 201)])), asked(found)]).await;
    tokio::task::block_in_place(|| {
        let program = Program::new(rig);
        let id = id_of(&program.json(&["call", "c.send", "--input", INPUT], 13));
        let word = |child: &str| {
            let args = ["attest", &id, "--child", child, "--outcome", "committed", "--reason", "it is there"];
            args.map(str::to_owned)
        };
        let attest = |child: &str, texts: &[&str]| {
            let args = word(child);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            program.says(&args, 13, texts)
        };
        attest("d", &["no child of this batch"]);
        attest("a", &["nothing to attest", "committed"]);
        attest("b", &["RESULT_UNAVAILABLE"]);
        program.says(&["unknowns"], 0, &["child 2 (c)", "the answer does not say"]);
        program.says(&["inspect", &id], 0, &["it is there", "the answer does not say"]);
        program.says(
            &["timeline", &id],
            0,
            &["child 1 (b): committed RESULT_UNAVAILABLE, operator_attested: it is there"],
        );
        program.says(&["reconcile", &id], 13, &["of child b", "CONTRADICTS", "CONFIRMED_ABSENT"]);
        program.says(&["inspect", &id], 0, &["CONTRADICTS"]);
        program.says(&["timeline", &id], 0, &["child 1: rejected, remote_query 1"]);
        program.says(&["unknowns"], 0, &["Nothing is unknown"]);
    });
    assert_eq!((peer.effects(), peer.accepted()), (1, 2));
}
