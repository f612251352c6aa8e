//! Reads the bytes of a log, and says why it stops.

use super::form::{self, LENGTHS};
use super::report::{Unreadable, Wrong};
use sha2::{Digest as _, Sha256};
use std::io::{self, BufRead, Read as _};

/// Why reading stops.
pub(super) enum Stop {
    Wrong(Wrong),
    Unreadable(Unreadable),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        match error.kind() == io::ErrorKind::UnexpectedEof {
            true => Self::Wrong(Wrong::Cut),
            false => Self::Unreadable(Unreadable::Io(error)),
        }
    }
}

impl From<Wrong> for Stop {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

/// What is read from, and how far.
pub(super) struct Counted<R> {
    pub(super) from: R,
    pub(super) offset: u64,
    /// Whether it is a file, of which offsets mean something.
    pub(super) file: bool,
}

impl<R: BufRead> Counted<R> {
    pub(super) fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.from.read_exact(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// The lengths of what follows.
    pub(super) fn lengths(&mut self) -> Result<[u8; LENGTHS], Stop> {
        let mut lengths = [0; LENGTHS];
        self.read_exact(&mut lengths)?;
        let (header, payload) = form::lengths(lengths);
        let fits = header <= form::LARGEST_HEADER && payload <= form::LARGEST_PAYLOAD;
        if fits { Ok(lengths) } else { Err(Wrong::Form.into()) }
    }

    /// So many bytes. A length that is not true takes no more memory than there are bytes.
    pub(super) fn bytes(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&mut self.from).take(length as u64).read_to_end(&mut bytes)?;
        self.offset += bytes.len() as u64;
        if bytes.len() == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// A payload that is looked into.
    pub(super) fn note(&mut self, length: usize) -> Result<Vec<u8>, Stop> {
        if length > form::LARGEST_KEPT {
            return Err(Wrong::Form.into());
        }
        Ok(self.bytes(length)?)
    }

    /// Hashes so many bytes as they go by.
    pub(super) fn hash(&mut self, mut length: usize, hash: &mut Sha256) -> io::Result<()> {
        while length > 0 {
            let bytes = match self.from.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let taken = bytes.len().min(length);
            hash.update(&bytes[..taken]);
            self.from.consume(taken);
            self.offset += taken as u64;
            length -= taken;
        }
        Ok(())
    }
}
