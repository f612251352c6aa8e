//! An admin's binding of a connection to SSH hosts.

use crate::connection::Place;
use proofport_core::id::Name;
use proofport_core::ssh::SshHost;
use proofport_egress::AddressPolicy;
use proofport_egress::ssh::HostKeys;
use std::collections::BTreeMap;
use std::time::Duration;

/// Where a connection's execs may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshBinding {
    /// Accounts; the first is the default. Never empty.
    pub hosts: Vec<SshHost>,
    /// The keys of each. A host without an entry can't be reached.
    pub host_keys: BTreeMap<SshHost, HostKeys>,
    /// What leads there; none: a TCP connection from here.
    pub jump: Option<SshJumpBinding>,
    /// Whether a connector may send a text for the remote shell instead of an argument vector.
    pub raw_commands: bool,
    /// How often a silent server is asked for a sign of life.
    pub keepalive: Duration,
}

/// A host that opens the way to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshJumpBinding {
    /// The account there.
    pub host: SshHost,
    /// Its keys.
    pub host_keys: HostKeys,
    /// Which addresses it may have.
    pub addresses: AddressPolicy,
    /// The secret that logs in there.
    pub secret: Name,
    /// How it does.
    pub place: Place,
    /// Whether it resolves the names of the hosts behind it.
    pub resolves: bool,
}

impl SshBinding {
    /// The keys of this host; none where it has none, so that nothing can be connected to.
    pub(crate) fn keys_of(&self, host: &SshHost) -> HostKeys {
        self.host_keys.get(host).cloned().unwrap_or_default()
    }

    /// The hosts as a connector names them.
    pub(crate) fn names(&self) -> Vec<String> {
        self.hosts.iter().map(ToString::to_string).collect()
    }
}
