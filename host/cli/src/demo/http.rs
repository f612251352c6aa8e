//! As much HTTP/1.1 as the payment service needs: one request a connection.

use serde_json::Value;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

/// The most bytes that are read of a head, and of a body.
const MOST_BYTES: u64 = 64 * 1024;

/// A request.
pub(super) struct Request {
    pub(super) method: String,
    /// The path and the query, as they were sent.
    pub(super) target: String,
    /// The bearer token, if there was one.
    pub(super) bearer: Option<String>,
    pub(super) body: Vec<u8>,
}

/// Reads a request. None: the peer closed the connection without sending one.
pub(super) fn read(stream: &TcpStream) -> io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream.take(2 * MOST_BYTES));
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_ascii_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Err(malformed()) };
    let (method, target) = (method.to_owned(), target.to_owned());
    let mut bearer = None;
    let mut length = 0;
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let field = line.trim_end();
        if field.is_empty() {
            break;
        }
        let (name, value) = field.split_once(':').ok_or_else(malformed)?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("authorization") {
            bearer = value.strip_prefix("Bearer ").map(str::to_owned);
        } else if name.eq_ignore_ascii_case("content-length") {
            length =
                value.parse::<u64>().ok().filter(|length| *length <= MOST_BYTES).ok_or_else(malformed)?;
        }
    }
    let mut body = Vec::new();
    if reader.take(length).read_to_end(&mut body)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(Request { method, target, bearer, body }))
}

/// Sends an answer, after which the connection ends.
pub(super) fn answer(mut stream: &TcpStream, status: u16, body: &Value) -> io::Result<()> {
    let body = body.to_string();
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not a request that this service reads")
}
