//! The connector against the real `/bin/sh`: its commands run in a folder of releases, and what they
//! answer goes back to it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod cuts;
mod releases;

use data_encoding::BASE64;
use proofport_connector_ssh_deploy::SshDeploy;
use proofport_sdk::types::Send;
use proofport_sdk::{
    Call, Connector, Evidence, Exchange, Outcome, QueryTemplate, Reason, ReconcileStep, Request, Response,
    Role, SshCommand, SshExit, SshResponse, Step, Verdict,
};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A host with a folder of releases.
struct Host(TempDir);

/// An archive of one file `version` with this text, its digest, and a whole tree's mark of its end.
struct Archive {
    bytes: Vec<u8>,
    sha256: String,
}

fn archive(version: &str) -> Archive {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("version"), version).unwrap();
    std::fs::create_dir(folder.path().join("deep")).unwrap();
    std::fs::write(folder.path().join("deep/end"), version).unwrap();
    of_folder(&folder)
}

fn of_folder(folder: &TempDir) -> Archive {
    let pack =
        Command::new("tar").args(["-C", folder.path().to_str().unwrap(), "-cf", "-", "."]).output().unwrap();
    assert!(pack.status.success());
    of_bytes(pack.stdout)
}

fn of_bytes(bytes: Vec<u8>) -> Archive {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("archive");
    std::fs::write(&path, &bytes).unwrap();
    let sum = Command::new("sha256sum").arg(&path).output().unwrap().stdout;
    let sha256 = String::from_utf8(sum).unwrap().split(' ').next().unwrap().to_owned();
    Archive { bytes, sha256 }
}

impl Host {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn call(&self, operation: &str, reference: &str, input: &Value) -> Call {
        Call {
            operation: operation.to_owned(),
            input: input.to_string(),
            config: json!({ "root": self.0.path() }).to_string(),
            reference: reference.to_owned(),
            idempotency_key: None,
            accepted_at: 0,
        }
    }

    fn release(&self, id: &str, archive: &Archive) -> Call {
        let input = json!({ "id": id, "sha256": archive.sha256, "archive": BASE64.encode(&archive.bytes) });
        self.call("release", "ppr", &input)
    }

    fn rollback(&self, id: &str, reference: &str) -> Call {
        self.call("rollback", reference, &json!({ "id": id }))
    }

    /// The text of the current release, which is whole: its last file says the same as its first.
    fn version(&self) -> Option<String> {
        let version = std::fs::read_to_string(self.path("current/version")).ok()?;
        assert_eq!(std::fs::read_to_string(self.path("current/deep/end")).unwrap(), version);
        Some(version)
    }
}

/// Starts what the connector wants sent, in a group of its own, with this much of its input.
fn start(send: &Send, input: Option<usize>) -> Child {
    let Request::Ssh(request) = &send.request else { panic!("not SSH") };
    let SshCommand::Argv(argv) = &request.command else { panic!("not an argument vector") };
    assert_eq!(request.credential.as_deref(), Some("login"));
    let mut child = Command::new(&argv[0])
        .args(&argv[1..])
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes = request.stdin.clone().unwrap_or_default();
    let bytes = bytes[..input.unwrap_or(bytes.len()).min(bytes.len())].to_vec();
    let mut stdin = child.stdin.take().unwrap();
    // A script that refuses does not read its input.
    std::thread::spawn(move || drop(stdin.write_all(&bytes)));
    child
}

/// Runs it under this environment; whether it was killed. The file is to hold the group's number: the
/// shell writes its own before it becomes the command.
fn dying(send: &Send, environment: &[(&str, String)], group: &std::path::Path) -> bool {
    let Request::Ssh(request) = &send.request else { panic!("not SSH") };
    let SshCommand::Argv(argv) = &request.command else { panic!("not an argument vector") };
    let mut child = Command::new("/bin/sh")
        .args(["-c", "echo $$ >\"$0\"; exec \"$@\"", group.to_str().unwrap()])
        .args(argv)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let bytes = request.stdin.clone().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::spawn(move || drop(stdin.write_all(&bytes)));
    child.wait().unwrap().signal().is_some()
}

fn finish(send: Send, child: Child) -> Exchange {
    let output = child.wait_with_output().unwrap();
    let exit = match (output.status.code(), output.status.signal()) {
        (Some(code), _) => SshExit::Status(u32::try_from(code).unwrap()),
        (None, signal) => SshExit::Signal(signal.unwrap().to_string()),
    };
    let response =
        Response::Ssh(SshResponse { exit, stdout: output.stdout, stderr: output.stderr, stored: None });
    Exchange { role: send.role, request: send.request, response }
}

fn first(call: &Call) -> Send {
    let Ok(Step::Send(send)) = SshDeploy::next(call, &[]) else { panic!("it sends nothing") };
    send
}

/// Carries a call out, cut off after this much of its input.
fn next(call: &Call, input: Option<usize>) -> Verdict {
    let send = first(call);
    let child = start(&send, input);
    let Ok(Step::Settle(verdict)) = SshDeploy::next(call, &[finish(send, child)]) else {
        panic!("it goes on")
    };
    verdict
}

fn reconcile(call: &Call) -> Verdict {
    let evidence = Evidence {
        first_dispatched_at: 0,
        last_dispatched_at: 0,
        now: 0,
        attempts: 1,
        request: first(call).request,
    };
    let Ok(ReconcileStep::Send(send)) = SshDeploy::reconcile(call, &evidence, &[]) else {
        panic!("no question")
    };
    assert_eq!(send.role, Role::Query);
    assert!(is_query(&send), "{:?}", send.request);
    let child = start(&send, None);
    let step = SshDeploy::reconcile(call, &evidence, &[finish(send, child)]);
    let Ok(ReconcileStep::Settle(verdict)) = step else { panic!("{step:?}") };
    verdict
}

/// Whether this matches one of the declared templates.
fn is_query(send: &Send) -> bool {
    let Request::Ssh(request) = &send.request else { panic!("not SSH") };
    let SshCommand::Argv(have) = &request.command else { panic!("not an argument vector") };
    SshDeploy::describe("{}").query_templates.iter().any(|template| match template {
        QueryTemplate::Ssh(want) => {
            want.len() == have.len() && want.iter().zip(have).all(|(want, have)| want == "{}" || want == have)
        }
        QueryTemplate::Http(_) => false,
    })
}

fn claims(verdict: &Verdict) -> (Outcome, bool, Reason) {
    (verdict.outcome, verdict.success, verdict.reason)
}

fn output(verdict: &Verdict) -> Value {
    verdict.output.as_deref().map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}
