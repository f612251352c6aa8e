//! What a secret may be used for.

use crate::error::VaultError;
use proofport_core::contract::InjectionMode;
use proofport_core::origin::{Host, InvalidOrigin, Origin};
use proofport_core::ssh::SshHost as Account;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// Where a secret may go. Its text is `https://host[:port]`, `http://host[:port]` or
/// `ssh://host[:port]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Destination {
    /// An HTTP origin: scheme, host and port.
    Origin(Origin),
    /// An SSH server.
    SshHost(SshHost),
}

/// An SSH server's host and port, spelled as strictly as an origin's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SshHost {
    host: String,
    port: u16,
}

impl SshHost {
    /// Reads `host[:port]`; the port is 22 where none is written.
    ///
    /// # Errors
    /// When the host is not a name in lower case or a canonical address, or the port is not one.
    pub fn parse(text: &str) -> Result<Self, InvalidOrigin> {
        // The rules for hosts and ports are those of origins; only the default port differs.
        let origin = Origin::parse(&format!("https://{text}"))?;
        let spelled = text.ends_with(":443") || origin.port() != 443;
        Ok(Self { host: origin.host_text(), port: if spelled { origin.port() } else { 22 } })
    }

    /// The host; IPv6 in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl Destination {
    /// Reads a destination.
    ///
    /// # Errors
    /// When the text is none. The text itself is not repeated: it may carry a credential.
    pub fn parse(text: &str) -> Result<Self, InvalidDestination> {
        match text.strip_prefix("ssh://") {
            Some(rest) => SshHost::parse(rest).map(Self::SshHost).map_err(InvalidDestination),
            None => Origin::parse(text).map(Self::Origin).map_err(InvalidDestination),
        }
    }

    /// The server that this account is on. What may be used there may be used for each of its accounts.
    #[must_use]
    pub fn ssh(account: &Account) -> Self {
        let host = match account.host() {
            Host::Name(name) => name.clone(),
            Host::Address(IpAddr::V4(address)) => address.to_string(),
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
        };
        Self::SshHost(SshHost { host, port: account.port() })
    }

    /// Whether a credential can travel to such a destination in this mode at all.
    const fn takes(&self, mode: InjectionMode) -> bool {
        match mode {
            InjectionMode::HttpBearer
            | InjectionMode::HttpBasic
            | InjectionMode::HttpHeader
            | InjectionMode::HttpQuery
            | InjectionMode::AwsSigv4
            | InjectionMode::TlsClientCertificate => matches!(self, Self::Origin(_)),
            InjectionMode::SshKey | InjectionMode::SshPassword | InjectionMode::SshKeyboardInteractive => {
                matches!(self, Self::SshHost(_))
            }
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Origin(origin) => fmt::Display::fmt(origin, f),
            Self::SshHost(SshHost { host, port: 22 }) => write!(f, "ssh://{host}"),
            Self::SshHost(SshHost { host, port }) => write!(f, "ssh://{host}:{port}"),
        }
    }
}

impl TryFrom<String> for Destination {
    type Error = InvalidDestination;
    fn try_from(text: String) -> Result<Self, InvalidDestination> {
        Self::parse(&text)
    }
}

impl From<Destination> for String {
    fn from(destination: Destination) -> Self {
        destination.to_string()
    }
}

/// The text is not a [`Destination`]: `https://host[:port]`, `http://host[:port]` or
/// `ssh://host[:port]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a destination (`https://host`, `http://host` or `ssh://host`, each with an optional port): {0}")]
pub struct InvalidDestination(InvalidOrigin);

/// Where and how a secret may be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uses {
    /// The places that it may be sent to.
    pub destinations: Vec<Destination>,
    /// The ways in which it may be attached.
    pub modes: Vec<InjectionMode>,
}

impl Uses {
    /// In order, without repetition, and able to be used at all.
    pub(crate) fn check(mut self) -> Result<Self, VaultError> {
        self.destinations.sort();
        self.destinations.dedup();
        self.modes.sort();
        self.modes.dedup();
        if self.destinations.is_empty() {
            return Err(VaultError::NoDestination);
        }
        if self.modes.is_empty() {
            return Err(VaultError::NoMode);
        }
        let stranded = |mode: &&InjectionMode| !self.destinations.iter().any(|d| d.takes(**mode));
        match self.modes.iter().find(stranded) {
            Some(mode) => Err(VaultError::ModeWithoutDestination { mode: *mode }),
            None => Ok(self),
        }
    }

    pub(crate) fn permits_mode(&self, wanted: &Use<'_>) -> bool {
        self.modes.contains(&wanted.mode) && wanted.destination.takes(wanted.mode)
    }

    pub(crate) fn permits_destination(&self, wanted: &Use<'_>) -> bool {
        self.destinations.contains(wanted.destination)
    }
}

/// One use that somebody wants to make of a secret.
#[derive(Clone, Copy, Debug)]
pub struct Use<'a> {
    /// Where it would go.
    pub destination: &'a Destination,
    /// How it would be attached.
    pub mode: InjectionMode,
}
