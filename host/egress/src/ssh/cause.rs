//! Why a connection ended, in closed words.

use super::handler::Told;
use super::wire::Seen;
use crate::dial::io_cause;
use proofport_core::evidence::Cause;

/// Why a connection was lost, by what the handler was told and what the stream saw. None: nobody knows
/// that it was.
pub(super) fn of_loss(told: &Told, seen: Seen) -> Option<Cause> {
    if told.disconnect.is_some() {
        return Some(Cause::Disconnected);
    }
    // The stream knows best: russh calls many things a disconnect.
    let by_stream = match seen.error {
        Some(kind) => Some(io_cause(kind)),
        None if seen.ended => Some(Cause::ConnectionClosed),
        None => None,
    };
    match &told.error {
        Some(error) => Some(of_error(error, by_stream)),
        None => by_stream,
    }
}

/// The closed cause of russh's error. It has many values and grows, so that what is not known here is a
/// breach of the protocol: the connection is lost either way.
#[allow(clippy::wildcard_enum_match_arm)]
pub(super) fn of_error(error: &russh::Error, by_stream: Option<Cause>) -> Cause {
    match error {
        russh::Error::KeepaliveTimeout | russh::Error::InactivityTimeout => Cause::KeepaliveTimeout,
        russh::Error::IO(error) => by_stream.unwrap_or_else(|| io_cause(error.kind())),
        russh::Error::ConnectionTimeout | russh::Error::Elapsed(_) => Cause::DeadlinePassed,
        russh::Error::Disconnect
        | russh::Error::HUP
        | russh::Error::SendError
        | russh::Error::RecvError
        | russh::Error::Join(_) => by_stream.unwrap_or(Cause::ConnectionClosed),
        _ => Cause::ProtocolError,
    }
}

/// Why setting up failed.
pub(super) fn of_setup(error: &russh::Error, told: &Told, seen: Seen) -> Cause {
    of_loss(told, seen).unwrap_or_else(|| of_error(error, None))
}

/// An error in words of ours and of the system: the peer's own are left out.
#[allow(clippy::wildcard_enum_match_arm)]
pub(super) fn words(error: &russh::Error) -> String {
    match error {
        russh::Error::NoCommonAlgo { kind, .. } => format!("no common {kind:?} algorithm"),
        russh::Error::IO(error) => error.to_string(),
        russh::Error::Keys(_) | russh::Error::SshKey(_) | russh::Error::InvalidConfig(_) => {
            "a key or a setting can't be used".to_owned()
        }
        other => other.to_string(),
    }
}
