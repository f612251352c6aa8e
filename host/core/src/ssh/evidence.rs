//! What our own transport saw of one exec. Facts only; what they mean is [`SshRow`](super::SshRow).

use crate::digest::Digest;
use crate::evidence::Cause;
use crate::exchange::SshExit;
use serde::{Deserialize, Serialize};

/// One of the command's output streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamSeen {
    /// Bytes that arrived.
    pub bytes: u64,
    /// SHA-256 of the bytes that arrived, before the guard; none where it is stored, since the result
    /// has it then, and where there was more than may be taken.
    pub digest: Option<Digest>,
    /// Whether the whole stream arrived and was taken: EOF and CLOSE came for the channel, and nothing was
    /// dropped here.
    pub complete: bool,
}

/// What was seen of one SSH exec after its dispatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SshEvidence {
    /// Whether the exec request was given to the transport. False proves nothing: the dispatch is durable
    /// by then.
    pub exec_offered: bool,
    /// The server's reply to the exec request (RFC 4254 section 5.4); none: none came.
    pub command_accepted: Option<bool>,
    /// Bytes of standard input that were given to the transport.
    pub stdin_bytes: u64,
    /// Whether all of standard input was, and EOF after it.
    pub stdin_complete: bool,
    /// How the command ended, as the server said or the marker proves. Absent is not status 0.
    pub exit: Option<SshExit>,
    /// Whether the server told of more than one end, and they differ. Then `exit` is none.
    #[serde(default)]
    pub exits_differ: bool,
    /// Standard output.
    pub stdout: StreamSeen,
    /// Standard error.
    pub stderr: StreamSeen,
    /// Whether the server sent EOF on the channel.
    pub eof: bool,
    /// Whether the server sent CLOSE on the channel.
    pub closed: bool,
    /// Whether the contract's completion marker with the reference was seen as a line of standard output or
    /// standard error.
    pub marker_seen: bool,
    /// What broke here, if anything did.
    pub cause: Option<Cause>,
    /// The reason code of the peer's SSH_MSG_DISCONNECT (RFC 4253 section 11.1).
    pub disconnect_code: Option<u32>,
    /// How many hits of an injected secret were masked in the output.
    pub masked: u32,
    /// Whether output was withheld because a secret in another shape may be in it.
    pub withheld: bool,
    /// From the handoff to the end, in microseconds.
    pub micros: u64,
    /// After a cancellation that asked the remote process to stop: whether its end was seen, and that of
    /// everything that held its output. None: nobody asked it.
    pub stop_confirmed: Option<bool>,
    /// How many channels the server tried to open; all were refused.
    #[serde(default)]
    pub channels_refused: u32,
}

impl SshEvidence {
    /// Whether the answer is whole: how the command ended, and all of its output.
    #[must_use]
    pub const fn complete(&self) -> bool {
        self.exit.is_some() && self.stdout.complete && self.stderr.complete
    }

    /// Whether anything of an answer arrived: the server took the command on, or a byte of its output or
    /// word of its end came.
    #[must_use]
    pub const fn response_started(&self) -> bool {
        matches!(self.command_accepted, Some(true))
            || self.exit.is_some()
            || self.exits_differ
            || self.stdout.bytes > 0
            || self.stderr.bytes > 0
    }

    /// The evidence of an exec of which nothing was seen any more: the host stopped, say.
    #[must_use]
    pub const fn nothing_seen(cause: Cause) -> Self {
        const NOTHING: StreamSeen = StreamSeen { bytes: 0, digest: None, complete: false };
        Self {
            exec_offered: false,
            command_accepted: None,
            stdin_bytes: 0,
            stdin_complete: false,
            exit: None,
            exits_differ: false,
            stdout: NOTHING,
            stderr: NOTHING,
            eof: false,
            closed: false,
            marker_seen: false,
            cause: Some(cause),
            disconnect_code: None,
            masked: 0,
            withheld: false,
            micros: 0,
            stop_confirmed: None,
            channels_refused: 0,
        }
    }
}
