//! What broke here, from what our own stream saw. hyper's words for it prove nothing and decide
//! nothing.

use super::http2::{self, Told};
use super::wire::Seen;
use crate::dial::io_cause;
use proofport_core::evidence::Cause;
use std::io::ErrorKind;

/// Why an exchange ended before its response was complete.
pub(super) enum Broken {
    /// We refused what came.
    Refused(Cause),
    /// hyper gave up; why is read from the stream.
    Http(hyper::Error),
}

impl Broken {
    /// The closed cause.
    pub(super) fn cause(&self, seen: &Seen, told: Told) -> Cause {
        match (self, told) {
            (Self::Refused(cause), _) => *cause,
            (Self::Http(_), Told::Refused) => Cause::StreamRefused,
            (Self::Http(_), Told::Reset(_)) => Cause::StreamReset,
            (Self::Http(_), Told::GoAway(_)) => Cause::GoAway,
            (Self::Http(_), Told::Nothing) => from_stream(seen),
        }
    }

    /// What the peer said by frames of its own.
    pub(super) fn told(&self) -> Told {
        match self {
            Self::Refused(_) => Told::Nothing,
            Self::Http(error) => http2::told(error),
        }
    }
}

fn from_stream(seen: &Seen) -> Cause {
    let cut = if seen.read == 0 { Cause::ConnectionClosed } else { Cause::Truncated };
    match (seen.read_error, seen.write_error) {
        // TLS without close_notify.
        (Some(ErrorKind::UnexpectedEof), None) => cut,
        (Some(ErrorKind::UnexpectedEof), Some(kind)) | (Some(kind), _) => io_cause(kind),
        (None, Some(kind)) if seen.ended => io_cause(kind),
        (None, None) if seen.ended => cut,
        // The stream is in order, so what came over it was not.
        (None, _) => Cause::ProtocolError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_says_what_broke() {
        let seen = |read, ended, read_error, write_error| {
            from_stream(&Seen { read, ended, read_error, write_error, ..Seen::default() })
        };
        assert_eq!(seen(0, true, None, None), Cause::ConnectionClosed);
        assert_eq!(seen(9, true, None, None), Cause::Truncated);
        assert_eq!(seen(0, false, Some(ErrorKind::UnexpectedEof), None), Cause::ConnectionClosed);
        assert_eq!(seen(9, false, Some(ErrorKind::UnexpectedEof), None), Cause::Truncated);
        assert_eq!(seen(9, false, Some(ErrorKind::ConnectionReset), None), Cause::ConnectionReset);
        assert_eq!(seen(0, true, None, Some(ErrorKind::ConnectionReset)), Cause::ConnectionReset);
        assert_eq!(seen(0, true, None, Some(ErrorKind::BrokenPipe)), Cause::ConnectionClosed);
        assert_eq!(seen(9, false, None, None), Cause::ProtocolError);
        assert_eq!(seen(9, false, Some(ErrorKind::InvalidData), None), Cause::TlsFailed);
    }
}
