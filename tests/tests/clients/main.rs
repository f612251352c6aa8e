//! Other people's MCP clients at the running program: people answer with the program's own commands while the
//! client waits, and the peer's log is the truth.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]
#![allow(clippy::print_stdout, reason = "a test that fails says on which way that was")]

mod inspector;
mod killed;
mod official;
mod sdk;
mod story;
mod tokens;

use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::rig::{Wanted, make_home};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

/// A home whose connection asks people about writes, and a service. What became of a write can be asked for.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
    pub(crate) peer: Peer,
}

impl Place {
    /// `each`: what the service does to its connections; there are no others.
    pub(crate) fn new(each: Vec<Script>) -> Self {
        let peer = Peer::http(Scripts { each: each.into(), default: None });
        let mut wanted = Wanted::new("inquires", peer.origin(), "");
        // An unknown stays one until somebody asks.
        "[connections.c.reconciliations]\nattempts = 0\n".clone_into(&mut wanted.more);
        wanted.asks = true;
        let wanted = wanted.limits("setup_attempts = 1\nidle_seconds = 0");
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(make_home(&dir.path().join("home"), &wanted));
        Self { dir, peer }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Adds lines to `proofport.toml`.
    pub(crate) fn configure(&self, lines: &str) {
        let file = self.home().join("proofport.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(file, format!("{text}\n{lines}")).unwrap();
    }

    /// Everything that the service was told to do, and everything that it was asked.
    pub(crate) fn received(&self) -> (usize, usize) {
        let received = self.peer.received();
        let count = |method: &[u8]| received.iter().filter(|request| request.starts_with(method)).count();
        (count(b"POST "), count(b"GET "))
    }
}

/// Applies the effect, and answers.
pub(crate) fn done() -> Script {
    Script::answer(OK)
}

/// Applies the effect; its answer is lost.
pub(crate) fn lost() -> Script {
    Script(vec![Act::ReadRequest, Act::Effect, Act::Close])
}

/// Is asked, and says that it was done. That is no effect.
pub(crate) fn says_yes() -> Script {
    let yes = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nyes";
    Script(vec![Act::ReadRequest, Act::Send(yes.into()), Act::Close])
}

/// Something of other people's that `make setup` brings.
pub(crate) fn here(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    assert!(path.exists(), "{} is missing: run make setup", path.display());
    path
}

/// A program that runs alone with `PATH`, and with a home of its own to write in.
pub(crate) fn alone(program: impl AsRef<std::ffi::OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.env("HOME", home).env("NO_COLOR", "1").env("MCP_AUTO_OPEN_ENABLED", "false");
    command
}
