//! A host by script: it takes one connection after another, keeps every request that it got, and answers as the
//! script says. What it got is the truth about what the client sent.

use proofport_client::{Client, Token};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinHandle;

pub(crate) const ID: &str = "act_aaaaaaaaaaaaaaaaaaaaaaaaaa";
pub(crate) const OTHER: &str = "act_bbbbbbbbbbbbbbbbbbbbbbbbbb";
pub(crate) const TOKEN: &str = "ppa-canary-7f3c2a91";

/// What happens to a connection.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// The request is read, and this is written: an answer, or what is left of one.
    Raw(Vec<u8>),
    /// The request is read, and the connection closed.
    Close,
    /// The request is read, and nothing comes until the client goes.
    Silence,
}

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Got {
    pub(crate) line: String,
    pub(crate) head: String,
    pub(crate) body: String,
}

pub(crate) struct Host {
    pub(crate) client: Client,
    got: Arc<Mutex<Vec<Got>>>,
    task: JoinHandle<()>,
    expected: usize,
    folder: Option<tempfile::TempDir>,
}

impl Host {
    /// On a Unix socket.
    pub(crate) fn unix(script: Vec<Reply>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path: PathBuf = folder.path().join("agent.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let got = Arc::default();
        let expected = script.len();
        let task =
            tokio::spawn(serve(script, Arc::clone(&got), async move || listener.accept().await.unwrap().0));
        Self { client: Client::unix(path), got, task, expected, folder: Some(folder) }
    }

    /// On a loopback address.
    pub(crate) async fn http(script: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = Client::http(listener.local_addr().unwrap(), Token::new(TOKEN).unwrap()).unwrap();
        let got = Arc::default();
        let expected = script.len();
        let task =
            tokio::spawn(serve(script, Arc::clone(&got), async move || listener.accept().await.unwrap().0));
        Self { client, got, task, expected, folder: None }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(Client) -> Client) -> Self {
        self.client = change(self.client.clone());
        self
    }

    /// Everything that came so far.
    pub(crate) fn so_far(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    /// Everything that came, which is as much as the script foresaw.
    pub(crate) fn got(self) -> Vec<Got> {
        let got = self.so_far();
        assert_eq!(got.len(), self.expected, "{got:#?}");
        drop(self.folder);
        self.task.abort();
        got
    }

    /// The first lines of everything that came.
    pub(crate) fn lines(self) -> Vec<String> {
        self.got().into_iter().map(|got| got.line).collect()
    }
}

async fn serve<S>(script: Vec<Reply>, got: Arc<Mutex<Vec<Got>>>, mut accept: impl AsyncFnMut() -> S)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut script = script.into_iter();
    loop {
        let mut stream = accept().await;
        let request = read(&mut stream).await;
        got.lock().unwrap().push(request);
        // What is beyond the script is counted, and fails the test.
        match script.next().unwrap_or(Reply::Close) {
            Reply::Raw(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
            }
            Reply::Close => {}
            Reply::Silence => while stream.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {},
        }
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Got {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
            });
            if bytes.len() >= end + 4 + length.unwrap_or(0) {
                let body = String::from_utf8(bytes[end + 4..].to_vec()).unwrap();
                let line = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
                return Got { line, head, body };
            }
        }
        let mut part = [0; 4096];
        let read = stream.read(&mut part).await.unwrap();
        assert!(read > 0, "a request broke off: {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&part[..read]);
    }
}

/// A whole answer.
pub(crate) fn answer(status: u16, kind: &str, more: &str, body: &[u8]) -> Vec<u8> {
    let kind = if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
    let length = body.len();
    let head = format!("HTTP/1.1 {status} Any\r\n{kind}{more}content-length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// A success with this result.
pub(crate) fn success(result: Value) -> Value {
    json!({
        "ok": true, "schema": "proofport.envelope/1", "request_id": ID, "operation": "crm.create",
        "message": "Done.", "retryable": false, "phase": "remote_execution", "outcome": "committed",
        "retry": "never", "retry_owner": "nobody", "repeated": false, "http_status": 201, "result": result,
        "evidence": {
            "dispatch_started": true, "request_complete": true, "response_headers_received": true,
            "response_complete": true, "source": "remote_response", "masked": 0,
            "contract": {"repeat": "none"},
        },
    })
}

/// A failure: its code, outcome, retry, owner and action. Without an id, nothing was taken on.
pub(crate) fn failure([code, outcome, retry, owner, action]: [&str; 5], id: Option<&str>) -> Value {
    json!({
        "ok": false, "schema": "proofport.envelope/1", "request_id": id, "operation": "crm.create", "code": code,
        "message": "The host's sentence.", "action": action,
        "retryable": retry == "backoff" && owner == "caller", "phase": "remote_execution",
        "outcome": outcome, "retry": retry, "retry_owner": owner, "repeated": false,
        "evidence": {
            "dispatch_started": outcome == "unknown", "request_complete": false,
            "response_headers_received": false, "response_complete": false, "masked": 0,
        },
    })
}

/// An envelope as the host sends it.
pub(crate) fn sent(mut envelope: Value) -> Reply {
    if envelope["ok"] == json!(true) {
        return Reply::Raw(answer(200, "application/json", "", envelope.to_string().as_bytes()));
    }
    let members = envelope.as_object_mut().unwrap();
    let code = members["code"].clone();
    for (name, value) in [
        ("type", json!(format!("/codes/{}", code.as_str().unwrap()))),
        ("title", json!("A title")),
        ("status", json!(424)),
        ("detail", members["message"].clone()),
    ] {
        members.insert(name.to_owned(), value);
    }
    Reply::Raw(answer(424, "application/problem+json", "", envelope.to_string().as_bytes()))
}

/// Long enough for anything that comes.
pub(crate) const LONG: Duration = Duration::from_secs(60);
