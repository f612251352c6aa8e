//! An SSH server that does what its script says, and remembers what came. What OpenSSH never does, and what
//! it does only with accounts of the system's, is done here.

use russh::keys::key::safe_rng;
use russh::keys::{Algorithm, PrivateKey};
use russh::server::{Auth, ChannelOpenHandle, Config, Handler, Msg, Response, Session};
use russh::{Channel, ChannelId, Disconnect, MethodKind, MethodSet, Sig};
use std::borrow::Cow;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// What logs in, as a password or as the answer to a prompt.
pub const PASSWORD: &str = "correct horse battery";

/// What the server does once it is asked to run something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The request is granted.
    Success,
    /// The request is refused.
    Failure,
    /// Standard output.
    Out(&'static str),
    /// Standard error.
    Err(&'static str),
    /// On standard error, what `run_once` says when its command ended with this status.
    Finished(u8),
    /// No more output.
    Eof,
    /// The channel is closed.
    Close,
    /// The exit status.
    Status(u32),
    /// Ended by this signal.
    Signal(&'static str),
    /// SSH_MSG_DISCONNECT.
    Disconnect,
    /// The connection is gone, once everything before has gone out.
    Drop,
    /// What comes is not read any more, keepalives included.
    Silence,
}

/// Prompts of one round, each with whether what is typed is shown.
pub type Round = &'static [(&'static str, bool)];

/// How the server behaves.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    /// What it does at the first exec, at the second and so on; the last is for all after it, too.
    pub execs: &'static [&'static [Step]],
    /// How many bytes of input it takes before it says that it takes more.
    pub window: u32,
    /// How long its banner is.
    pub banner: usize,
    /// Whether a channel is opened at all.
    pub channel: bool,
    /// Whether a password logs in; if not, keyboard-interactive does.
    pub password: bool,
    /// The rounds of keyboard-interactive.
    pub rounds: &'static [Round],
}

impl Script {
    /// A server that takes password and answer, and does this at every exec.
    #[must_use]
    pub const fn new(execs: &'static [&'static [Step]]) -> Self {
        let rounds: &[Round] = &[&[("Password: ", false)]];
        Self { execs, window: 2 << 20, banner: 0, channel: true, password: true, rounds }
    }
}

/// What came.
#[derive(Clone, Debug, Default)]
pub struct Came {
    /// The commands.
    pub execs: Vec<String>,
    /// Bytes of input.
    pub input: usize,
    /// Answers to prompts.
    pub answers: Vec<String>,
    /// Attempts to log in.
    pub logins: u32,
}

/// A running server.
pub struct SshPeer {
    port: u16,
    key: String,
    came: Arc<Mutex<Came>>,
}

impl SshPeer {
    /// Starts it.
    ///
    /// # Panics
    /// When it can't listen on loopback.
    pub async fn start(script: Script) -> Self {
        let key = PrivateKey::random(&mut safe_rng(), Algorithm::Ed25519).unwrap();
        let line = key.public_key().to_openssh().unwrap();
        let config = Arc::new(Config {
            keys: vec![key],
            auth_rejection_time: Duration::ZERO,
            auth_rejection_time_initial: Some(Duration::ZERO),
            window_size: script.window,
            ..Config::default()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let came = Arc::new(Mutex::new(Came::default()));
        let peer = Self { port, key: line, came: Arc::clone(&came) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let line = Arc::new(Mutex::new(Line::default()));
                let stream = Wire { stream, line: Arc::clone(&line) };
                let actor = Actor { script, came: Arc::clone(&came), round: 0, line };
                let config = Arc::clone(&config);
                tokio::spawn(async move {
                    if let Ok(session) = russh::server::run_stream(config, stream, actor).await {
                        let _ = session.await;
                    }
                });
            }
        });
        peer
    }

    /// Where a secret for it may go.
    #[must_use]
    pub fn destination(&self) -> String {
        format!("ssh://127.0.0.1:{}", self.port)
    }

    /// An account on it.
    #[must_use]
    pub fn account(&self) -> String {
        format!("someone@127.0.0.1:{}", self.port)
    }

    /// The line of its host key.
    #[must_use]
    pub fn host_key(&self) -> &str {
        &self.key
    }

    /// What came so far.
    ///
    /// # Panics
    /// When the server did.
    #[must_use]
    pub fn came(&self) -> Came {
        self.came.lock().unwrap().clone()
    }
}

/// What becomes of a connection.
#[derive(Default)]
struct Line {
    /// It ends once everything has gone out.
    ends: bool,
    over: bool,
    silent: bool,
    reader: Option<Waker>,
}

/// A connection that can end, or hear nothing, while russh believes in it.
struct Wire {
    stream: TcpStream,
    line: Arc<Mutex<Line>>,
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let mut line = this.line.lock().unwrap();
        if line.over {
            return Poll::Ready(Ok(()));
        }
        line.reader = Some(cx.waker().clone());
        if line.silent {
            return Poll::Pending;
        }
        Pin::new(&mut this.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(cx);
        let mut line = this.line.lock().unwrap();
        if line.ends && flushed.is_ready() {
            line.over = true;
            line.reader.take().into_iter().for_each(Waker::wake);
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

struct Actor {
    script: Script,
    came: Arc<Mutex<Came>>,
    round: usize,
    line: Arc<Mutex<Line>>,
}

impl Actor {
    fn note<T>(&self, what: impl FnOnce(&mut Came) -> T) -> T {
        what(&mut self.came.lock().unwrap())
    }

    fn refused(&self) -> Auth {
        let method =
            if self.script.password { MethodKind::Password } else { MethodKind::KeyboardInteractive };
        let methods = MethodSet::from(&[method][..]);
        Auth::Reject { proceed_with_methods: Some(methods), partial_success: false }
    }
}

impl Handler for Actor {
    type Error = russh::Error;

    async fn authentication_banner(&mut self) -> Result<Option<String>, Self::Error> {
        Ok((self.script.banner > 0).then(|| "x".repeat(self.script.banner)))
    }

    async fn auth_password(&mut self, _: &str, password: &str) -> Result<Auth, Self::Error> {
        self.note(|came| came.logins += 1);
        Ok(if self.script.password && password == PASSWORD { Auth::Accept } else { self.refused() })
    }

    async fn auth_keyboard_interactive<'a>(
        &'a mut self,
        _: &str,
        _: &str,
        response: Option<Response<'a>>,
    ) -> Result<Auth, Self::Error> {
        if self.script.password {
            return Ok(self.refused());
        }
        if let Some(response) = response {
            let answers: Vec<String> =
                response.map(|answer| String::from_utf8_lossy(&answer).into_owned()).collect();
            let right = answers.iter().all(|answer| answer == PASSWORD);
            self.note(|came| came.answers.extend(answers));
            if !right {
                return Ok(self.refused());
            }
            if self.round == self.script.rounds.len() {
                return Ok(Auth::Accept);
            }
        } else {
            self.note(|came| came.logins += 1);
        }
        let prompts = self.script.rounds[self.round];
        self.round += 1;
        Ok(Auth::Partial {
            name: Cow::Borrowed(""),
            instructions: Cow::Borrowed(""),
            prompts: prompts.iter().map(|(text, echo)| (Cow::Borrowed(*text), *echo)).collect(),
        })
    }

    async fn channel_open_session(
        &mut self,
        _: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        if self.script.channel {
            reply.accept().await;
        }
        Ok(())
    }

    async fn data(&mut self, _: ChannelId, data: &[u8], _: &mut Session) -> Result<(), Self::Error> {
        self.note(|came| came.input += data.len());
        Ok(())
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        let command = String::from_utf8_lossy(command).into_owned();
        let n = self.note(|came| {
            came.execs.push(command.clone());
            came.execs.len()
        });
        let steps = self.script.execs.get(n - 1).or(self.script.execs.last()).copied().unwrap_or_default();
        for step in steps {
            match *step {
                Step::Success => session.channel_success(id)?,
                Step::Failure => session.channel_failure(id)?,
                Step::Out(text) => session.data(id, text.as_bytes())?,
                Step::Err(text) => session.extended_data(id, 1, text.as_bytes())?,
                Step::Finished(status) => {
                    let line = format!("proofport-finished:{} {status}\n", reference(&command));
                    session.extended_data(id, 1, line.into_bytes())?;
                }
                Step::Eof => session.eof(id)?,
                Step::Close => session.close(id)?,
                Step::Status(status) => session.exit_status_request(id, status)?,
                Step::Signal(name) => {
                    let signal = if name == "KILL" { Sig::KILL } else { Sig::Custom(name.to_owned()) };
                    session.exit_signal_request(id, signal, false, "", "")?;
                }
                Step::Disconnect => session.disconnect(Disconnect::ByApplication, "peer's words", "")?,
                Step::Drop => self.line.lock().unwrap().ends = true,
                Step::Silence => self.line.lock().unwrap().silent = true,
            }
        }
        Ok(())
    }
}

/// The reference that a `run_once` command runs under.
fn reference(command: &str) -> &str {
    let behind = command.rsplit_once("'run' '").map(|(_, behind)| behind);
    behind.and_then(|behind| behind.split('\'').next()).unwrap_or_default()
}
