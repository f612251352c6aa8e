//! Secrets from files and pipes, read without leaving copies behind.

use proofport_core::secret::Secret;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;

/// The most that is read, in bytes. The vault's own limit is lower and has its own message.
const MOST: usize = 256 * 1024;

/// Everything in the file, one newline at its end left out.
///
/// # Errors
/// When it can't be read or is too long to be a secret.
pub(crate) fn read(file: File) -> io::Result<Secret> {
    // With room from the start it never grows, so that no half of it stays behind in freed memory.
    let mut bytes = zeroize::Zeroizing::new(Vec::with_capacity(MOST + 64));
    file.take(MOST as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MOST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too long to be a secret"));
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
    }
    Ok(Secret::new(bytes.to_vec()))
}

/// Standard input to its end. Not through the library's buffer, which is never wiped.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_standard() -> io::Result<Secret> {
    read(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek as _, Write as _};

    #[test]
    fn one_newline_is_left_out() {
        let check = |input: &[u8], expected: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(input).unwrap();
            file.rewind().unwrap();
            assert_eq!(read(file).unwrap().expose(), expected, "{input:?}");
        };
        check(b"", b"");
        check(b"secret", b"secret");
        check(b"secret\n", b"secret");
        check(b"secret\r\n", b"secret");
        check(b"secret\n\n", b"secret\n");
        check(
            b"-----BEGIN KEY-----\nAAAA\n-----END KEY-----\n",
            b"-----BEGIN KEY-----\nAAAA\n-----END KEY-----",
        );
        check(b"\nsecret \n", b"\nsecret ");
        check(b"se\0cret\r", b"se\0cret\r");
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![b'x'; MOST + 1]).unwrap();
        file.rewind().unwrap();
        assert!(read(file).is_err());
    }
}
