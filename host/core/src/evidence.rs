//! What our own transport saw. Facts only; what they mean is [`classify`](crate::classify).

use crate::closed::closed_enum;
use crate::contract::Stage;
use crate::digest::Digest;
use crate::exchange::SshExit;
use crate::proxy_status::{ProxyErrorType, ProxyStatusEntry};
use crate::ssh::SshEvidence;
use serde::{Deserialize, Serialize};

closed_enum! {
    /// A local cause, from a closed list: what broke here. It never decides an outcome.
    pub enum Cause {
        /// The name does not resolve.
        NameNotFound = "name_not_found",
        /// The resolver failed.
        ResolverFailed = "resolver_failed",
        /// A resolved address is not allowed for this connection.
        AddressDenied = "address_denied",
        /// The peer refused the connection.
        ConnectionRefused = "connection_refused",
        /// No route to the host or network.
        Unreachable = "unreachable",
        /// The peer reset the connection.
        ConnectionReset = "connection_reset",
        /// The peer closed the connection.
        ConnectionClosed = "connection_closed",
        /// A local deadline passed.
        DeadlinePassed = "deadline_passed",
        /// The certificate is for another name, expired, revoked or from an unknown issuer.
        CertificateInvalid = "certificate_invalid",
        /// The TLS handshake failed otherwise.
        TlsFailed = "tls_failed",
        /// The peer broke the protocol.
        ProtocolError = "protocol_error",
        /// The response declared both Content-Length and Transfer-Encoding.
        AmbiguousFraming = "ambiguous_framing",
        /// The response ended before its framing was complete.
        Truncated = "truncated",
        /// The peer switched protocols, which nobody asked for.
        UnexpectedUpgrade = "unexpected_upgrade",
        /// The response is larger than the limit.
        TooLarge = "too_large",
        /// The caller cancelled.
        Cancelled = "cancelled",
        /// The host stopped or was killed.
        HostStopped = "host_stopped",
        /// Something else failed in our own input or output.
        LocalIo = "local_io",
        /// The peer refused the HTTP/2 stream before any processing (RFC 9113 section 8.7).
        StreamRefused = "stream_refused",
        /// The peer reset the HTTP/2 stream for another reason.
        StreamReset = "stream_reset",
        /// The peer ended the HTTP/2 connection with GOAWAY (RFC 9113 section 6.8).
        GoAway = "go_away",
        /// A proxy did not open the tunnel.
        ProxyRefused = "proxy_refused",
        /// A proxy wants other credentials (407).
        ProxyAuthentication = "proxy_authentication",
        /// The peer's certificate is valid and not one of those that the connection pins.
        PinMismatch = "pin_mismatch",
        /// A kept connection had ended, or held bytes that nobody asked for.
        ConnectionStale = "connection_stale",
        /// Every connection to the origin was in use for too long.
        PoolExhausted = "pool_exhausted",
        /// The content could not be stored: no room, or the files failed.
        ContentNotStored = "content_not_stored",
        /// The SSH host's key is none of those that the connection knows.
        HostKeyUnknown = "host_key_unknown",
        /// The SSH host's key, or the one that signed its certificate, is marked as revoked.
        HostKeyRevoked = "host_key_revoked",
        /// The SSH host's certificate is for another name, of another type, outside of its time, not
        /// signed by an authority of the connection, or restricted.
        HostCertificateInvalid = "host_certificate_invalid",
        /// The SSH server refused the credential.
        LoginRefused = "login_refused",
        /// The SSH server refused a user certificate whose time is over.
        CredentialExpired = "credential_expired",
        /// The SSH server refused a user certificate whose time has not begun.
        CredentialNotYetValid = "credential_not_yet_valid",
        /// The SSH server did not open the channel.
        ChannelRefused = "channel_refused",
        /// The SSH server did not take an environment variable.
        EnvironmentRefused = "environment_refused",
        /// The SSH server answered no keepalive any more.
        KeepaliveTimeout = "keepalive_timeout",
        /// The SSH server sent SSH_MSG_DISCONNECT.
        Disconnected = "disconnected",
    }
}

/// How a connection attempt went at the stage where it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupAttempt {
    /// Counted from 1 within the invocation.
    pub n: u32,
    /// The last stage that was entered.
    pub stage: Stage,
    /// None: this attempt produced a usable connection.
    pub cause: Option<Cause>,
    /// The address that was dialled, for operators.
    pub address: Option<String>,
    /// How long each completed stage took, in microseconds.
    pub timings: Vec<StageTiming>,
    /// Whether it was a kept connection. Proves nothing about it.
    #[serde(default)]
    pub reused: bool,
    /// What it goes through.
    #[serde(default)]
    pub hop: Hop,
    /// The status with which a proxy refused the tunnel.
    #[serde(default)]
    pub proxy_status: Option<u16>,
}

/// How long a stage took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageTiming {
    /// The stage.
    pub stage: Stage,
    /// Microseconds.
    pub micros: u64,
}

/// Who the peer proved to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerIdentity {
    /// The name that was verified; the address where the origin is plain HTTP.
    pub name: String,
    /// SHA-256 of the end-entity certificate; none on plain HTTP.
    pub certificate: Option<Digest>,
}

closed_enum! {
    /// What stands between this host and the origin.
    #[derive(Default)]
    pub enum Hop {
        /// Nothing that this host knows of.
        #[default]
        Direct = "direct",
        /// A proxy that carries bytes blindly (CONNECT, RFC 9110 section 9.3.6).
        Tunnel = "tunnel",
        /// A proxy that reads and forwards plain HTTP.
        ForwardProxy = "forward_proxy",
    }
}

closed_enum! {
    /// The version of HTTP that was spoken.
    #[derive(Default)]
    pub enum HttpVersion {
        /// RFC 9112.
        #[default]
        Http11 = "http/1.1",
        /// RFC 9113.
        Http2 = "h2",
    }
}

closed_enum! {
    /// What proved that a response is complete (RFC 9112 section 8).
    pub enum Completion {
        /// As many bytes as Content-Length said.
        ContentLength = "content_length",
        /// The chunked coding's terminator.
        Chunked = "chunked",
        /// A close-delimited body that TLS close_notify ended.
        CloseNotify = "close_notify",
        /// A response that has no content by its status or the request's method.
        NoContent = "no_content",
        /// HTTP/2 END_STREAM.
        EndStream = "end_stream",
    }
}

/// What was seen of one HTTP exchange after the first handoff to the transport.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpEvidence {
    /// Bytes that were offered to the transport above TLS.
    pub bytes_offered: u64,
    /// Bytes that were read from it.
    pub bytes_read: u64,
    /// Whether the whole request was offered.
    pub request_complete: bool,
    /// Whether a complete response head arrived; `status` is then its status.
    pub status: Option<u16>,
    /// What proved that the response is complete; none: it is not.
    pub completion: Option<Completion>,
    /// What broke here, if anything did.
    pub cause: Option<Cause>,
    /// Whether the head came from the verified origin itself. False: from a proxy of ours.
    pub from_origin: bool,
    /// How many hits of an injected secret were masked in the response.
    pub masked: u32,
    /// Whether a response body was withheld because a secret in another shape may be in it.
    pub withheld: bool,
    /// Digest of the complete body as it arrived; none where it is stored, since the result has it then.
    pub body_digest: Option<Digest>,
    /// From the first handoff to the end, in microseconds.
    pub micros: u64,
    /// The version of HTTP.
    #[serde(default)]
    pub version: HttpVersion,
    /// Whether the connection had carried another exchange before.
    #[serde(default)]
    pub reused: bool,
    /// What the exchange went through.
    #[serde(default)]
    pub hop: Hop,
    /// How many interim responses (1xx) came. They settle nothing.
    #[serde(default)]
    pub interim: u32,
    /// The peer reset the stream with REFUSED_STREAM before any header of a response: proof that it
    /// did nothing (RFC 9113 section 8.7).
    #[serde(default)]
    pub refused_stream: bool,
    /// The error code of the peer's RST_STREAM or GOAWAY.
    #[serde(default)]
    pub http2_error: Option<u32>,
    /// What the response's `Proxy-Status` says (RFC 9209), hops that are farther from us first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proxy_status: Vec<ProxyStatusEntry>,
    /// The error with which a hop that the connection trusts says that it did not forward the
    /// request.
    #[serde(default)]
    pub not_forwarded: Option<ProxyErrorType>,
    /// Whether an intermediary may have sent the effect on more than once: HTTP permits that for its
    /// idempotent methods (RFC 9110 section 9.2.2), and nobody vouched that none does.
    #[serde(default)]
    pub may_be_repeated: bool,
    /// Whether the complete answer of the verified origin carries the header by which the keyed contract says
    /// that it is the answer to the first request with this key. Looked for only where a contract names one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub replayed: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl HttpEvidence {
    /// Whether any byte of a response arrived.
    #[must_use]
    pub const fn response_started(&self) -> bool {
        self.bytes_read > 0
    }

    /// The evidence of an exchange of which nothing was seen any more: the host stopped.
    #[must_use]
    pub const fn nothing_seen(cause: Cause) -> Self {
        Self {
            bytes_offered: 0,
            bytes_read: 0,
            request_complete: false,
            status: None,
            completion: None,
            cause: Some(cause),
            from_origin: false,
            masked: 0,
            withheld: false,
            body_digest: None,
            micros: 0,
            version: HttpVersion::Http11,
            reused: false,
            hop: Hop::Direct,
            interim: 0,
            refused_stream: false,
            http2_error: None,
            proxy_status: Vec::new(),
            not_forwarded: None,
            may_be_repeated: false,
            replayed: false,
        }
    }
}

/// What was seen of one exchange, whatever it went over. Their fields tell the two apart, so that a journal
/// from before there was SSH reads as it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Evidence {
    /// Over HTTP.
    Http(HttpEvidence),
    /// Over SSH.
    Ssh(SshEvidence),
}

impl Evidence {
    /// Whether a complete answer came.
    #[must_use]
    pub const fn complete(&self) -> bool {
        match self {
            Self::Http(http) => http.completion.is_some(),
            Self::Ssh(ssh) => ssh.complete(),
        }
    }

    /// Whether anything of an answer came.
    #[must_use]
    pub const fn response_started(&self) -> bool {
        match self {
            Self::Http(http) => http.response_started(),
            Self::Ssh(ssh) => ssh.response_started(),
        }
    }

    /// Whether the whole request was offered to the transport; of an exec, its standard input too.
    #[must_use]
    pub const fn request_complete(&self) -> bool {
        match self {
            Self::Http(http) => http.request_complete,
            Self::Ssh(ssh) => ssh.exec_offered && ssh.stdin_complete,
        }
    }

    /// Whether the answer is the verified peer's own. Nobody stands within an SSH connection.
    #[must_use]
    pub const fn from_peer(&self) -> bool {
        match self {
            Self::Http(http) => http.from_origin,
            Self::Ssh(_) => true,
        }
    }

    /// What broke here, if anything did.
    #[must_use]
    pub const fn cause(&self) -> Option<Cause> {
        match self {
            Self::Http(http) => http.cause,
            Self::Ssh(ssh) => ssh.cause,
        }
    }

    /// The status of a complete HTTP response of the verified origin.
    #[must_use]
    pub const fn http_status(&self) -> Option<u16> {
        match self {
            Self::Http(http) if http.completion.is_some() && http.from_origin => http.status,
            Self::Http(_) | Self::Ssh(_) => None,
        }
    }

    /// How a remote command ended.
    #[must_use]
    pub const fn exit(&self) -> Option<&SshExit> {
        match self {
            Self::Http(_) => None,
            Self::Ssh(ssh) => ssh.exit.as_ref(),
        }
    }

    /// The exit status of a remote command. A signal and a marker have none.
    #[must_use]
    pub const fn exit_status(&self) -> Option<u32> {
        match self.exit() {
            Some(SshExit::Status(status)) => Some(*status),
            Some(SshExit::Signal(_) | SshExit::Marker) | None => None,
        }
    }

    /// How many hits of an injected secret were masked.
    #[must_use]
    pub const fn masked(&self) -> u32 {
        match self {
            Self::Http(http) => http.masked,
            Self::Ssh(ssh) => ssh.masked,
        }
    }

    /// Whether the answer was withheld because a secret in another shape may be in it.
    #[must_use]
    pub const fn withheld(&self) -> bool {
        match self {
            Self::Http(http) => http.withheld,
            Self::Ssh(ssh) => ssh.withheld,
        }
    }

    /// Whether it says of itself that it is the answer to the first request with this key. Over SSH nothing
    /// does.
    #[must_use]
    pub const fn replayed(&self) -> bool {
        match self {
            Self::Http(http) => http.replayed,
            Self::Ssh(_) => false,
        }
    }

    /// What was seen over HTTP.
    #[must_use]
    pub const fn http(&self) -> Option<&HttpEvidence> {
        match self {
            Self::Http(http) => Some(http),
            Self::Ssh(_) => None,
        }
    }

    /// What was seen over SSH.
    #[must_use]
    pub const fn ssh(&self) -> Option<&SshEvidence> {
        match self {
            Self::Http(_) => None,
            Self::Ssh(ssh) => Some(ssh),
        }
    }
}

impl From<HttpEvidence> for Evidence {
    fn from(http: HttpEvidence) -> Self {
        Self::Http(http)
    }
}

impl From<SshEvidence> for Evidence {
    fn from(ssh: SshEvidence) -> Self {
        Self::Ssh(ssh)
    }
}
