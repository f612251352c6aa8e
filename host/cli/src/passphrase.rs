//! The passphrase: from a file, from the environment, or asked for at the terminal.
//!
//! The environment variable is not removed after reading. The process is not dumpable, so that other
//! processes of the same user can't read its environment, and it starts no others; a file or the
//! question at the terminal is still the better way, since the shell that sets a variable keeps it.

use crate::exit::Usage;
use crate::secret_input;
use proofport_core::secret::Secret;
use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

const VARIABLE: &str = "PROOFPORT_PASSPHRASE";

/// Where a passphrase may come from.
#[derive(Clone, Debug)]
pub(crate) struct Passphrases {
    /// The file that was named on the command line.
    pub(crate) file: Option<PathBuf>,
}

impl Passphrases {
    /// The passphrase, if there is any way to get one.
    ///
    /// # Errors
    /// When the named file can't be read, or the terminal fails.
    pub(crate) fn any(&self) -> anyhow::Result<Option<Secret>> {
        match self.given()? {
            Some(given) => Ok(Some(given)),
            None if asking() => Ok(Some(ask("Passphrase: ")?)),
            None => Ok(None),
        }
    }

    /// The passphrase.
    ///
    /// # Errors
    /// As [`Passphrases::any`], and when there is no way to get one.
    pub(crate) fn required(&self) -> anyhow::Result<Secret> {
        self.any()?.ok_or_else(none)
    }

    /// A new passphrase; at the terminal it is asked for twice.
    ///
    /// # Errors
    /// As [`Passphrases::required`], and when the two differ.
    pub(crate) fn new_one(&self) -> anyhow::Result<Secret> {
        if let Some(given) = self.given()? {
            return Ok(given);
        }
        if !asking() {
            return Err(none());
        }
        let first = ask("New passphrase: ")?;
        let second = ask("The same again: ")?;
        anyhow::ensure!(first.expose() == second.expose(), "the two passphrases differ; nothing was made");
        Ok(first)
    }

    fn given(&self) -> anyhow::Result<Option<Secret>> {
        if let Some(path) = &self.file {
            let read = File::open(path).and_then(secret_input::read);
            let secret = read.map_err(|error| {
                Usage(format!("could not read the passphrase file {}: {error}", path.display()))
            })?;
            return Ok(Some(secret));
        }
        let value = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
        Ok(value.map(|value| Secret::new(value.into_vec())))
    }
}

/// Whether somebody sees a question. Standard input may be data, so it doesn't count.
fn asking() -> bool {
    io::stderr().is_terminal()
}

/// Asks at the terminal itself, without showing what is typed.
///
/// # Errors
/// When there is no terminal.
pub(crate) fn ask(question: &str) -> io::Result<Secret> {
    rpassword::prompt_password(question).map(|answer| Secret::new(answer.into_bytes()))
}

fn none() -> anyhow::Error {
    anyhow::anyhow!(
        "this needs the passphrase: give --passphrase-file FILE, set {VARIABLE}, or run it at a terminal"
    )
}
