//! The program and OpenSSH's server: what it prints, with which exit status, and what ran.

use crate::world::{Declared, Terms, declared, runs};
use proofport_tests::canary::assert_absent;
use proofport_tests::program::program;
use proofport_tests::rig::{PASSPHRASE, Rig};
use proofport_tests::sshd::Sshd;
use serde_json::{Value, json};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The program on a home.
struct Program {
    program: PathBuf,
    rig: Rig,
    passphrase: PathBuf,
    key: String,
}

impl Program {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().env("PROOFPORT_HOME", self.rig.home()).env("PROOFPORT_LOG", "debug");
        command.args(args).arg("--passphrase-file").arg(&self.passphrase);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it; gives what it printed. No line of the key is in it.
    #[track_caller]
    fn check(&self, command: &mut Command, status: i32) -> String {
        let output = command.output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(status), "{out}\n{err}");
        let lines: Vec<&str> = self.key.lines().filter(|line| !line.starts_with("-----")).collect();
        for line in &lines[2..lines.len() - 1] {
            assert_absent(line, "standard output", &output.stdout);
            assert_absent(line, "standard error", &output.stderr);
        }
        out.into_owned()
    }

    #[track_caller]
    fn call(&self, name: &str, status: i32) -> Value {
        let input = format!("{{\"command\":\"{name}\"}}");
        let call = ["call", "c.run", "--json", "--input", &input];
        serde_json::from_str(&self.check(&mut self.command(&call), status)).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_says_what_ran() {
    let sshd = Sshd::start();
    let terms = Terms { limits: "deadline_seconds = 3".to_owned(), ..Terms::of(&sshd) };
    let commands = [
        Declared("well", "echo ran >>RUNS; printf hello", false),
        Declared("badly", "echo ran >>RUNS; cat HERE/user; exit 23", false),
        Declared(
            "held",
            "echo ran >>RUNS; while [ -e HERE/runs ] && [ ! -e HERE/go ]; do sleep 0.05; done",
            true,
        ),
    ];
    let toml = declared(&sshd, &terms, &commands);
    let rig = Rig::declared(crate::world::RUN, &[], &toml).await;
    let passphrase = sshd.path("passphrase");
    std::fs::write(&passphrase, format!("{PASSPHRASE}\n")).unwrap();
    let key = sshd.user_key();
    let program = tokio::task::block_in_place(|| Program { program: program(), rig, passphrase, key });
    tokio::task::block_in_place(|| {
        // A connection without its secret is one that is not ready.
        program.check(&mut program.command(&["connection", "check"]), 1);
        let file = File::open(sshd.path("user")).unwrap();
        let set = ["secret", "set", "login", "--for", &sshd.destination(), "--mode", "ssh_key"];
        program.check(program.command(&set).stdin(file), 0);
        program.check(&mut program.command(&["connection", "check"]), 0);

        let well = program.call("well", 0);
        assert_eq!((&well["ok"], &well["exit_status"]), (&json!(true), &json!(0)), "{well}");
        assert_eq!((&well["result"]["stdout"], runs(&sshd)), (&json!("hello"), 1), "{well}");
        let again = program.call("well", 0);
        assert_eq!((&again["repeated"], runs(&sshd)), (&json!(true), 1), "{again}");

        let badly = program.call("badly", 13);
        let seen = (&badly["outcome"], &badly["code"], &badly["exit_status"]);
        assert_eq!(seen, (&json!("committed"), &json!("REMOTE_FAILED"), &json!(23)), "{badly}");
        assert_eq!(runs(&sshd), 2);

        let held = program.call("held", 12);
        let seen = (&held["outcome"], &held["code"], &held["exit_status"]);
        let expected = (&json!("unknown"), &json!("REMOTE_RESULT_INCOMPLETE"), &Value::Null);
        assert_eq!((seen, runs(&sshd)), (expected, 3), "{held}");
        let id = held["request_id"].as_str().unwrap();
        program.check(&mut program.command(&["reconcile", id]), 12);
        std::fs::write(sshd.path("go"), "").unwrap();
        // The script may still write down the end.
        let settled = loop {
            let output = program.command(&["reconcile", id, "--json"]).output().unwrap();
            match output.status.code() {
                Some(12) => {}
                status => break (status, output.stdout),
            }
        };
        assert_eq!((settled.0, runs(&sshd)), (Some(0), 3), "{}", String::from_utf8_lossy(&settled.1));

        // What the operator's commands show holds no line of the key, either.
        for command in ["inspect", "timeline", "result"] {
            for act in [&well, &badly, &held] {
                let status = if command == "result" && act == &badly { 13 } else { 0 };
                program.check(&mut program.command(&[command, act["request_id"].as_str().unwrap()]), status);
            }
        }
    });
}
