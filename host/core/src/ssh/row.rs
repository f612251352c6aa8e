//! The rows of the classification table (design section 5, SSH): what was seen of an exec, in closed
//! words.

use super::evidence::SshEvidence;
use crate::closed::closed_enum;
use crate::contract::{Outcome, Reason};
use crate::evidence::Cause;
use crate::exchange::SshExit;

closed_enum! {
    /// What was seen of an exec after its dispatch.
    pub enum SshRow {
        /// Exit status 0, and the whole output.
        Success = "success",
        /// Another exit status, all 32 bits, whatever became of the output.
        Status = "status",
        /// The command ended by a signal, whatever became of the output.
        Signal = "signal",
        /// Exit status 0, and the output was cut.
        OutputCut = "output_cut",
        /// Exit status 0, and more output than may be taken, or it could not be stored.
        OutputNotTaken = "output_not_taken",
        /// The contract's completion marker, and neither status nor signal.
        Marker = "marker",
        /// The server's failure reply to the exec request: nothing ran.
        Refused = "refused",
        /// The channel was closed after the command was accepted, and nothing told of its end.
        ClosedWithoutEnd = "closed_without_end",
        /// The channel was closed, and nothing told what became of the exec request.
        ClosedWithoutReply = "closed_without_reply",
        /// The connection was lost.
        TransportLost = "transport_lost",
        /// The server answered no keepalive any more.
        Keepalive = "keepalive",
        /// A deadline of this host passed without any reply to the exec request.
        NoReply = "no_reply",
        /// A deadline of this host passed after the command was accepted.
        Deadline = "deadline",
        /// The caller cancelled, and no end was seen.
        Cancelled = "cancelled",
        /// The server contradicted itself or broke the protocol.
        Contradiction = "contradiction",
        /// This host stopped, or its own input or output failed.
        Local = "local",
    }
}

impl SshRow {
    /// The row of what was seen.
    #[must_use]
    pub const fn of(evidence: &SshEvidence) -> Self {
        if evidence.exits_differ {
            return Self::Contradiction;
        }
        match (&evidence.exit, evidence.command_accepted) {
            // A server that refuses the command and tells how it ended can't be believed in either.
            (Some(_), Some(false)) => Self::Contradiction,
            (Some(SshExit::Status(0)), Some(true) | None) => Self::of_success(evidence),
            (Some(SshExit::Status(_)), Some(true) | None) => Self::Status,
            // A login shell that dies of the signal that we had sent is not the command, which holds its
            // output still.
            (Some(SshExit::Signal(_)), Some(true) | None)
                if matches!(evidence.stop_confirmed, Some(false)) =>
            {
                Self::Cancelled
            }
            (Some(SshExit::Signal(_)), Some(true) | None) => Self::Signal,
            (Some(SshExit::Marker), Some(true) | None) => Self::Marker,
            (None, Some(false)) if evidence.stdout.bytes > 0 || evidence.stderr.bytes > 0 => {
                Self::Contradiction
            }
            (None, Some(false)) => Self::Refused,
            (None, Some(true) | None) => Self::of_cause(evidence),
        }
    }

    const fn of_success(evidence: &SshEvidence) -> Self {
        if evidence.complete() {
            return Self::Success;
        }
        match evidence.cause {
            Some(Cause::TooLarge | Cause::ContentNotStored) => Self::OutputNotTaken,
            Some(_) | None => Self::OutputCut,
        }
    }

    /// An exec whose end nothing told of. Why never decides an outcome: all are unknown, and the row is
    /// for those who read the record.
    const fn of_cause(evidence: &SshEvidence) -> Self {
        match evidence.cause {
            Some(Cause::KeepaliveTimeout) => Self::Keepalive,
            Some(Cause::DeadlinePassed) if evidence.response_started() => Self::Deadline,
            Some(Cause::DeadlinePassed) => Self::NoReply,
            Some(Cause::Cancelled) => Self::Cancelled,
            Some(Cause::HostStopped | Cause::LocalIo) => Self::Local,
            Some(Cause::ProtocolError) => Self::Contradiction,
            None | Some(Cause::TooLarge | Cause::ContentNotStored) => {
                if !evidence.closed {
                    Self::TransportLost
                } else if evidence.response_started() {
                    Self::ClosedWithoutEnd
                } else {
                    Self::ClosedWithoutReply
                }
            }
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
                | Cause::AmbiguousFraming
                | Cause::Truncated
                | Cause::UnexpectedUpgrade
                | Cause::StreamRefused
                | Cause::StreamReset
                | Cause::GoAway
                | Cause::ProxyRefused
                | Cause::ProxyAuthentication
                | Cause::PinMismatch
                | Cause::ConnectionStale
                | Cause::PoolExhausted
                | Cause::HostKeyUnknown
                | Cause::HostKeyRevoked
                | Cause::HostCertificateInvalid
                | Cause::LoginRefused
                | Cause::CredentialExpired
                | Cause::CredentialNotYetValid
                | Cause::ChannelRefused
                | Cause::EnvironmentRefused
                | Cause::Disconnected,
            ) => Self::TransportLost,
        }
    }

    /// What the row alone proves, and the reason that goes with it.
    ///
    /// The marker proves that the command finished and not that it went well, so it is no success without
    /// a connector's reading.
    #[must_use]
    pub const fn claims(self) -> (Outcome, Reason) {
        use Outcome::{Committed, Rejected, Unknown};
        match self {
            Self::Success => (Committed, Reason::Done),
            Self::Status | Self::Signal => (Committed, Reason::RemoteFailed),
            Self::OutputCut | Self::OutputNotTaken | Self::Marker => (Committed, Reason::Unreadable),
            Self::Refused => (Rejected, Reason::Forbidden),
            Self::ClosedWithoutEnd
            | Self::ClosedWithoutReply
            | Self::TransportLost
            | Self::Keepalive
            | Self::NoReply
            | Self::Deadline
            | Self::Cancelled
            | Self::Contradiction
            | Self::Local => (Unknown, Reason::Unreadable),
        }
    }

    /// Whether the server, and no command, refused the effect. Then nobody's reading is asked for.
    #[must_use]
    pub const fn refused_on_the_way(self) -> bool {
        match self {
            Self::Refused => true,
            Self::Success
            | Self::Status
            | Self::Signal
            | Self::OutputCut
            | Self::OutputNotTaken
            | Self::Marker
            | Self::ClosedWithoutEnd
            | Self::ClosedWithoutReply
            | Self::TransportLost
            | Self::Keepalive
            | Self::NoReply
            | Self::Deadline
            | Self::Cancelled
            | Self::Contradiction
            | Self::Local => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssh::StreamSeen;

    fn seen(cause: Option<Cause>) -> SshEvidence {
        SshEvidence {
            exec_offered: true,
            command_accepted: Some(true),
            eof: true,
            closed: true,
            cause,
            stdout: StreamSeen { bytes: 3, digest: None, complete: cause.is_none() },
            stderr: StreamSeen { bytes: 0, digest: None, complete: cause.is_none() },
            ..SshEvidence::nothing_seen(Cause::LocalIo)
        }
    }

    fn ended(exit: SshExit, cause: Option<Cause>) -> SshEvidence {
        SshEvidence { exit: Some(exit), ..seen(cause) }
    }

    /// An exec to which no reply came.
    fn silent(cause: Option<Cause>, closed: bool) -> SshEvidence {
        SshEvidence {
            command_accepted: None,
            stdout: StreamSeen::default(),
            closed,
            eof: false,
            ..seen(cause)
        }
    }

    #[test]
    fn what_was_seen_proves_this_much() {
        use Outcome::{Committed, Rejected, Unknown};
        let check = |evidence: SshEvidence, row: SshRow, outcome: Outcome, reason: Reason| {
            assert_eq!(SshRow::of(&evidence), row, "{evidence:?}");
            assert_eq!(row.claims(), (outcome, reason), "{row}");
            assert_eq!(row.refused_on_the_way(), outcome == Rejected, "{row}");
        };
        let status = SshExit::Status;
        let killed = || SshExit::Signal("KILL".to_owned());
        check(ended(status(0), None), SshRow::Success, Committed, Reason::Done);
        for other in [1, 6, 23, 255, 256, u32::MAX] {
            check(ended(status(other), None), SshRow::Status, Committed, Reason::RemoteFailed);
        }
        check(ended(killed(), None), SshRow::Signal, Committed, Reason::RemoteFailed);
        check(ended(SshExit::Marker, None), SshRow::Marker, Committed, Reason::Unreadable);
        for cut in [Cause::ConnectionReset, Cause::DeadlinePassed, Cause::Cancelled, Cause::Truncated] {
            check(ended(status(0), Some(cut)), SshRow::OutputCut, Committed, Reason::Unreadable);
            check(ended(status(5), Some(cut)), SshRow::Status, Committed, Reason::RemoteFailed);
            check(ended(killed(), Some(cut)), SshRow::Signal, Committed, Reason::RemoteFailed);
        }
        for full in [Cause::TooLarge, Cause::ContentNotStored] {
            check(ended(status(0), Some(full)), SshRow::OutputNotTaken, Committed, Reason::Unreadable);
        }
        let signalled = |confirmed| SshEvidence {
            stop_confirmed: Some(confirmed),
            ..ended(SshExit::Signal("TERM".to_owned()), Some(Cause::Cancelled))
        };
        check(signalled(true), SshRow::Signal, Committed, Reason::RemoteFailed);
        check(signalled(false), SshRow::Cancelled, Unknown, Reason::Unreadable);
        let refused = SshEvidence { command_accepted: Some(false), ..silent(None, true) };
        check(refused.clone(), SshRow::Refused, Rejected, Reason::Forbidden);
        let lost = SshEvidence { cause: Some(Cause::ConnectionReset), ..refused.clone() };
        check(lost, SshRow::Refused, Rejected, Reason::Forbidden);
        let ran = SshEvidence { exit: Some(status(0)), ..refused.clone() };
        check(ran, SshRow::Contradiction, Unknown, Reason::Unreadable);
        let spoke = SshEvidence { stderr: StreamSeen { bytes: 1, ..StreamSeen::default() }, ..refused };
        check(spoke, SshRow::Contradiction, Unknown, Reason::Unreadable);
        let twice = SshEvidence { exits_differ: true, ..seen(None) };
        check(twice, SshRow::Contradiction, Unknown, Reason::Unreadable);
        let unknown = |evidence, row| check(evidence, row, Unknown, Reason::Unreadable);
        unknown(seen(None), SshRow::ClosedWithoutEnd);
        unknown(silent(None, true), SshRow::ClosedWithoutReply);
        unknown(silent(None, false), SshRow::TransportLost);
        unknown(seen(Some(Cause::ConnectionReset)), SshRow::TransportLost);
        unknown(seen(Some(Cause::Disconnected)), SshRow::TransportLost);
        unknown(seen(Some(Cause::KeepaliveTimeout)), SshRow::Keepalive);
        unknown(seen(Some(Cause::DeadlinePassed)), SshRow::Deadline);
        unknown(silent(Some(Cause::DeadlinePassed), false), SshRow::NoReply);
        unknown(seen(Some(Cause::Cancelled)), SshRow::Cancelled);
        unknown(seen(Some(Cause::ProtocolError)), SshRow::Contradiction);
        unknown(SshEvidence::nothing_seen(Cause::HostStopped), SshRow::Local);
    }

    #[test]
    fn no_local_cause_settles_anything() {
        for cause in Cause::ALL {
            for evidence in [seen(Some(*cause)), silent(Some(*cause), false), silent(Some(*cause), true)] {
                assert_eq!(SshRow::of(&evidence).claims().0, Outcome::Unknown, "{cause}");
            }
        }
    }
}
