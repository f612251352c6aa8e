//! As much of an HTTP/1.1 client as shows exactly what came: one request a connection, nothing followed,
//! nothing repeated.

use std::path::PathBuf;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

/// Where a host is reached.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Http(std::net::SocketAddr),
    Unix(PathBuf),
}

pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

impl Place {
    pub(crate) async fn connect(&self) -> Box<dyn Stream> {
        match self {
            Self::Http(address) => Box::new(TcpStream::connect(address).await.unwrap()),
            Self::Unix(path) => Box::new(UnixStream::connect(path).await.unwrap()),
        }
    }

    /// Sends these bytes and reads the answer, as far as it comes.
    pub(crate) async fn exchange(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect().await;
        // A host that refuses early closes its end.
        let _ = stream.write_all(bytes).await;
        read(&mut stream).await
    }
}

/// An answer: whole if its Content-Length says so.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// A field's value, if it is there once.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|(known, _)| known == name);
        let (first, None) = (found.next()?, found.next()) else { panic!("{name} is there twice") };
        Some(&first.1)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// That all of the body came that was announced.
    pub(crate) fn is_whole(&self) -> bool {
        self.field("content-length").is_none_or(|length| length.parse::<usize>().unwrap() == self.body.len())
    }
}

/// Reads an answer to the end of the connection.
pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Answer {
    let mut bytes = Vec::new();
    // A reset ends it as well.
    let _ = stream.read_to_end(&mut bytes).await;
    parse(&bytes)
}

pub(crate) fn parse(bytes: &[u8]) -> Answer {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no head in {:?}", String::from_utf8_lossy(bytes)));
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let field = |line: &str| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_ascii_lowercase(), value.trim().to_owned())
    };
    Answer { status, fields: lines.map(field).collect(), body: bytes[end + 4..].to_vec() }
}

/// A request as text. `fields` are lines without their ends.
pub(crate) fn request(method: &str, target: &str, fields: &[&str], body: &str) -> String {
    let lines: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    let length = if body.is_empty() && method == "GET" {
        String::new()
    } else {
        format!("content-length: {}\r\n", body.len())
    };
    format!("{method} {target} HTTP/1.1\r\nconnection: close\r\n{lines}{length}\r\n{body}")
}
