//! The least HTTP/1.1 that a peer of ours needs: whole messages framed by Content-Length. It is no
//! part of the product and shares no code with it, so that it can't share its mistakes.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};

/// A message as it came, to the byte.
pub struct Message {
    /// The head, with the empty line that ends it.
    pub head: Vec<u8>,
    /// The body.
    pub body: Vec<u8>,
}

impl Message {
    /// Head and body in one.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        [self.head.as_slice(), self.body.as_slice()].concat()
    }

    /// A header's value, by its name in lower case; of several the first.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.head);
        let mut fields = text.lines().skip(1).filter_map(|line| line.split_once(':'));
        let (_, value) = fields.find(|(field, _)| field.eq_ignore_ascii_case(name))?;
        Some(value.trim().to_owned())
    }

    /// A request's method and target.
    #[must_use]
    pub fn line(&self) -> String {
        let text = String::from_utf8_lossy(&self.head);
        let mut words = text.lines().next().unwrap_or_default().split(' ');
        format!("{} {}", words.next().unwrap_or_default(), words.next().unwrap_or_default())
    }

    /// A response's status; none where the first line is no status line.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        let text = std::str::from_utf8(&self.head).ok()?;
        text.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
    }
}

/// Reads one message. None: the stream ended before its first byte.
///
/// # Errors
/// When the stream breaks or ends within a message, or the message is not framed by Content-Length.
pub fn read_message(stream: &mut impl BufRead) -> io::Result<Option<Message>> {
    read(stream, true)
}

/// Reads one message. An answer to HEAD has no body, whatever its length says (RFC 9110 section 9.3.2).
fn read(stream: &mut impl BufRead, with_body: bool) -> io::Result<Option<Message>> {
    let (mut head, mut length) = (Vec::new(), 0);
    loop {
        let mut line = Vec::new();
        if stream.read_until(b'\n', &mut line)? == 0 {
            return if head.is_empty() { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        head.extend_from_slice(&line);
        let text = String::from_utf8_lossy(&line).trim_end().to_ascii_lowercase();
        if text.is_empty() {
            break;
        }
        if text.starts_with("transfer-encoding:") {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "only Content-Length is understood"));
        }
        if let Some(value) = text.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; if with_body { length } else { 0 }];
    stream.read_exact(&mut body)?;
    Ok(Some(Message { head, body }))
}

/// Sends these bytes on a connection of their own and reads the answer.
///
/// # Errors
/// When the peer can't be reached or does not answer with a whole message.
pub fn exchange(peer: SocketAddr, request: &[u8]) -> io::Result<Message> {
    let mut stream = TcpStream::connect(peer)?;
    stream.write_all(request)?;
    read(&mut BufReader::new(stream), !request.starts_with(b"HEAD "))?
        .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
