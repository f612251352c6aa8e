//! The program, serving a home as people and service managers run it, and the operator's commands beside it.

// A program that can't be run fails the test that wanted it.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::program::program;
use crate::rig::PASSPHRASE;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

/// A host that serves a home, as a process.
pub struct Serving {
    child: Child,
    home: PathBuf,
    http: SocketAddr,
}

/// `proofport` with these arguments, on this home and with its passphrase.
fn command(home: &Path, arguments: &[&str]) -> Command {
    // Built once for all of them.
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let mut command = Command::new(PROGRAM.get_or_init(program));
    command.env_clear().env("PROOFPORT_HOME", home).env("PROOFPORT_PASSPHRASE", PASSPHRASE);
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Adds a table `serve` that has the host listen on a free port, unless there is one.
fn with_http(home: &Path) {
    let file = home.join("proofport.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    if !text.contains("[serve]") {
        std::fs::write(file, format!("{text}\n[serve]\nhttp = \"127.0.0.1:0\"\n")).unwrap();
    }
}

impl Serving {
    /// Runs it, and returns once it listens. Blocks.
    ///
    /// # Panics
    /// When it does not.
    #[must_use]
    pub fn start(home: &Path) -> Self {
        with_http(home);
        let mut command = command(home, &["serve", "--json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let ready = serde_json::from_str::<Value>(&line).ok();
        let http =
            ready.as_ref().and_then(|ready| ready["http"].as_str()?.strip_prefix("http://")?.parse().ok());
        let Some(http) = http else {
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("it does not serve: {line}{said}");
        };
        Self { child, home: home.to_owned(), http }
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where it listens for HTTP.
    #[must_use]
    pub const fn http(&self) -> SocketAddr {
        self.http
    }

    /// The Unix socket for agents.
    #[must_use]
    pub fn agent_socket(&self) -> PathBuf {
        self.home.join("agent.sock")
    }

    /// Runs one of the operator's commands with `--json`, and says how it ended and what it answered.
    ///
    /// # Panics
    /// When it can't be run.
    #[must_use]
    pub fn operator(&self, arguments: &[&str]) -> (i32, Value) {
        let output = self.run(arguments);
        let answer = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        (output.status.code().unwrap(), answer)
    }

    /// The same, with all that it said.
    ///
    /// # Panics
    /// When it can't be run.
    #[must_use]
    pub fn run(&self, arguments: &[&str]) -> Output {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        command(&self.home, &arguments).output().unwrap()
    }

    /// A token for this agent, and the session that it is of.
    ///
    /// # Panics
    /// When there is none to be had.
    #[must_use]
    pub fn token(&self, agent: &str) -> (String, String) {
        let (status, minted) = self.operator(&["session", "token", agent]);
        assert_eq!(status, 0, "{minted}");
        let text = |key: &str| minted[key].as_str().unwrap().to_owned();
        (text("token"), text("session"))
    }

    /// Ends it as a service manager does, and says how it ended. Blocks.
    ///
    /// # Panics
    /// When it can't be told.
    pub fn stop(mut self) -> Option<i32> {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }

    /// Ends it without a word. Blocks.
    ///
    /// # Panics
    /// When it can't be ended.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Where it has already ended, there is nothing left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
