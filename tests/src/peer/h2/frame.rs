//! Frames, as they are on the wire (RFC 9113 sections 4 and 6).

/// How many bytes stand before a frame's payload.
pub(super) const HEAD: usize = 9;

/// The flag of a SETTINGS or PING frame that answers one (RFC 9113 sections 6.5 and 6.7).
pub(super) const ACK: u8 = 0x1;
/// The flag of a stream's last frame.
pub(super) const END_STREAM: u8 = 0x1;
/// The flag of a field block's last frame.
pub(super) const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// Error codes (RFC 9113 section 7).
pub mod code {
    /// Not an error.
    pub const NO_ERROR: u32 = 0x0;
    /// The other side broke the protocol.
    pub const PROTOCOL_ERROR: u32 = 0x1;
    /// This side failed.
    pub const INTERNAL_ERROR: u32 = 0x2;
    /// Nothing was done for the stream.
    pub const REFUSED_STREAM: u32 = 0x7;
    /// The stream is no longer wanted.
    pub const CANCEL: u32 = 0x8;
    /// The other side does something that costs too much.
    pub const ENHANCE_YOUR_CALM: u32 = 0xb;
    /// HTTP/1.1 is wanted instead.
    pub const HTTP_1_1_REQUIRED: u32 = 0xd;
}

/// Identifiers of settings (RFC 9113 section 6.5.2).
pub mod setting {
    /// The most bytes in the other side's table for compression; 4096 at first.
    pub const HEADER_TABLE_SIZE: u16 = 0x1;
    /// The most streams that the other side may have open; no limit at first.
    pub const MAX_CONCURRENT_STREAMS: u16 = 0x3;
    /// A new stream's flow-control window, in bytes; 65,535 at first.
    pub const INITIAL_WINDOW_SIZE: u16 = 0x4;
    /// The largest payload of a frame, in bytes; 16,384 at first.
    pub const MAX_FRAME_SIZE: u16 = 0x5;
    /// The largest list of fields that is taken, in bytes; no limit at first.
    pub const MAX_HEADER_LIST_SIZE: u16 = 0x6;
}

/// A frame's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// DATA
    Data,
    /// HEADERS
    Headers,
    /// PRIORITY
    Priority,
    /// RST_STREAM
    Reset,
    /// SETTINGS
    Settings,
    /// PUSH_PROMISE
    PushPromise,
    /// PING
    Ping,
    /// GOAWAY
    GoAway,
    /// WINDOW_UPDATE
    WindowUpdate,
    /// CONTINUATION
    Continuation,
    /// One that RFC 9113 does not define.
    Other(u8),
}

impl Kind {
    const fn from_byte(byte: u8) -> Self {
        match byte {
            0 => Self::Data,
            1 => Self::Headers,
            2 => Self::Priority,
            3 => Self::Reset,
            4 => Self::Settings,
            5 => Self::PushPromise,
            6 => Self::Ping,
            7 => Self::GoAway,
            8 => Self::WindowUpdate,
            9 => Self::Continuation,
            other => Self::Other(other),
        }
    }

    const fn byte(self) -> u8 {
        match self {
            Self::Data => 0,
            Self::Headers => 1,
            Self::Priority => 2,
            Self::Reset => 3,
            Self::Settings => 4,
            Self::PushPromise => 5,
            Self::Ping => 6,
            Self::GoAway => 7,
            Self::WindowUpdate => 8,
            Self::Continuation => 9,
            Self::Other(byte) => byte,
        }
    }
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its type.
    pub kind: Kind,
    /// Its flags, whose meaning depends on the type.
    pub flags: u8,
    /// Its stream; 0 is the connection.
    pub stream: u32,
    /// What follows its first nine bytes.
    pub payload: Vec<u8>,
}

impl Frame {
    /// The bytes of a frame.
    ///
    /// # Panics
    /// When the payload has more bytes than a frame's length can say.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let length = u32::try_from(self.payload.len()).unwrap().to_be_bytes();
        assert_eq!(length[0], 0, "a frame's length has three bytes");
        [&length[1..], &[self.kind.byte(), self.flags], &self.stream.to_be_bytes(), &self.payload].concat()
    }

    /// The payload's length, as a frame's first bytes say it.
    pub(super) fn length(head: &[u8]) -> usize {
        head[..3].iter().fold(0, |length, byte| length << 8 | usize::from(*byte))
    }

    pub(super) fn read(head: &[u8], payload: Vec<u8>) -> Self {
        let stream = number(&head[5..HEAD]) & 0x7fff_ffff;
        Self { kind: Kind::from_byte(head[3]), flags: head[4], stream, payload }
    }

    pub(super) const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The error code of an RST_STREAM frame.
    pub(super) fn code(&self) -> u32 {
        number(&self.payload)
    }

    /// What a DATA or HEADERS frame carries, without padding and priority. None: it is malformed.
    pub(super) fn content(&self) -> Option<&[u8]> {
        let mut content = self.payload.as_slice();
        let mut padding = 0;
        if self.has(PADDED) {
            let (length, rest) = content.split_first()?;
            (padding, content) = (usize::from(*length), rest);
        }
        if self.kind == Kind::Headers && self.has(PRIORITY) {
            content = content.get(5..)?;
        }
        content.get(..content.len().checked_sub(padding)?)
    }
}

/// A big-endian number of at most four bytes.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}
