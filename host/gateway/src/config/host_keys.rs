//! Which keys an SSH host may show.

use super::list;
use super::problem::At;
use super::reader::{Reader, Section};
use proofport_core::ssh::SshHost;
use proofport_egress::ssh::{HostKeys, InvalidHostKeys};
use std::io;
use std::path::{Path, PathBuf};

/// Known host keys as they are declared. Nothing is learnt by connecting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostKeyConfig {
    /// Keys, each by its fingerprint or its public line.
    pub keys: Vec<At<String>>,
    /// Authorities whose host certificates are believed, spelled alike.
    pub authorities: Vec<At<String>>,
    /// A file in the format of `known_hosts` (sshd(8)), of which the lines about the host count.
    pub known_hosts: Option<At<PathBuf>>,
}

impl HostKeyConfig {
    /// What is known of this host. Reads the `known_hosts` file, if there is one.
    ///
    /// # Errors
    /// When that file can't be read, or a line of it about this host.
    pub fn of(&self, host: &SshHost) -> Result<HostKeys, HostKeyError> {
        let mut known = HostKeys::none();
        for key in &self.keys {
            known.pin(&key.value)?;
        }
        for authority in &self.authorities {
            known.trust_authority(&authority.value)?;
        }
        if let Some(file) = &self.known_hosts {
            known.import_known_hosts(&std::fs::read_to_string(&file.value)?, host)?;
        }
        Ok(known)
    }
}

/// Why the keys of an SSH host can't be used.
#[derive(Debug, thiserror::Error)]
pub enum HostKeyError {
    /// The `known_hosts` file can't be read.
    #[error("can't be read: {0}")]
    Unreadable(#[from] io::Error),
    /// A key can't.
    #[error(transparent)]
    Invalid(#[from] InvalidHostKeys),
}

/// The keys in a section that has host keys.
pub(super) const KEYS: [&str; 3] = ["host_keys", "host_authorities", "known_hosts"];

/// Reads them.
pub(super) fn read<'a>(reader: &mut Reader<'a>, section: &Section<'a>, folder: &Path) -> HostKeyConfig {
    let todo =
        "write the fingerprint that `ssh-keygen -lf FILE` prints, `SHA256:…`, or the line of the public key";
    // Two spellings of one key are no mistake, and the same text twice is.
    let keys = list::read(reader, section, "host_keys", todo, |text| {
        HostKeys::none().pin(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
    });
    let authorities = list::read(reader, section, "host_authorities", todo, |text| {
        HostKeys::none().trust_authority(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
    });
    let known_hosts = reader.field(section, "known_hosts").and_then(|field| {
        let text = reader.text(&field)?;
        if text.is_empty() || text.contains('\0') {
            let todo = "write the path of a known_hosts file; a relative one begins at this file's folder";
            reader.report(field.place, &field.path, "is not a path", todo);
            return None;
        }
        Some(At { value: folder.join(text), place: field.place })
    });
    HostKeyConfig { keys, authorities, known_hosts }
}
