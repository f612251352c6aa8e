//! `run_once.sh`, run by the real `/bin/sh` in a home of its own, as the far end of a connection
//! would run it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod arguments;
mod ends;
mod once;
mod runs;

use proofport_sdk::ssh::run_once::{Fate, Ran, RunOnce};
use proofport_sdk::{Call, Fault, SshCommand, SshExit, SshRequest, SshResponse};
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A remote account.
struct Remote(TempDir);

impl Remote {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn state(&self, reference: &str) -> PathBuf {
        self.0.path().join(".local/state/proofport").join(reference)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The command that the far end starts for this request, in a group of its own.
    fn command(&self, request: &SshRequest) -> Command {
        let SshCommand::Argv(argv) = &request.command else { panic!("not an argument vector") };
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line(argv)).process_group(0);
        command.env("HOME", self.0.path()).env_remove("XDG_STATE_HOME").current_dir(self.0.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start(&self, reference: &str, argv: &[&str]) -> Child {
        let call = call(reference);
        self.command(&RunOnce::of(&call).run(argv.iter().copied())).spawn().unwrap()
    }

    fn run(&self, reference: &str, argv: &[&str]) -> SshResponse {
        response(self.start(reference, argv).wait_with_output().unwrap())
    }

    fn run_with_input(&self, reference: &str, argv: &[&str], input: Vec<u8>) -> SshResponse {
        let call = call(reference);
        let mut child = self
            .command(&RunOnce::of(&call).run(argv.iter().copied()))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        response(output)
    }

    fn status(&self, reference: &str) -> Fate {
        self.ask(reference).unwrap()
    }

    fn ask(&self, reference: &str) -> Result<Fate, Fault> {
        let call = call(reference);
        let output = self.command(&RunOnce::of(&call).status()).output().unwrap();
        Fate::read(&response(output))
    }

    fn stop(&self, reference: &str) -> Fate {
        let call = call(reference);
        let output = self.command(&RunOnce::of(&call).stop()).output().unwrap();
        Fate::read(&response(output)).unwrap()
    }

    /// Waits until a look is true. Nothing signals the end of a process that is nobody's child.
    fn until(&self, what: &str, mut look: impl FnMut(&Self) -> bool) {
        let began = Instant::now();
        while !look(self) {
            assert!(began.elapsed() < Duration::from_secs(60), "never: {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn call(reference: &str) -> Call {
    Call {
        operation: "run".to_owned(),
        input: "{}".to_owned(),
        config: "{}".to_owned(),
        reference: reference.to_owned(),
        idempotency_key: None,
        accepted_at: 0,
    }
}

/// As a server words the end of a command.
fn response(output: Output) -> SshResponse {
    let exit = match (output.status.code(), output.status.signal()) {
        (Some(code), _) => SshExit::Status(u32::try_from(code).unwrap()),
        (None, Some(15)) => SshExit::Signal("TERM".to_owned()),
        (None, signal) => SshExit::Signal(signal.unwrap().to_string()),
    };
    SshResponse { exit, stdout: output.stdout, stderr: output.stderr, stored: None }
}

fn ran(response: &SshResponse, reference: &str) -> Ran {
    Ran::read(response, reference)
}

/// The line that the host makes of an argument vector: every argument in single quotes (POSIX, Shell
/// Command Language, section 2.2.2).
fn line(argv: &[String]) -> String {
    let quoted: Vec<_> =
        argv.iter().map(|argument| format!("'{}'", argument.replace('\'', r"'\''"))).collect();
    quoted.join(" ")
}

fn signal(target: &str, signal: &str) {
    let done = Command::new("/bin/kill").args(["-s", signal, "--", target]).status().unwrap();
    assert!(done.success(), "kill {signal} {target}");
}
