//! The rows of the classification table (design section 5, HTTP): what was seen of an effect, in closed
//! words. Every row has its cases over real sockets, or the tests don't build.

use crate::closed::closed_enum;
use crate::contract::{Effect, Outcome, Reason, Repeat};
use crate::evidence::{Cause, Hop, HttpEvidence};
use crate::manifest::Contract;

closed_enum! {
    /// What was seen of an effect after its dispatch.
    pub enum Row {
        /// A complete 2xx but 202.
        Success = "success",
        /// A complete 202.
        Accepted = "accepted",
        /// A complete 303.
        SeeOther = "see_other",
        /// Another complete 3xx.
        Redirect = "redirect",
        /// A complete 401.
        Unauthenticated = "unauthenticated",
        /// A complete 403 or 451, or 407 from the origin itself.
        Forbidden = "forbidden",
        /// A complete 404 or 410.
        NotFound = "not_found",
        /// A complete 402, 409, 423 or 424.
        Conflict = "conflict",
        /// A complete 409, say, that the keyed contract defines as "the first is still running".
        StillRunning = "still_running",
        /// A complete 412 or 428.
        PreconditionFailed = "precondition_failed",
        /// A complete 408.
        RequestTimeout = "request_timeout",
        /// A complete 421, 425 or 429.
        TryLater = "try_later",
        /// Another complete 4xx.
        ClientError = "client_error",
        /// A complete 502 or 504: an intermediary speaks.
        Gateway = "gateway",
        /// A complete 503.
        Unavailable = "unavailable",
        /// Another complete 5xx.
        ServerError = "server_error",
        /// A complete status that the contract lists as sent before any work.
        BeforeWork = "before_work",
        /// A complete refusal that an earlier copy of the request may have caused, where an intermediary
        /// may have sent one (RFC 9110 section 9.2.2).
        PerhapsRepeated = "perhaps_repeated",
        /// A complete 407 of a forward proxy.
        ProxyAuthentication = "proxy_authentication",
        /// `Proxy-Status` of a trusted hop says that the request was not forwarded.
        NotForwarded = "not_forwarded",
        /// HTTP/2 REFUSED_STREAM from the peer before any header of a response.
        RefusedStream = "refused_stream",
        /// Another reset of the HTTP/2 stream.
        StreamReset = "stream_reset",
        /// GOAWAY.
        GoAway = "go_away",
        /// A response that can't be framed: both Content-Length and Transfer-Encoding, 101, or what is
        /// no HTTP.
        BadFraming = "bad_framing",
        /// The connection ended before the first byte of a response.
        NoResponse = "no_response",
        /// The response began and did not end.
        Incomplete = "incomplete",
        /// The response is larger than the limit, or its content could not be stored.
        NotTaken = "not_taken",
        /// A deadline of this host passed.
        Deadline = "deadline",
        /// This host stopped, or its own input or output failed.
        Local = "local",
    }
}

impl Row {
    /// The row of what was seen, under this contract.
    #[must_use]
    pub fn of(evidence: &HttpEvidence, contract: &Contract) -> Self {
        match (evidence.completion, evidence.status) {
            (Some(_), Some(_)) if evidence.not_forwarded.is_some() => Self::NotForwarded,
            (Some(_), Some(407)) if evidence.hop == Hop::ForwardProxy => Self::ProxyAuthentication,
            (Some(_), Some(status)) => {
                let row = Self::of_status(status, contract);
                if follows_a_copy(evidence, contract, row.claims()) { Self::PerhapsRepeated } else { row }
            }
            (None, Some(_) | None) if evidence.refused_stream && evidence.status.is_none() => {
                Self::RefusedStream
            }
            (None, Some(_) | None) | (Some(_), None) => Self::of_cause(evidence),
        }
    }

    /// The row of a complete status alone.
    #[must_use]
    pub fn of_status(status: u16, contract: &Contract) -> Self {
        if let Repeat::Keyed(keyed) = &contract.repeat
            && keyed.running_status == Some(status)
        {
            return Self::StillRunning;
        }
        let row = match status {
            202 => Self::Accepted,
            200..=299 => Self::Success,
            303 => Self::SeeOther,
            300..=399 => Self::Redirect,
            401 => Self::Unauthenticated,
            403 | 407 | 451 => Self::Forbidden,
            404 | 410 => Self::NotFound,
            402 | 409 | 423 | 424 => Self::Conflict,
            408 => Self::RequestTimeout,
            412 | 428 => Self::PreconditionFailed,
            421 | 425 | 429 => Self::TryLater,
            400..=499 => Self::ClientError,
            502 | 504 => Self::Gateway,
            503 => Self::Unavailable,
            500..=599 => Self::ServerError,
            _ => Self::BadFraming,
        };
        match row.claims().0 {
            Outcome::Unknown | Outcome::Committed if is_before_work(status, contract) => Self::BeforeWork,
            // Listing a refusal makes it no other refusal.
            Outcome::Unknown | Outcome::Committed | Outcome::Rejected | Outcome::NotAttempted => row,
        }
    }

    /// An exchange without a complete response. Why it has none never decides an outcome: all are
    /// unknown, and the row is for those who read the record.
    fn of_cause(evidence: &HttpEvidence) -> Self {
        match evidence.cause {
            Some(Cause::StreamReset | Cause::StreamRefused) => Self::StreamReset,
            Some(Cause::GoAway) => Self::GoAway,
            Some(Cause::ProtocolError | Cause::AmbiguousFraming | Cause::UnexpectedUpgrade) => {
                Self::BadFraming
            }
            Some(Cause::TooLarge | Cause::ContentNotStored) => Self::NotTaken,
            Some(Cause::DeadlinePassed) => Self::Deadline,
            Some(Cause::Cancelled | Cause::HostStopped | Cause::LocalIo) => Self::Local,
            Some(
                Cause::NameNotFound
                | Cause::ResolverFailed
                | Cause::AddressDenied
                | Cause::ConnectionRefused
                | Cause::Unreachable
                | Cause::ConnectionReset
                | Cause::ConnectionClosed
                | Cause::CertificateInvalid
                | Cause::TlsFailed
                | Cause::Truncated
                | Cause::ProxyRefused
                | Cause::ProxyAuthentication
                | Cause::PinMismatch
                | Cause::ConnectionStale
                | Cause::PoolExhausted
                // Of SSH only.
                | Cause::HostKeyUnknown
                | Cause::HostKeyRevoked
                | Cause::HostCertificateInvalid
                | Cause::LoginRefused
                | Cause::CredentialExpired
                | Cause::CredentialNotYetValid
                | Cause::ChannelRefused
                | Cause::EnvironmentRefused
                | Cause::KeepaliveTimeout
                | Cause::Disconnected,
            )
            | None => {
                if evidence.response_started() {
                    Self::Incomplete
                } else {
                    Self::NoResponse
                }
            }
        }
    }

    /// What the row alone proves, and the reason that goes with it.
    #[must_use]
    pub const fn claims(self) -> (Outcome, Reason) {
        use Outcome::{Committed, Rejected, Unknown};
        match self {
            Self::Success | Self::SeeOther => (Committed, Reason::Done),
            Self::Accepted => (Committed, Reason::Accepted),
            Self::ServerError => (Committed, Reason::RemoteFailed),
            Self::Unauthenticated => (Rejected, Reason::Unauthenticated),
            Self::Forbidden | Self::ProxyAuthentication => (Rejected, Reason::Forbidden),
            Self::NotFound => (Rejected, Reason::NotFound),
            Self::Conflict => (Rejected, Reason::Conflict),
            Self::PreconditionFailed => (Rejected, Reason::PreconditionFailed),
            Self::TryLater => (Rejected, Reason::RateLimited),
            Self::ClientError => (Rejected, Reason::InvalidInput),
            Self::BeforeWork | Self::NotForwarded | Self::RefusedStream => (Rejected, Reason::Unavailable),
            Self::StillRunning => (Unknown, Reason::StillRunning),
            Self::RequestTimeout | Self::Gateway | Self::Unavailable => (Unknown, Reason::Unavailable),
            Self::PerhapsRepeated => (Unknown, Reason::Conflict),
            Self::Redirect
            | Self::StreamReset
            | Self::GoAway
            | Self::BadFraming
            | Self::NoResponse
            | Self::Incomplete
            | Self::NotTaken
            | Self::Deadline
            | Self::Local => (Unknown, Reason::Unreadable),
        }
    }

    /// Whether the transport, and no answer of the origin, refused the effect. Then nobody's reading is
    /// asked for.
    #[must_use]
    pub const fn refused_on_the_way(self) -> bool {
        match self {
            Self::ProxyAuthentication | Self::NotForwarded | Self::RefusedStream => true,
            Self::Success
            | Self::Accepted
            | Self::SeeOther
            | Self::Redirect
            | Self::Unauthenticated
            | Self::Forbidden
            | Self::NotFound
            | Self::Conflict
            | Self::StillRunning
            | Self::PreconditionFailed
            | Self::RequestTimeout
            | Self::TryLater
            | Self::ClientError
            | Self::Gateway
            | Self::Unavailable
            | Self::ServerError
            | Self::BeforeWork
            | Self::PerhapsRepeated
            | Self::StreamReset
            | Self::GoAway
            | Self::BadFraming
            | Self::NoResponse
            | Self::Incomplete
            | Self::NotTaken
            | Self::Deadline
            | Self::Local => false,
        }
    }
}

/// Whether this claim of an effect is a refusal that an earlier copy of the request may have caused, where
/// an intermediary may have sent one. That copy may have been carried out, so nothing is refused, unless the
/// answer says by its header that it is the first copy's own.
pub(crate) fn follows_a_copy(
    evidence: &HttpEvidence,
    contract: &Contract,
    (outcome, reason): (Outcome, Reason),
) -> bool {
    contract.effect == Effect::Write
        && evidence.may_be_repeated
        && !evidence.replayed
        && outcome == Outcome::Rejected
        && !reason.lies_in_the_request()
}

/// Whether the contract says that the origin sends this status before any work. It can't say so of a
/// success, nor of 502 and 504: there an intermediary speaks, of whose doings the origin's
/// documentation knows nothing.
pub(crate) fn is_before_work(status: u16, contract: &Contract) -> bool {
    let may_be = matches!(status, 300..=302 | 304..=501 | 503 | 505..=599);
    may_be && contract.statuses_before_work.contains(&status)
}
