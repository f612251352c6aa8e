//! `proofport.toml`: which connectors are bound to which targets and credentials.
//!
//! The file is read once into validated types. Every mistake in it is reported with its place and
//! with what to do, and none hides another. What can only be judged against approved connectors and
//! the vault is judged by [`check`](crate::check).

mod approvals;
mod connection;
mod credential;
mod failures;
mod fresh;
mod host_keys;
mod limits;
mod list;
mod notify;
mod problem;
mod proxy;
mod reader;
mod retries;
mod serve;
mod sessions;
mod settings;
mod ssh;
mod store;
mod telemetry;
#[cfg(test)]
mod tests;
mod words;

pub use approvals::ApprovalsConfig;
pub use connection::{ConnectionConfig, TrustError};
pub use credential::{Binding, Placement};
pub use host_keys::{HostKeyConfig, HostKeyError};
pub use limits::Limits;
pub use problem::{At, Place, Problem};
pub use proxy::{ProxyConfig, ProxyCredential, Resolve};
pub use serve::ServeConfig;
pub(crate) use serve::in_brackets;
pub use sessions::SessionsConfig;
pub use settings::Settings;
pub use ssh::{JumpConfig, SshConfig};
pub use store::Store;
pub use telemetry::{Collector, TelemetryConfig};

pub(crate) use credential::is_ssh;
pub(crate) use problem::shown;
pub(crate) use settings::shown_path;

use proofport_core::digest::Digest;
use proofport_core::id::Name;
use reader::{Reader, Section};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use toml::de::DeTable;

/// The largest file that is read, in bytes.
const LARGEST_FILE: u64 = 1024 * 1024;

/// The connections of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The file that it was read from.
    pub file: PathBuf,
    /// The connections, by name.
    pub connections: BTreeMap<Name, ConnectionConfig>,
    /// How much the home may hold.
    pub store: Store,
    /// Which agents are let in without an operator's word.
    pub sessions: SessionsConfig,
    /// How the host serves agents.
    pub serve: ServeConfig,
    /// Where traces of calls go.
    pub telemetry: TelemetryConfig,
    /// What is run when an agent waits for an approval, program first; empty: nothing.
    pub notify: Vec<String>,
    /// SHA-256 of the file's bytes.
    pub digest: Digest,
}

impl Config {
    /// Reads the file.
    ///
    /// # Errors
    /// Every mistake in it, in its order; or why it can't be read.
    pub fn load(path: &Path) -> Result<Self, Vec<Problem>> {
        match read(path) {
            Ok(text) => Self::parse(&text, path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(vec![whole(
                path,
                "there is no such file, so there are no connections",
                "write one with a table `[connections.NAME]` that holds `connector = \"sha256:…\"` and \
                 `origins = [\"https://…\"]`",
            )]),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                let what = format!("is larger than {} KiB", LARGEST_FILE / 1024);
                Err(vec![whole(path, what, "check that it is the right file")])
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(vec![whole(path, "is not UTF-8 text", "save it as UTF-8")])
            }
            Err(error) => {
                let what = format!("can't be read: {error}");
                Err(vec![whole(path, what, "make it a file that this user can read")])
            }
        }
    }

    /// As [`Config::load`], but a missing file declares no connections.
    ///
    /// # Errors
    /// As [`Config::load`], a missing file apart.
    pub fn load_or_empty(path: &Path) -> Result<Self, Vec<Problem>> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::parse("", path),
            Ok(_) | Err(_) => Self::load(path),
        }
    }

    /// Reads a text as if it stood in `file`. Relative paths in it begin at that file's folder.
    ///
    /// # Errors
    /// Every mistake in it, in its order.
    pub fn parse(text: &str, file: &Path) -> Result<Self, Vec<Problem>> {
        let mut reader = Reader::new(file, text);
        let (root, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            reader.syntax(error);
        }
        let top = Section { path: String::new(), place: Place { line: 1, column: 1 }, table: root.get_ref() };
        reader.only(&top, &["connections", "notify", "serve", "sessions", "store", "telemetry"]);
        let notify = reader.field(&top, "notify").and_then(|field| reader.section(&field));
        let notify = notify.map(|section| notify::read(&mut reader, &section)).unwrap_or_default();
        let store = reader.field(&top, "store").and_then(|field| reader.section(&field));
        let store = store.map(|section| store::read(&mut reader, &section)).unwrap_or_default();
        let sessions = reader.field(&top, "sessions").and_then(|field| reader.section(&field));
        let sessions = sessions.map(|section| sessions::read(&mut reader, &section)).unwrap_or_default();
        let folder = file.parent().unwrap_or(Path::new(""));
        let serve = reader.field(&top, "serve").and_then(|field| reader.section(&field));
        let serve = serve.map(|section| serve::read(&mut reader, &section, folder)).unwrap_or_default();
        let telemetry = reader.field(&top, "telemetry").and_then(|field| reader.section(&field));
        let telemetry = telemetry.map(|section| telemetry::read(&mut reader, &section)).unwrap_or_default();
        let mut connections = BTreeMap::new();
        let declared = reader.field(&top, "connections").and_then(|field| reader.section(&field));
        for (name, field) in declared.map(|section| reader.named(&section)).unwrap_or_default() {
            let Some(section) = reader.section(&field) else { continue };
            if let Some(connection) = connection::read(&mut reader, &name, &section, folder) {
                connections.insert(name, connection);
            }
        }
        let problems = reader.into_problems();
        if problems.is_empty() {
            let digest = Digest::of_bytes(text.as_bytes());
            Ok(Self { file: file.to_owned(), connections, store, sessions, serve, telemetry, notify, digest })
        } else {
            Err(problems)
        }
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// A problem of the file as a whole.
fn whole(file: &Path, what: impl Into<String>, todo: impl Into<String>) -> Problem {
    let (field, place) = (String::new(), None);
    Problem { file: file.to_owned(), place, field, what: what.into(), todo: todo.into() }
}
