//! A client that speaks HTTP by hand, so that a test says where a stream is cut.

use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A revision of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// 2025-11-25, with a handshake.
    Old,
    /// 2026-07-28, where every request stands for itself.
    New,
}

impl Revision {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Old, Self::New];

    /// Its name on the wire.
    #[must_use]
    pub const fn version(self) -> &'static str {
        match self {
            Self::Old => "2025-11-25",
            Self::New => "2026-07-28",
        }
    }
}

/// A client. Its JSON-RPC ids go up by one with each request.
pub struct Raw {
    address: SocketAddr,
    revision: Revision,
    next: AtomicU64,
    /// The capabilities that a client of the newer revision declares.
    pub capabilities: Value,
    /// Who it says that it is.
    pub token: Option<String>,
    /// More headers.
    pub headers: Vec<(&'static str, String)>,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status of the HTTP response.
    pub status: u16,
    /// Every JSON-RPC message in it, in order.
    pub messages: Vec<Value>,
}

impl Reply {
    /// The result.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn result(&self) -> &Value {
        let last = self.messages.last().unwrap_or_else(|| panic!("no message: {self:?}"));
        last.get("result").unwrap_or_else(|| panic!("no result: {last}"))
    }

    /// The envelope in it.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn envelope(&self) -> &Value {
        let found = self.result().get("structuredContent");
        found.unwrap_or_else(|| panic!("no structured content: {self:?}"))
    }

    /// The code of the JSON-RPC error.
    #[must_use]
    pub fn error(&self) -> Option<i64> {
        self.messages.last()?.pointer("/error/code")?.as_i64()
    }
}

impl Raw {
    /// A client of the server there.
    #[must_use]
    pub fn new(address: SocketAddr, revision: Revision) -> Self {
        Self {
            address,
            revision,
            next: AtomicU64::new(1),
            capabilities: json!({}),
            token: None,
            headers: Vec::new(),
        }
    }

    /// The same client, as somebody else.
    #[must_use]
    pub fn as_whom(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// The same client, with the Tasks extension.
    #[must_use]
    pub fn with_tasks(mut self) -> Self {
        self.capabilities = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
        self
    }

    /// The request as this revision spells it, and its JSON-RPC id.
    #[must_use]
    pub fn message(&self, method: &str, mut params: Value) -> (u64, Value) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        if self.revision == Revision::New {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!(self.revision.version());
            meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "raw", "version": "1" });
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        (id, json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    }

    /// Calls a tool.
    pub async fn call(&self, tool: &str, arguments: Value) -> Reply {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Asks something.
    ///
    /// # Panics
    /// When the server breaks off.
    pub async fn request(&self, method: &str, params: Value) -> Reply {
        let (_, message) = self.message(method, params);
        self.post(&message).await
    }

    /// Sends a message of the caller's own.
    ///
    /// # Panics
    /// When the server breaks off.
    pub async fn post(&self, message: &Value) -> Reply {
        self.try_post(message).await.unwrap()
    }

    /// Calls a tool of a host that may go away.
    ///
    /// # Errors
    /// When it did.
    pub async fn try_call(&self, tool: &str, arguments: Value) -> io::Result<Reply> {
        let (_, message) = self.message("tools/call", json!({ "name": tool, "arguments": arguments }));
        self.try_post(&message).await
    }

    async fn try_post(&self, message: &Value) -> io::Result<Reply> {
        let mut stream = self.try_send(message).await?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await?;
        parse(&bytes).ok_or(io::ErrorKind::UnexpectedEof.into())
    }

    /// Sends a message and reads so many bytes of the response, or fewer where there are no more; then the
    /// connection is gone.
    ///
    /// # Panics
    /// When it can't be sent.
    pub async fn cut_after(&self, message: &Value, bytes: usize) -> usize {
        let mut stream = self.send(message).await;
        let mut read = vec![0; bytes];
        let mut got = 0;
        while got < bytes {
            match stream.read(&mut read[got..]).await {
                Ok(0) | Err(_) => break,
                Ok(more) => got += more,
            }
        }
        stream.set_zero_linger().unwrap();
        got
    }

    /// Sends a message and gives the connection.
    ///
    /// # Panics
    /// When it can't be sent.
    pub async fn send(&self, message: &Value) -> TcpStream {
        self.try_send(message).await.unwrap()
    }

    async fn try_send(&self, message: &Value) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.write_all(&self.bytes(message)).await?;
        Ok(stream)
    }

    /// The whole request that carries a message.
    #[must_use]
    pub fn bytes(&self, message: &Value) -> Vec<u8> {
        let body = message.to_string();
        let mut head = self.head("POST", message);
        head.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len()));
        (head + &body).into_bytes()
    }

    /// Opens the older revision's stream of notifications.
    ///
    /// # Panics
    /// When it can't be opened.
    pub async fn listen(&self) -> TcpStream {
        let head = self.head("GET", &Value::Null) + "\r\n";
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }

    fn head(&self, method: &str, message: &Value) -> String {
        let mut head = format!(
            "{method} /mcp HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\
             accept: application/json, text/event-stream\r\n",
            self.address
        );
        let mut add = |name: &str, value: &str| head.push_str(&format!("{name}: {value}\r\n"));
        let asked = message["method"].as_str().unwrap_or_default();
        if asked != "initialize" {
            add("mcp-protocol-version", self.revision.version());
        }
        if self.revision == Revision::New {
            add("mcp-method", asked);
            let about = if asked.starts_with("tasks/") { "taskId" } else { "name" };
            if let Some(name) = message["params"][about].as_str() {
                add("mcp-name", name);
            }
        }
        if let Some(token) = &self.token {
            add("authorization", &format!("Bearer {token}"));
        }
        self.headers.iter().for_each(|(name, value)| add(name, value));
        head
    }
}

impl Reply {
    /// What a whole response says; none where it is no whole one.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        parse(bytes)
    }
}

/// Reads a whole response: one message, or a stream of events, in chunks or not. None: it is not whole.
fn parse(bytes: &[u8]) -> Option<Reply> {
    let end = bytes.windows(4).position(|part| part == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let body = &bytes[end + 4..];
    let body = if head.contains("transfer-encoding: chunked") { unchunk(body)? } else { body.to_vec() };
    let text = String::from_utf8(body).ok()?;
    let messages = if head.contains("text/event-stream") {
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        data.filter_map(|data| serde_json::from_str(data).ok()).collect()
    } else {
        serde_json::from_str(&text).into_iter().collect()
    };
    Some(Reply { status, messages })
}

fn unchunk(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let line = body.windows(2).position(|part| part == b"\r\n")?;
        let size = usize::from_str_radix(&String::from_utf8_lossy(&body[..line]), 16).ok()?;
        let chunk = &body[line + 2..];
        whole.extend_from_slice(chunk.get(..size)?);
        if size == 0 {
            return Some(whole);
        }
        body = chunk.get(size + 2..)?;
    }
}
