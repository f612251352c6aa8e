//! An agent's process.

use proofport_core::digest::Digest;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The helper program.
pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_knock"))
}

/// A copy of the helper program that does the same and has another digest.
pub(crate) fn other_program(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::copy(program(), &path).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    // What stands behind an executable's own parts is not run.
    file.write_all(name.as_bytes()).unwrap();
    path
}

pub(crate) fn digest_of(path: &Path) -> Digest {
    Digest::of_bytes(&std::fs::read(path).unwrap())
}

/// A running helper; it ends when this is dropped.
pub(crate) struct Agent {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Agent {
    pub(crate) fn start(program: &Path, socket: &Path) -> Self {
        let mut command = Command::new(program);
        command.arg(socket).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn say(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    fn heard(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// What the agents' door says to it.
    pub(crate) fn knock(&mut self) -> String {
        self.say("knock");
        self.heard()
    }

    /// The status and the body of an answer.
    pub(crate) fn post(&mut self, socket: &Path, path: &str, credential: &str, body: &str) -> (u16, String) {
        self.say(&format!("post {} {path} {credential} {body}", socket.display()));
        let heard = self.heard();
        let (status, body) = heard.split_once(' ').unwrap_or((heard.as_str(), ""));
        (status.parse().unwrap_or_else(|_| panic!("{heard}")), body.to_owned())
    }

    /// Becomes another program.
    pub(crate) fn exec(&mut self, program: &Path) {
        self.say(&format!("exec {}", program.display()));
    }

    /// Ends, and is gone when this returns.
    pub(crate) fn end(mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
