//! Somebody else's server that is a Python program, from the environment that `make setup` makes.

use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long it may take to start, in seconds.
const START_SECONDS: u64 = 60;

/// How a server is run.
pub struct Program {
    /// What it is called, for people.
    pub name: &'static str,
    /// The program's text. It listens on a free port of the loopback addresses, prints where once it
    /// does, and ends when its standard input does, so that it never outlives the tests.
    pub text: &'static str,
    /// Its arguments.
    pub arguments: &'static [&'static str],
    /// What stands before the port in the line that says where it listens.
    pub before_port: &'static str,
}

/// The running server; it ends when dropped.
pub struct PythonServer {
    child: Child,
    port: u16,
}

/// Why there is no server.
#[derive(Debug)]
pub enum StartError {
    /// The Python environment is missing.
    NotSetUp(&'static str, PathBuf),
    /// It ended or said nothing; what it wrote to standard error.
    Failed(&'static str, String),
    /// Something failed on our side.
    Io(io::Error),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotSetUp(name, python) => {
                write!(f, "{name} is not set up ({} is missing): run make setup", python.display())
            }
            Self::Failed(name, said) => write!(f, "{name} did not start: {said}"),
            Self::Io(error) => write!(f, "a Python program could not be run: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl PythonServer {
    /// Runs it until it listens.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(program: &Program) -> Result<Self, StartError> {
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/bin/python");
        if !python.exists() {
            return Err(StartError::NotSetUp(program.name, python));
        }
        let mut said = tempfile::tempfile()?;
        let mut child = Command::new(python)
            .args(["-c", program.text])
            .args(program.arguments)
            .env("PYTHONUNBUFFERED", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(said.try_clone()?)
            .spawn()?;
        let port = child.stdout.take().and_then(|stdout| announced_port(stdout, program.before_port));
        // From here on dropping it ends the process.
        let server = Self { child, port: port.unwrap_or_default() };
        if port.is_none() {
            drop(server);
            return Err(StartError::Failed(program.name, read_all(&mut said)?));
        }
        Ok(server)
    }

    /// Its port on the loopback addresses.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Its origin, as a connection spells it.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Stops it for good: its port refuses connections afterwards.
    ///
    /// # Errors
    /// When it can't be killed.
    pub fn stop(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Suspends it: the system still accepts connections for it, and nothing reads them.
    ///
    /// # Errors
    /// When it has ended.
    pub fn freeze(&self) -> io::Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// When it has ended.
    pub fn thaw(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        let id = i32::try_from(self.child.id()).map_err(io::Error::other)?;
        let id = Pid::from_raw(id).ok_or(io::ErrorKind::NotFound)?;
        kill_process(id, signal).map_err(io::Error::from)
    }
}

impl Drop for PythonServer {
    fn drop(&mut self) {
        // Where it has already ended, there is nothing left to do.
        self.stop().ok();
    }
}

/// Waits for the line that says where it listens, which it prints once it does.
fn announced_port(stdout: impl Read + Send + 'static, before: &'static str) -> Option<u16> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        // Read to the end, so that it never waits for a reader.
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let port = line.split(before).nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
            if let Some(port) = port {
                send.send(port).ok();
            }
        }
    });
    receive.recv_timeout(Duration::from_secs(START_SECONDS)).ok()
}

fn read_all(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}
