//! Which agents are let in without an operator's word.

use super::list;
use super::problem::At;
use super::reader::{Reader, Section};
use proofport_core::digest::Digest;

/// Which agents are let in without an operator's word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionsConfig {
    /// Digests of executables, as `sha256sum` prints them behind `sha256:`. Empty unless set: everybody waits.
    pub allow: Vec<At<Digest>>,
}

const KEYS: [&str; 1] = ["allow"];

pub(super) fn read<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> SessionsConfig {
    reader.only(section, &KEYS);
    let todo = "write `sha256:` and what `sha256sum` prints for the agent's executable";
    let parse = |text: &str| Digest::parse(text).map_err(|error| error.to_string());
    SessionsConfig { allow: list::read(reader, section, "allow", todo, parse) }
}
