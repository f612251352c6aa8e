//! Homes in temporary folders, and the program run in them.

use serde_json::Value;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

pub(crate) const PASSPHRASE: &str = "correct horse battery staple";

/// A secret that must never be seen again.
pub(crate) const CANARY: &str = "sk_live_canary_5d41402abc4b2a76b9719d911017c592";

/// The module of the example connector.
pub(crate) const MODULE: &str = env!("CHARGES_WASM");

/// A home, and a file with its passphrase.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    /// A folder without a home in it.
    pub(crate) fn none_yet() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("passphrase"), format!("{PASSPHRASE}\n")).unwrap();
        Self { folder }
    }

    /// A home with a vault that is cheap to open.
    pub(crate) fn new() -> Self {
        let home = Self::none_yet();
        home.run(&["init", "--kdf-memory-kib", "8192"]).exits(0);
        home
    }

    /// A home in which `shop` is the example connector at this origin, with the canary as its key.
    pub(crate) fn with_shop(origin: &str) -> Self {
        let home = Self::new();
        home.run(&["connector", "install", "--yes", MODULE]).exits(0);
        let digest =
            home.run(&["connector", "list", "--json"]).exits(0).json()["connectors"][0]["digest"].clone();
        home.given(CANARY, &["secret", "set", "shop-key", "--for", origin, "--mode", "http_bearer"]).exits(0);
        home.configure(&format!(
            "[connections.shop]\nconnector = {digest}\norigins = [\"{origin}\"]\naddresses = [\"127.0.0.1\"]\n\
             [connections.shop.credentials.api_key]\nsecret = \"shop-key\"\nmode = \"http_bearer\"\n"
        ));
        home.run(&["connection", "check"]).exits(0);
        home
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn configure(&self, text: &str) {
        std::fs::write(self.path().join("proofport.toml"), text).unwrap();
    }

    /// The program without a passphrase, and without anything of this process's environment.
    pub(crate) fn bare(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_proofport"));
        command.env_clear().env("PROOFPORT_HOME", self.path()).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The program with the passphrase.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bare(args);
        command.arg("--passphrase-file").arg(self.file("passphrase"));
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&format!("{args:?}"), self.command(args).output().unwrap())
    }

    /// With this on standard input.
    pub(crate) fn given(&self, input: &str, args: &[&str]) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // A program that refuses early closes its end.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Ran::of(&format!("{args:?}"), child.wait_with_output().unwrap())
    }

    /// Every file below the home, with its bytes.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.path()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push((path.clone(), std::fs::read(&path).unwrap()));
                }
            }
        }
        files
    }
}

/// A run of the program.
pub(crate) struct Ran {
    what: String,
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(what: &str, output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            what: what.to_owned(),
            status: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    #[track_caller]
    pub(crate) fn exits(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{}\n{}\n{}", self.what, self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(
            self.stdout.contains(text),
            "{}: no {text:?} in\n{}\n{}",
            self.what,
            self.stdout,
            self.stderr
        );
        self
    }

    #[track_caller]
    pub(crate) fn remarks(self, text: &str) -> Self {
        assert!(
            self.stderr.contains(text),
            "{}: no {text:?} in\n{}\n{}",
            self.what,
            self.stdout,
            self.stderr
        );
        self
    }

    /// The one line of JSON that is the answer.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{}\n{}", self.what, self.stdout);
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// That the canary is in neither stream.
    #[track_caller]
    pub(crate) fn keeps_the_secret(self) -> Self {
        for stream in [&self.stdout, &self.stderr] {
            assert!(!stream.contains(CANARY), "{}\n{stream}", self.what);
        }
        self
    }
}
