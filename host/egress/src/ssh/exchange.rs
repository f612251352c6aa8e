//! One exec on its channel, within one deadline.

use super::cause;
use super::connect::SshLoaded;
use super::drain::Drain;
use super::marker::MarkerSearch;
use super::open::Connected;
use crate::dial::micros;
use crate::guard::Guard;
use crate::http::{ContentSink, ExchangeDiagnostic, Watch, WirePoint};
use bytes::Bytes;
use proofport_core::digest::Digest;
use proofport_core::evidence::Cause;
use proofport_core::exchange::{SshExit, SshResponse};
use proofport_core::ssh::{SshEvidence, StreamSeen};
use proofport_core::time::UnixMillis;
use russh::client::Msg;
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Disconnect, Sig};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::time::Sleep;

/// The most input that is given to the channel at once, in bytes.
const PORTION: usize = 32 * 1024;

/// How long a connection may take to say goodbye. Nobody waits for it.
const FAREWELL: Duration = Duration::from_millis(500);

/// The code of standard error among extended data (RFC 4254 section 5.2).
const STDERR: u32 = 1;

/// The longest name of a signal that is passed on.
const LONGEST_SIGNAL: usize = 32;

/// Limits of one exec, and what it is looked at for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshExchangeOptions {
    /// How long the whole exec may take.
    pub deadline: Duration,
    /// The most bytes of each output stream that are kept in memory.
    pub max_output_bytes: usize,
    /// The most bytes of a standard output that are kept in memory where it can be stored instead.
    pub max_shown_bytes: usize,
    /// The most bytes of standard output that may be stored.
    pub max_content_bytes: u64,
    /// The contract's completion marker, with the reference behind it.
    pub marker: Option<String>,
    /// What a cancellation does before it closes the channel.
    pub stop_first: Option<StopFirst>,
}

/// A cancellation asks the remote process to stop (RFC 4254 section 6.9, `TERM`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopFirst {
    /// How long its end is waited for.
    pub grace: Duration,
}

/// What came of one exec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshExchange {
    /// What was seen.
    pub evidence: SshEvidence,
    /// The response, masked; only where it is whole and nothing had to be withheld.
    pub response: Option<SshResponse>,
    /// For operators only.
    pub diagnostic: ExchangeDiagnostic,
}

/// What has been seen, as it comes. It outlives the deadline.
struct Seen {
    exec_offered: bool,
    accepted: Option<bool>,
    exit: Option<SshExit>,
    exits_differ: bool,
    eof: bool,
    closed: bool,
    after_eof: bool,
    stop_asked: bool,
    stdout: Drain,
    stderr: Drain,
    /// The marker counts on either stream, whose pieces come in any order between them.
    marker: [MarkerSearch; 2],
}

/// How much of standard input went out. Written by the one who feeds, read by the one who reports.
#[derive(Default)]
struct Fed {
    bytes: AtomicU64,
    complete: AtomicBool,
}

impl SshLoaded {
    /// Sends the command and its input, takes its output, and says what was seen. Whatever happens is in
    /// the answer: this never fails, retries or waits beyond the deadline. Output is read until the
    /// server closes the channel, and so is what is too much to be kept. When `cancel` comes, the channel
    /// is closed.
    ///
    /// Standard output that does not fit in memory goes to the sink, if there is one.
    ///
    /// Dropping the future closes the connection, so run it detached from whoever asked for it.
    pub async fn exchange(
        self,
        options: &SshExchangeOptions,
        watch: Arc<dyn Watch>,
        cancel: impl Future<Output = ()> + Send,
        sink: Option<Arc<dyn ContentSink>>,
    ) -> SshExchange {
        let guard = self.guard();
        let Self { connected, mut read, write, outgoing } = self;
        let (started_at, started) = (SystemTime::now(), Instant::now());
        let sink = sink.map(|sink| (sink, options.max_content_bytes));
        let mut seen = Seen {
            exec_offered: false,
            accepted: None,
            exit: None,
            exits_differ: false,
            eof: false,
            closed: false,
            after_eof: false,
            stop_asked: false,
            stdout: Drain::new(
                sink.as_ref().map_or(options.max_output_bytes, |_| options.max_shown_bytes),
                sink,
                Arc::clone(&guard),
            ),
            stderr: Drain::new(options.max_output_bytes, None, Arc::clone(&guard)),
            marker: [(); 2].map(|()| MarkerSearch::new(options.marker.as_deref().unwrap_or_default())),
        };
        let fed = Fed::default();
        connected.wire.watch(Arc::clone(&watch));
        let talk = Talk {
            command: outgoing.command.as_str(),
            stdin: outgoing.stdin.clone(),
            stop_first: options.stop_first,
            connected: &connected,
            watch: &*watch,
        };
        let talking = talk.run(&mut read, &write, &mut seen, &fed, cancel);
        let ended = match tokio::time::timeout(options.deadline, talking).await {
            Ok(ended) => ended,
            Err(_) => Err(Cause::DeadlinePassed),
        };
        let elapsed = started.elapsed();
        let (disconnect_code, channels_refused) = {
            let told = connected.report.lock();
            (told.disconnect, told.channels_refused)
        };
        let error = connected.report.lock().error.as_ref().map(cause::words);
        part(connected, write, read);
        let diagnostic = ExchangeDiagnostic {
            cause_chain: error
                .filter(|_| ended.is_err())
                .map(|text| guard.scrub(&text))
                .into_iter()
                .collect(),
            remote_request_id: None,
            started_at: unix_millis(started_at),
            ended_at: unix_millis(started_at + elapsed),
        };
        let mut exchange = seen.report(ended, &fed, &guard, diagnostic).await;
        exchange.evidence.disconnect_code = disconnect_code;
        exchange.evidence.channels_refused = channels_refused;
        exchange.evidence.micros = micros(elapsed);
        exchange
    }
}

/// What an exec takes.
struct Talk<'a> {
    command: &'a str,
    stdin: Bytes,
    stop_first: Option<StopFirst>,
    connected: &'a Connected,
    watch: &'a dyn Watch,
}

impl Talk<'_> {
    async fn run(
        self,
        read: &mut ChannelReadHalf,
        write: &ChannelWriteHalf<Msg>,
        seen: &mut Seen,
        fed: &Fed,
        cancel: impl Future<Output = ()> + Send,
    ) -> Result<(), Cause> {
        if write.exec(true, self.command).await.is_err() {
            return Err(self.loss());
        }
        seen.exec_offered = true;
        let mut feeding = pin!(feed(write, self.stdin.clone(), fed));
        let mut cancel = pin!(cancel);
        let mut grace: Option<Pin<Box<Sleep>>> = None;
        let mut done_feeding = false;
        let mut first = true;
        loop {
            // Input follows the server's word that the command runs: one that it refuses gets none.
            let may_feed = seen.accepted == Some(true) && !done_feeding;
            tokio::select! {
                message = read.wait() => {
                    let Some(message) = message else { return Err(self.loss()) };
                    if std::mem::take(&mut first) {
                        self.watch.at(WirePoint::FirstByteIn);
                    }
                    seen.take(message).await;
                    if seen.closed {
                        self.watch.at(WirePoint::LastByteIn);
                        return Ok(());
                    }
                    if seen.accepted == Some(false) {
                        return Ok(());
                    }
                }
                () = &mut feeding, if may_feed => {
                    done_feeding = true;
                    self.watch.at(WirePoint::LastByteOut);
                }
                () = &mut cancel, if grace.is_none() => {
                    let Some(stop) = self.stop_first else { return Err(Cause::Cancelled) };
                    seen.stop_asked = true;
                    // Should it not go out, no end will be seen.
                    let _ = write.signal(Sig::TERM).await;
                    grace = Some(Box::pin(tokio::time::sleep(stop.grace)));
                }
                () = expiry(&mut grace) => return Err(Cause::Cancelled),
            }
        }
    }

    /// Why the connection was lost.
    fn loss(&self) -> Cause {
        let told = self.connected.report.lock();
        cause::of_loss(&told, self.connected.wire.seen()).unwrap_or(Cause::ConnectionClosed)
    }
}

/// The end of the grace, if one was given.
async fn expiry(grace: &mut Option<Pin<Box<Sleep>>>) {
    match grace {
        Some(sleep) => sleep.await,
        None => std::future::pending().await,
    }
}

/// Gives the input, as fast as the server's window lets it, and EOF behind it. What fails here is told by
/// the reading side, too.
async fn feed(write: &ChannelWriteHalf<Msg>, mut stdin: Bytes, fed: &Fed) {
    while !stdin.is_empty() {
        let portion = stdin.split_to(stdin.len().min(PORTION));
        let length = portion.len() as u64;
        if write.data_bytes(portion).await.is_err() {
            return;
        }
        fed.bytes.fetch_add(length, Ordering::Relaxed);
    }
    if write.eof().await.is_ok() {
        fed.complete.store(true, Ordering::Relaxed);
    }
}

/// Says goodbye and closes, behind everybody's back.
fn part(mut connected: Connected, write: ChannelWriteHalf<Msg>, read: ChannelReadHalf) {
    tokio::spawn(async move {
        // Output that nobody takes any more must not keep russh from sending this.
        drop(read);
        let farewell = async {
            let _ = write.close().await;
            let _ = connected.handle.disconnect(Disconnect::ByApplication, "", "").await;
            let _ = (&mut connected.handle).await;
        };
        let _ = tokio::time::timeout(FAREWELL, farewell).await;
        drop(connected);
    });
}

impl Seen {
    /// Takes what the server said. Of many messages there are values for clients and servers only, and
    /// more may come: what is not an answer is passed over.
    #[allow(clippy::wildcard_enum_match_arm)]
    async fn take(&mut self, message: ChannelMsg) {
        match message {
            ChannelMsg::Data { data } => {
                self.after_eof |= self.eof;
                self.marker[0].push(&data);
                self.stdout.push(&data).await;
            }
            ChannelMsg::ExtendedData { data, ext } => {
                self.after_eof |= self.eof;
                if ext == STDERR {
                    self.marker[1].push(&data);
                    self.stderr.push(&data).await;
                }
            }
            ChannelMsg::Eof => self.eof = true,
            ChannelMsg::Close => self.closed = true,
            // Only the exec request is open by now, and its answer is the first one.
            ChannelMsg::Success => self.accepted = self.accepted.or(Some(true)),
            ChannelMsg::Failure => self.accepted = self.accepted.or(Some(false)),
            ChannelMsg::ExitStatus { exit_status } => self.ended(SshExit::Status(exit_status)),
            ChannelMsg::ExitSignal { signal_name, .. } => self.ended(SshExit::Signal(name_of(&signal_name))),
            _ => {}
        }
    }

    fn ended(&mut self, exit: SshExit) {
        self.exits_differ |= self.exit.as_ref().is_some_and(|known| *known != exit);
        self.exit = self.exit.take().or(Some(exit));
    }

    async fn report(
        self,
        ended: Result<(), Cause>,
        fed: &Fed,
        guard: &Guard,
        diagnostic: ExchangeDiagnostic,
    ) -> SshExchange {
        let whole = self.eof && self.closed && !self.after_eof;
        let marker_seen = self.marker.iter().any(MarkerSearch::seen);
        // A shell that ends may leave behind what it started, which then keeps the channel open.
        let stop_confirmed = self.stop_asked.then_some(self.exit.is_some() && self.closed);
        let exit = match self.exit {
            _ if self.exits_differ => None,
            None if marker_seen && self.accepted != Some(false) => Some(SshExit::Marker),
            exit => exit,
        };
        let stdout = self.stdout.finish(whole).await;
        let stderr = self.stderr.finish(whole).await;
        let fault = stdout.fault.or(stderr.fault);
        let broken = (self.after_eof || self.exits_differ).then_some(Cause::ProtocolError);
        let stream = |bytes: u64, text: &Option<Vec<u8>>, kept: bool| StreamSeen {
            bytes,
            digest: text.as_deref().map(Digest::of_bytes),
            complete: whole && kept,
        };
        let stdout_kept = stdout.text.is_some() || stdout.stored.is_some();
        let mut evidence = SshEvidence {
            exec_offered: self.exec_offered,
            command_accepted: self.accepted,
            stdin_bytes: fed.bytes.load(Ordering::Relaxed),
            stdin_complete: fed.complete.load(Ordering::Relaxed),
            exit,
            exits_differ: self.exits_differ,
            stdout: stream(stdout.bytes, &stdout.text, stdout_kept),
            stderr: stream(stderr.bytes, &stderr.text, stderr.text.is_some()),
            eof: self.eof,
            closed: self.closed,
            marker_seen,
            cause: ended.err().or(broken).or(fault),
            disconnect_code: None,
            masked: 0,
            withheld: false,
            micros: 0,
            stop_confirmed,
            channels_refused: 0,
        };
        let (stored, hits) = stdout.stored.map_or((None, 0), |(stored, hits)| (Some(stored), hits));
        let out = guard.scan(stdout.text.unwrap_or_default());
        let err = guard.scan(stderr.text.unwrap_or_default());
        evidence.masked = hits.saturating_add(out.hits).saturating_add(err.hits);
        evidence.withheld = out.bytes.is_none() || err.bytes.is_none();
        let response = match (&evidence.exit, out.bytes, err.bytes) {
            (Some(exit), Some(stdout), Some(stderr)) if evidence.complete() => {
                Some(SshResponse { exit: exit.clone(), stdout, stderr, stored })
            }
            (Some(_) | None, _, _) => None,
        };
        SshExchange { evidence, response, diagnostic }
    }
}

/// A signal's name, without `SIG`. A server can name local ones (RFC 4254 section 6.10); what is no name
/// at all is not passed on.
fn name_of(signal: &Sig) -> String {
    let name = match signal {
        Sig::ABRT => "ABRT",
        Sig::ALRM => "ALRM",
        Sig::FPE => "FPE",
        Sig::HUP => "HUP",
        Sig::ILL => "ILL",
        Sig::INT => "INT",
        Sig::KILL => "KILL",
        Sig::PIPE => "PIPE",
        Sig::QUIT => "QUIT",
        Sig::SEGV => "SEGV",
        Sig::TERM => "TERM",
        Sig::USR1 => "USR1",
        Sig::Custom(name) => name.strip_prefix("SIG").unwrap_or(name),
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'@' | b'.' | b'-' | b'_' | b'+');
    let is_name = !name.is_empty() && name.len() <= LONGEST_SIGNAL && name.bytes().all(plain);
    if is_name { name.to_owned() } else { "OTHER".to_owned() }
}

fn unix_millis(time: SystemTime) -> UnixMillis {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
