//! An SSH server that does what it is told, and remembers what came.

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

/// What the server does once it is asked to run something.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Success,
    Failure,
    Out(&'static str),
    Err(&'static str),
    Eof,
    Close,
    Status(u32),
    Signal(&'static str),
    /// SSH_MSG_DISCONNECT.
    Disconnect,
    /// The connection is gone.
    Drop,
    /// Nothing is read or written any more, keepalives included.
    Blackhole,
    /// Channels of every kind that a server may open.
    OpenChannels,
}

/// How the server behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script {
    pub(crate) steps: &'static [Step],
    pub(crate) window: u32,
    pub(crate) banner: usize,
    /// Whether a channel is opened at all.
    pub(crate) channel: bool,
    /// The rounds of prompts, each with whether it echoes, of keyboard-interactive.
    pub(crate) prompts: &'static [&'static [(&'static str, bool)]],
}

impl Script {
    pub(crate) const fn new(steps: &'static [Step]) -> Self {
        Self { steps, window: 2 << 20, banner: 0, channel: true, prompts: &[&[("Password: ", false)]] }
    }
}

/// What came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Came {
    pub(crate) execs: Vec<Vec<u8>>,
    pub(crate) input: usize,
    pub(crate) answers: Vec<String>,
    pub(crate) logins: u32,
    pub(crate) signals: Vec<String>,
    /// Channels of the server's own that were opened.
    pub(crate) opened: u32,
}

#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) port: u16,
    pub(crate) key: String,
    came: Arc<Mutex<Came>>,
    lines: Arc<Mutex<Vec<Arc<Mutex<Line>>>>>,
}

pub(crate) const PASSWORD: &str = "correct horse battery";

impl Peer {
    pub(crate) async fn start(script: Script) -> Self {
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
        let lines = Arc::new(Mutex::new(Vec::new()));
        let peer = Self { port, key: line, came: Arc::clone(&came), lines: Arc::clone(&lines) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let line = Arc::new(Mutex::new(Line::default()));
                lines.lock().unwrap().push(Arc::clone(&line));
                let stream = Hanging { stream, line: Arc::clone(&line) };
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

    /// Ends every connection.
    pub(crate) fn hang_up(&self) {
        for line in self.lines.lock().unwrap().iter() {
            line.lock().unwrap().end();
        }
    }

    pub(crate) fn came(&self) -> Came {
        self.came.lock().unwrap().clone()
    }
}

struct Actor {
    script: Script,
    came: Arc<Mutex<Came>>,
    round: usize,
    line: Arc<Mutex<Line>>,
}

/// A stream that ends once everything that was said before has gone out.
struct Hanging {
    stream: TcpStream,
    line: Arc<Mutex<Line>>,
}

#[derive(Default)]
struct Line {
    hang_up: bool,
    over: bool,
    reader: Option<Waker>,
}

impl Line {
    fn end(&mut self) {
        self.over = true;
        self.reader.take().into_iter().for_each(Waker::wake);
    }
}

impl AsyncRead for Hanging {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let mut line = this.line.lock().unwrap();
        if line.over {
            return Poll::Ready(Ok(()));
        }
        line.reader = Some(cx.waker().clone());
        Pin::new(&mut this.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Hanging {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(cx);
        let mut line = this.line.lock().unwrap();
        if line.hang_up && flushed.is_ready() {
            line.end();
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

impl Actor {
    fn note(&self, what: impl FnOnce(&mut Came)) {
        what(&mut self.came.lock().unwrap());
    }
}

fn refused() -> Auth {
    let methods = MethodSet::from(&[MethodKind::Password, MethodKind::KeyboardInteractive][..]);
    Auth::Reject { proceed_with_methods: Some(methods), partial_success: false }
}

impl Handler for Actor {
    type Error = russh::Error;

    async fn authentication_banner(&mut self) -> Result<Option<String>, Self::Error> {
        Ok((self.script.banner > 0).then(|| "x".repeat(self.script.banner)))
    }

    async fn auth_password(&mut self, _: &str, password: &str) -> Result<Auth, Self::Error> {
        self.note(|came| came.logins += 1);
        Ok(if password == PASSWORD { Auth::Accept } else { refused() })
    }

    async fn auth_keyboard_interactive<'a>(
        &'a mut self,
        _: &str,
        _: &str,
        response: Option<Response<'a>>,
    ) -> Result<Auth, Self::Error> {
        if let Some(response) = response {
            let answers: Vec<String> =
                response.map(|answer| String::from_utf8(answer.to_vec()).unwrap()).collect();
            let right = answers.iter().all(|answer| answer == PASSWORD);
            self.note(|came| came.answers.extend(answers));
            if !right {
                return Ok(refused());
            }
            if self.round == self.script.prompts.len() {
                return Ok(Auth::Accept);
            }
        } else {
            self.note(|came| came.logins += 1);
        }
        let prompts = self.script.prompts[self.round];
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

    async fn channel_open_confirmation(
        &mut self,
        _: ChannelId,
        _: u32,
        _: u32,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        self.note(|came| came.opened += 1);
        Ok(())
    }

    async fn data(&mut self, _: ChannelId, data: &[u8], _: &mut Session) -> Result<(), Self::Error> {
        self.note(|came| came.input += data.len());
        Ok(())
    }

    async fn signal(&mut self, id: ChannelId, signal: Sig, session: &mut Session) -> Result<(), Self::Error> {
        self.note(|came| came.signals.push(format!("{signal:?}")));
        session.exit_signal_request(id, signal, false, "", "")?;
        session.eof(id)?;
        session.close(id)
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        self.note(|came| came.execs.push(command.to_vec()));
        for step in self.script.steps {
            match *step {
                Step::Success => session.channel_success(id)?,
                Step::Failure => session.channel_failure(id)?,
                Step::Out(text) => session.data(id, text.as_bytes())?,
                Step::Err(text) => session.extended_data(id, 1, text.as_bytes())?,
                Step::Eof => session.eof(id)?,
                Step::Close => session.close(id)?,
                Step::Status(status) => session.exit_status_request(id, status)?,
                Step::Signal(name) => {
                    let signal = if name == "KILL" { Sig::KILL } else { Sig::Custom(name.to_owned()) };
                    session.exit_signal_request(id, signal, false, "", "")?;
                }
                Step::Disconnect => session.disconnect(Disconnect::ByApplication, "peer's words", "")?,
                Step::Drop => self.line.lock().unwrap().hang_up = true,
                Step::Blackhole => std::future::pending::<()>().await,
                Step::OpenChannels => {
                    session.channel_open_session()?;
                    session.channel_open_agent()?;
                    session.channel_open_x11("127.0.0.1", 6000)?;
                    session.channel_open_forwarded_tcpip("127.0.0.1", 22, "127.0.0.1", 23)?;
                    session.channel_open_forwarded_streamlocal("/tmp/socket")?;
                    session.channel_open_direct_tcpip("127.0.0.1", 22, "127.0.0.1", 23)?;
                }
            }
        }
        Ok(())
    }
}
