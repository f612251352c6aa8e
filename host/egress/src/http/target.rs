//! Where a connection goes, through what, and under which rules.

use super::pool::Key;
use crate::address::AddressPolicy;
use crate::dial::SetupDeadlines;
use crate::inject::ClientIdentity;
use crate::pins::Pins;
use crate::trust::Trust;
use http::HeaderValue;
use proofport_core::evidence::Hop;
use proofport_core::origin::{Origin, Scheme};
use std::time::Duration;

/// Where a connection goes and under which rules.
#[derive(Clone)]
pub struct HttpTarget {
    /// The name of the admin's connection: nothing is shared between two of them.
    pub connection: String,
    /// Scheme, host and port.
    pub origin: Origin,
    /// Which certificates are believed.
    pub trust: Trust,
    /// Of the believed certificates, which are accepted.
    pub pins: Pins,
    /// Who this host proves to be in TLS.
    pub identity: Option<ClientIdentity>,
    /// Which addresses may be dialled.
    pub addresses: AddressPolicy,
    /// What it goes through.
    pub proxy: Option<Proxy>,
    /// Whether HTTP/2 may be spoken, where the peer chooses it by ALPN.
    pub http2: bool,
    /// Whether a kept connection may not be used.
    pub fresh: bool,
    /// How many connections there may be.
    pub pool: PoolLimits,
    /// How long each stage may take.
    pub deadlines: SetupDeadlines,
    /// The most lookups, and the most connections, that are tried; at least one of each is. The
    /// resolved addresses take turns, so a name with an unreachable address needs two.
    pub setup_attempts: u32,
}

/// How many connections there may be to one origin, and how long they are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// The most at one time, in use or kept; at least one.
    pub per_origin: usize,
    /// How long an unused one is kept; zero: not at all.
    pub idle: Duration,
}

/// A proxy that the connection names. Nothing is read from the environment.
#[derive(Clone)]
pub struct Proxy {
    /// Where it is; plain HTTP.
    pub origin: Origin,
    /// Which addresses it may have.
    pub addresses: AddressPolicy,
    /// Whether it resolves the origin's name. If not, this host does, and the tunnel goes to the
    /// address that was checked.
    pub resolves: bool,
    /// `Proxy-Authorization`, and a name for it that holds no secret: connections that were opened with
    /// another are not shared.
    pub authorization: Option<(HeaderValue, String)>,
}

impl HttpTarget {
    /// What an exchange goes through.
    pub(super) fn hop(&self) -> Hop {
        match (&self.proxy, self.origin.scheme()) {
            (None, Scheme::Http | Scheme::Https) => Hop::Direct,
            (Some(_), Scheme::Https) => Hop::Tunnel,
            (Some(_), Scheme::Http) => Hop::ForwardProxy,
        }
    }

    /// Whether this host resolves the origin's name. A forward proxy always does it itself.
    pub(super) fn resolves_here(&self) -> bool {
        match self.hop() {
            Hop::Direct => true,
            Hop::Tunnel => self.proxy.as_ref().is_none_or(|proxy| !proxy.resolves),
            Hop::ForwardProxy => false,
        }
    }

    /// What a kept connection must agree in.
    pub(super) fn key(&self) -> Key {
        let proxy = self.proxy.as_ref().map(|proxy| {
            let authorization = proxy.authorization.as_ref().map(|(_, name)| name.clone());
            (proxy.origin.clone(), proxy.resolves, authorization)
        });
        Key {
            connection: self.connection.clone(),
            origin: self.origin.clone(),
            proxy,
            trust: self.trust.fingerprint(),
            identity: self.identity.as_ref().map(|identity| *identity.digest()),
            http2: self.http2,
        }
    }
}
