//! HTTP/2 frames (RFC 9113 section 4.1) as they pass, so that what counts as part of a request or of a
//! response can be told from what keeps the connection up. Nothing is decoded.

/// The bytes that every client sends first (RFC 9113 section 3.4).
const PREFACE: usize = 24;
const HEAD: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;

/// What passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// Bytes of frames that carry a message: HEADERS, CONTINUATION, DATA.
    pub(super) bytes: u64,
    /// Whether the frame that ends the message passed whole.
    pub(super) ended: bool,
}

/// One direction of a connection.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    /// Bytes of the preface that are still to pass.
    preface: usize,
    head: [u8; HEAD],
    /// Bytes of the frame's head that have passed.
    have: usize,
    /// Bytes of the frame's payload that are still to pass.
    left: usize,
    /// A HEADERS frame ended the stream, and its header block goes on.
    ends_with_block: bool,
}

impl Frames {
    /// What a client writes.
    pub(super) const fn written() -> Self {
        Self { preface: PREFACE, head: [0; HEAD], have: 0, left: 0, ends_with_block: false }
    }

    /// What a client reads.
    pub(super) const fn read() -> Self {
        Self { preface: 0, ..Self::written() }
    }

    /// Takes note of the next bytes.
    pub(super) fn pass(&mut self, mut bytes: &[u8]) -> Passed {
        let mut passed = Passed::default();
        while !bytes.is_empty() {
            if self.preface > 0 {
                let skip = self.preface.min(bytes.len());
                self.preface -= skip;
                bytes = bytes.get(skip..).unwrap_or_default();
                continue;
            }
            if self.have < HEAD {
                let Some((byte, rest)) = bytes.split_first() else { break };
                if let Some(place) = self.head.get_mut(self.have) {
                    *place = *byte;
                }
                self.have += 1;
                bytes = rest;
                if self.have < HEAD {
                    continue;
                }
                let [a, b, c, ..] = self.head;
                self.left = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
                if self.carries_message() {
                    passed.bytes += HEAD as u64;
                }
            }
            let part = self.left.min(bytes.len());
            self.left -= part;
            bytes = bytes.get(part..).unwrap_or_default();
            if self.carries_message() {
                passed.bytes += part as u64;
            }
            if self.left == 0 {
                passed.ended |= self.frame_ends();
                self.have = 0;
            }
        }
        passed
    }

    const fn kind(&self) -> u8 {
        let [_, _, _, kind, ..] = self.head;
        kind
    }

    const fn flags(&self) -> u8 {
        let [_, _, _, _, flags, ..] = self.head;
        flags
    }

    const fn carries_message(&self) -> bool {
        matches!(self.kind(), DATA | HEADERS | CONTINUATION)
    }

    /// Whether the frame that passed ends its message.
    const fn frame_ends(&mut self) -> bool {
        const END_HEADERS: u8 = 4;
        match self.kind() {
            DATA => self.flags() & END_STREAM != 0,
            HEADERS if self.flags() & END_STREAM == 0 => false,
            HEADERS => {
                self.ends_with_block = self.flags() & END_HEADERS == 0;
                !self.ends_with_block
            }
            CONTINUATION if self.ends_with_block && self.flags() & END_HEADERS != 0 => {
                self.ends_with_block = false;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, length: u8) -> Vec<u8> {
        let mut bytes = vec![0, 0, length, kind, flags, 0, 0, 0, 1];
        bytes.extend(std::iter::repeat_n(0xff, length.into()));
        bytes
    }

    /// The same whole and in every pair of pieces.
    fn check(frames: &Frames, bytes: &[u8], expected: (u64, bool)) {
        for cut in 0..=bytes.len() {
            let mut frames = frames.clone();
            let (first, second) = bytes.split_at(cut);
            let (first, second) = (frames.pass(first), frames.pass(second));
            assert_eq!((first.bytes + second.bytes, first.ended || second.ended), expected, "cut at {cut}");
        }
    }

    #[test]
    fn only_messages_count() {
        let written = [vec![b'P'; PREFACE], frame(4, 0, 6), frame(8, 0, 4)].concat();
        check(&Frames::written(), &written, (0, false));
        check(&Frames::read(), &frame(6, 0, 8), (0, false));
        check(&Frames::read(), &frame(HEADERS, 4, 5), (14, false));
        check(&Frames::read(), &frame(HEADERS, 5, 5), (14, true));
        check(&Frames::read(), &[frame(HEADERS, 4, 5), frame(DATA, 1, 0)].concat(), (23, true));
        check(&Frames::read(), &frame(HEADERS, 1, 5), (14, false));
        check(&Frames::read(), &[frame(HEADERS, 1, 5), frame(CONTINUATION, 4, 1)].concat(), (24, true));
        check(&Frames::read(), &[frame(3, 1, 4), frame(7, 0, 8)].concat(), (0, false));
    }
}
