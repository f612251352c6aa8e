//! Where an exec goes, through what, and under which rules.

use super::credential::SshCredential;
use super::host_keys::HostKeys;
use crate::address::AddressPolicy;
use proofport_core::ssh::SshHost;
use std::sync::Arc;
use std::time::Duration;

/// Where an exec goes and under which rules.
#[derive(Clone)]
pub struct SshTarget {
    /// User, host and port.
    pub host: SshHost,
    /// Which host keys are known. None is learnt by connecting.
    pub host_keys: HostKeys,
    /// Which addresses may be dialled, or asked of the jump host.
    pub addresses: AddressPolicy,
    /// What it goes through.
    pub jump: Option<JumpHost>,
    /// How long each stage may take.
    pub deadlines: SshDeadlines,
    /// The most lookups, and the most connections, that are tried; at least one of each is. A refused
    /// credential or an unknown host key is never tried again.
    pub setup_attempts: u32,
    /// How often the server is asked for a sign of life while nothing comes from it.
    pub keepalive: Duration,
    /// How many such questions may stay unanswered.
    pub keepalive_max: u32,
}

/// An SSH host that opens the way to another one (`direct-tcpip`, RFC 4254 section 7.2). It carries
/// bytes that it can't read: the target's host key is verified behind it.
#[derive(Clone)]
pub struct JumpHost {
    /// User, host and port.
    pub host: SshHost,
    /// Which host keys are known.
    pub host_keys: HostKeys,
    /// Which addresses it may have.
    pub addresses: AddressPolicy,
    /// What logs in there.
    pub credential: Arc<SshCredential>,
    /// Whether it resolves the target's name. If not, this host does, and what the jump host is asked
    /// for is the address that was checked.
    pub resolves: bool,
}

/// How long each stage of setup may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SshDeadlines {
    /// Name resolution.
    pub dns: Duration,
    /// The TCP connection, or the jump host's.
    pub tcp_connect: Duration,
    /// Version exchange, key exchange and the host's key.
    pub transport: Duration,
    /// User authentication.
    pub user_auth: Duration,
    /// The session channel and the environment.
    pub channel: Duration,
    /// All stages of all attempts together.
    pub overall: Duration,
}
