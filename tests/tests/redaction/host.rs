//! A host as people run it: the program, serving a home, with everything that it says kept; agents at its
//! doors, and operators beside it.

use proofport_tests::mcp::{Raw, Reply, Revision};
use proofport_tests::program::program;
use proofport_tests::rig::{PASSPHRASE, Rig};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// What the host serves at.
pub(crate) const SERVED: &str = "[serve]\nhttp = \"127.0.0.1:0\"\n";

/// Longer than any answer here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program's file, built once.
fn file() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(program)
}

/// What one answer was, to the byte.
pub(crate) struct Answer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    fn of(bytes: Vec<u8>) -> Self {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let status = head.get(9..12).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {head}"));
        let body = serde_json::from_str(body).unwrap_or(Value::Null);
        Self { status, body, bytes }
    }

    /// What a tool's call came to: the frames to the byte, and the envelope in the last one.
    fn of_tool(bytes: Vec<u8>) -> Self {
        let reply = Reply::parse(&bytes).unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&bytes)));
        let result = reply.messages.last().and_then(|last| last.get("result"));
        let body = result.and_then(|result| result.get("structuredContent")).cloned().unwrap_or_default();
        Self { status: reply.status, body, bytes }
    }

    /// The invocation that it is about.
    #[track_caller]
    pub(crate) fn id(&self) -> String {
        self.body["request_id"].as_str().unwrap_or_else(|| panic!("no id in {}", self.body)).to_owned()
    }
}

/// Over what an agent asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    Http,
    Socket,
    /// The tool of the same name, with this revision of the protocol.
    Mcp(Revision),
}

impl Door {
    /// Every one that takes calls.
    pub(crate) const ALL: [Self; 4] =
        [Self::Http, Self::Socket, Self::Mcp(Revision::Old), Self::Mcp(Revision::New)];
}

/// A home in a folder, and what operators need.
pub(crate) struct Home {
    rig: Rig,
    passphrase: PathBuf,
}

impl Home {
    pub(crate) fn new(rig: Rig) -> Self {
        let passphrase = rig.dir.path().join("passphrase");
        std::fs::write(&passphrase, format!("{PASSPHRASE}\n")).unwrap();
        Self { rig, passphrase }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.rig.home()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(file());
        command.env_clear().env("PROOFPORT_HOME", self.path()).env("PROOFPORT_LOG", "trace");
        command.args(args).arg("--passphrase-file").arg(&self.passphrase);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// A process that does not outlive a test that fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may be over already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A host that serves.
pub(crate) struct Host {
    pub(crate) home: Home,
    child: Running,
    http: SocketAddr,
    socket: PathBuf,
    token: String,
    /// What it writes to its two streams, until it ends.
    said: [JoinHandle<Vec<u8>>; 2],
    /// What operators' commands wrote.
    told: Vec<u8>,
}

impl Host {
    /// Starts it as a process that may leave core files of any size, if it lets itself.
    pub(crate) fn start(home: Home) -> Self {
        let serve = home.command(&["serve", "--json"]);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "ulimit -S -c \"$(ulimit -H -c)\" && exec \"$@\"", "sh"]);
        command.arg(serve.get_program()).args(serve.get_args()).env_clear();
        command.envs(serve.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Running(command.spawn().unwrap());
        let mut out = BufReader::new(child.0.stdout.take().unwrap());
        let err = keep(child.0.stderr.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let Ok(ready) = serde_json::from_str::<Value>(&line) else {
            child.0.wait().unwrap();
            panic!("it does not serve: {}", String::from_utf8_lossy(&err.join().unwrap()));
        };
        let http = ready["http"].as_str().unwrap().strip_prefix("http://").unwrap().parse().unwrap();
        let socket = PathBuf::from(ready["agent_socket"].as_str().unwrap());
        let said = [keep(out), err];
        let mut host = Self { home, child, http, socket, token: String::new(), said, told: Vec::new() };
        let minted = host.operator(&["session", "token", "mailer", "--json"], &[0]);
        host.token = minted["token"].as_str().unwrap().to_owned();
        host
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.0.id()
    }

    /// Sends these bytes and reads until the host closes.
    pub(crate) fn raw(&self, door: Door, request: &[u8]) -> Answer {
        let bytes = self.bytes(door, request);
        match door {
            Door::Http | Door::Socket => Answer::of(bytes),
            Door::Mcp(_) => Answer::of_tool(bytes),
        }
    }

    fn bytes(&self, door: Door, request: &[u8]) -> Vec<u8> {
        fn exchange(mut stream: impl Read + Write, request: &[u8]) -> Vec<u8> {
            stream.write_all(request).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            answer
        }
        match door {
            Door::Http | Door::Mcp(_) => {
                let stream = TcpStream::connect(self.http).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                exchange(stream, request)
            }
            Door::Socket => {
                let stream = UnixStream::connect(&self.socket).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                exchange(stream, request)
            }
        }
    }

    /// A request of the agent's, with its token.
    pub(crate) fn ask(&self, door: Door, line: &str, body: &str) -> Answer {
        self.ask_with(door, line, &format!("authorization: Bearer {}\r\n", self.token), body)
    }

    /// A request with these header fields, each with its CRLF.
    pub(crate) fn ask_with(&self, door: Door, line: &str, fields: &str, body: &str) -> Answer {
        let head = format!(
            "{line} HTTP/1.1\r\nhost: localhost\r\n{fields}connection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.raw(door, &[head.as_bytes(), body.as_bytes()].concat())
    }

    /// A call of an operation with this input, as an intent of its own.
    pub(crate) fn call(&self, door: Door, operation: &str, input: &str) -> Answer {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        let n = CALLS.fetch_add(1, Ordering::Relaxed);
        if let Door::Mcp(revision) = door {
            let mut arguments: Value = serde_json::from_str(input).unwrap();
            arguments["call_key"] = json!(format!("call-{n}"));
            let params = json!({ "name": operation.replacen('.', "__", 1), "arguments": arguments });
            return self.frame(revision, "tools/call", params);
        }
        let body = format!(r#"{{"operation":"{operation}","input":{input},"call_key":"call-{n}"}}"#);
        self.ask(door, "POST /v1/call", &body)
    }

    /// What a request of this method gets from the endpoint of MCP.
    pub(crate) fn frame(&self, revision: Revision, method: &str, params: Value) -> Answer {
        let client = Raw::new(self.http, revision).as_whom(&self.token);
        let (_, message) = client.message(method, params);
        self.raw(Door::Mcp(revision), &client.bytes(&message))
    }

    /// What anybody can read of its counters.
    pub(crate) fn metrics(&self) -> Vec<u8> {
        let answer = self.ask_with(Door::Http, "GET /metrics", "", "");
        assert_eq!(answer.status, 200);
        assert!(answer.bytes.len() > 500, "something is counted");
        answer.bytes
    }

    /// An operator's command, which ends with one of these statuses; the JSON that it prints.
    #[track_caller]
    pub(crate) fn operator(&mut self, args: &[&str], statuses: &[i32]) -> Value {
        self.given(args, "", statuses)
    }

    /// The same with this on standard input.
    #[track_caller]
    pub(crate) fn given(&mut self, args: &[&str], input: &str, statuses: &[i32]) -> Value {
        let mut child = self.home.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // A command that reads nothing closes its end.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let status = output.status.code().unwrap_or(-1);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(statuses.contains(&status), "{args:?}: {status}\n{text}\n{err}");
        self.told.extend([output.stdout, output.stderr].concat());
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Ends it in order; everything that it and its operators' commands ever wrote.
    pub(crate) fn stop(self) -> (Home, Vec<u8>) {
        let (home, status, said) = self.end(rustix::process::Signal::TERM);
        assert!(status.success(), "{status}: {}", String::from_utf8_lossy(&said));
        (home, said)
    }

    /// Ends it by this signal.
    pub(crate) fn end(mut self, signal: rustix::process::Signal) -> (Home, ExitStatus, Vec<u8>) {
        let pid = rustix::process::Pid::from_child(&self.child.0);
        rustix::process::kill_process(pid, signal).unwrap();
        let status = self.child.0.wait().unwrap();
        let mut said = self.told;
        said.extend(self.said.into_iter().flat_map(|stream| stream.join().unwrap()));
        (self.home, status, said)
    }
}

fn keep(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all
    })
}
