//! `proofport mcp` as a client runs it: a process that is spoken to in lines.

use crate::program::program;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio as Streams};
use tokio::sync::mpsc;
use tokio::task::block_in_place;

/// The running process; it is killed when dropped.
pub struct Stdio {
    child: Child,
    input: Option<ChildStdin>,
    lines: mpsc::UnboundedReceiver<Value>,
}

impl Drop for Stdio {
    fn drop(&mut self) {
        // Where it has ended, there is nothing left to do.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Stdio {
    /// Starts it, joined to the socket.
    ///
    /// # Panics
    /// When it can't be started.
    #[must_use]
    pub fn start(socket: &Path) -> Self {
        Self::start_as(socket, None)
    }

    /// The same, with the token in this file.
    ///
    /// # Panics
    /// When it can't be started.
    #[must_use]
    pub fn start_as(socket: &Path, token: Option<&Path>) -> Self {
        let program = block_in_place(program);
        let mut command = Command::new(program);
        command.args(["mcp", "--socket"]).arg(socket);
        if let Some(token) = token {
            command.arg("--token-file").arg(token);
        }
        let mut child = command.stdin(Streams::piped()).stdout(Streams::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // What is no message ends it, and the test with it.
                let Ok(message) = serde_json::from_str(&line) else { return };
                send.send(message).ok();
            }
        });
        Self { child, input, lines }
    }

    /// Says a message.
    ///
    /// # Panics
    /// When it does not listen any more.
    pub fn say(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        block_in_place(|| input.write_all(format!("{message}\n").as_bytes()).and_then(|()| input.flush()))
            .unwrap();
    }

    /// The next message from it.
    ///
    /// # Panics
    /// When it ends without one.
    pub async fn hear(&mut self) -> Value {
        self.lines.recv().await.expect("it ended, or said what is no message")
    }

    /// Says a message and hears its answer; what comes before is dropped.
    ///
    /// # Panics
    /// When there is none.
    pub async fn ask(&mut self, message: &Value) -> Value {
        self.say(message);
        self.answer(&message["id"]).await
    }

    /// Hears the answer to this request.
    ///
    /// # Panics
    /// When there is none.
    pub async fn answer(&mut self, id: &Value) -> Value {
        loop {
            let heard = self.hear().await;
            if heard.get("method").is_none() && heard["id"] == *id {
                return heard;
            }
        }
    }

    /// The handshake of the older revision.
    ///
    /// # Panics
    /// When there is no answer.
    pub async fn shake_hands(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "raw", "version": "1" }
        });
        let hello = json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params });
        let answer = self.ask(&hello).await;
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer
    }

    /// Says that there is no more, and waits for its end. Returns what it still said, and its status.
    ///
    /// # Panics
    /// When it can't be waited for.
    pub async fn end(mut self) -> (Vec<Value>, Option<i32>) {
        drop(self.input.take());
        let mut said = Vec::new();
        while let Some(message) = self.lines.recv().await {
            said.push(message);
        }
        (said, block_in_place(|| self.child.wait()).unwrap().code())
    }
}
