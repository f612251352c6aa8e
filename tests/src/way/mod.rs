//! A way to a real server on which requests and answers meet with accidents: they are lost, they are late,
//! they arrive twice. It understands whole messages of HTTP/1.1 and keeps a log of what it did with each.

mod keys;
mod log;

pub use keys::Keys;
pub use log::{Log, Passed};

use crate::evidence::Seeded;
use crate::plain_http::{Message, exchange, read_message};
use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What happens to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Accident {
    /// Nothing.
    None,
    /// It is read, and nothing of it reaches the server.
    RequestLost,
    /// The server carries it out, and nothing of the answer comes back.
    AnswerLost,
    /// It reaches the server when nobody waits for its answer any more.
    RequestLate,
    /// The server carries it out at once, and its answer comes when nobody waits for it any more.
    AnswerLate,
    /// It reaches the server twice, one after the other; the answer to the second comes back.
    Repeated,
    /// It reaches the server twice at the same time; the answer to the first comes back.
    Doubled,
}

impl Accident {
    /// All that happen on purpose.
    pub const ALL: [Self; 6] = [
        Self::RequestLost,
        Self::AnswerLost,
        Self::RequestLate,
        Self::AnswerLate,
        Self::Repeated,
        Self::Doubled,
    ];

    /// Its word in counts.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::RequestLost => "request lost",
            Self::AnswerLost => "answer lost",
            Self::RequestLate => "request late",
            Self::AnswerLate => "answer late",
            Self::Repeated => "repeated",
            Self::Doubled => "doubled",
        }
    }
}

/// How a way treats what passes.
#[derive(Clone, Debug)]
pub struct Habits {
    /// Where its randomness begins.
    pub seed: u64,
    /// How many of a hundred effects meet with an accident, and of four hundred queries: one question may
    /// take many of them.
    pub percent: usize,
    /// How late is late: longer than the host waits.
    pub late: Duration,
    /// Whether an effect may reach the server twice: only where its contract makes that harmless.
    pub repeats: bool,
}

impl Habits {
    /// Nothing happens unless it is [set](Way::set).
    #[must_use]
    pub const fn smooth(late: Duration) -> Self {
        Self { seed: 0, percent: 0, late, repeats: true }
    }
}

/// The way; no connection is taken any more when it is dropped.
pub struct Way {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    server: SocketAddr,
    habits: Habits,
    random: Mutex<Seeded>,
    /// What happens to every effect, in place of what chance says.
    set: Mutex<Option<Accident>>,
    smooth: AtomicBool,
    /// Stands before the server and keeps its answers by key.
    keys: Option<Keys>,
    log: Log,
    ended: AtomicBool,
}

impl Way {
    /// A way on a free port of loopback. With `keys` the server seems to honour idempotency keys.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn to(server: SocketAddr, habits: Habits, keys: Option<Keys>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            server,
            random: Mutex::new(Seeded::new(habits.seed)),
            habits,
            set: Mutex::new(None),
            smooth: AtomicBool::new(false),
            keys,
            log: Log::default(),
            ended: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.ended.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&accepting);
                // A broken connection ends here and is the client's to notice.
                thread::spawn(move || shared.serve(stream).ok());
            }
        });
        Ok(Self { address, shared })
    }

    /// Its origin, as a connection spells it.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on this happens to every effect, and nothing to queries; none: what chance says.
    ///
    /// # Panics
    /// When a thread of it panicked.
    pub fn set(&self, accident: Option<Accident>) {
        *self.shared.set.lock().unwrap() = accident;
    }

    /// From now on nothing happens by chance any more.
    pub fn mend(&self) {
        self.shared.smooth.store(true, Ordering::SeqCst);
    }

    /// What passed.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.shared.log
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // Wakes the accepting thread; where this fails, the process is ending anyway.
        TcpStream::connect(self.address).ok();
    }
}

impl Shared {
    fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        let mut requests = BufReader::new(client.try_clone()?);
        while let Some(request) = read_message(&mut requests)? {
            let Some(answer) = self.carry(&request)? else { return Ok(()) };
            client.write_all(&answer.bytes())?;
        }
        Ok(())
    }

    /// Carries a request to the server; the answer that comes back, if one does.
    fn carry(&self, request: &Message) -> io::Result<Option<Message>> {
        let line = request.line();
        let accident = self.accident(is_query(&line));
        let passing = self.log.begin(line, accident);
        match accident {
            Accident::None => passing.arrive(|| self.ask(request)).map(Some),
            Accident::RequestLost => Ok(None),
            Accident::AnswerLost => passing.arrive(|| self.ask(request)).map(|_| None),
            Accident::RequestLate => {
                thread::sleep(self.habits.late);
                passing.arrive(|| self.ask(request)).map(Some)
            }
            Accident::AnswerLate => {
                let answer = passing.arrive(|| self.ask(request))?;
                thread::sleep(self.habits.late);
                Ok(Some(answer))
            }
            Accident::Repeated => {
                passing.arrive(|| self.ask(request))?;
                passing.arrive(|| self.ask(request)).map(Some)
            }
            Accident::Doubled => thread::scope(|threads| {
                let other = threads.spawn(|| passing.arrive(|| self.ask(request)));
                let answer = passing.arrive(|| self.ask(request));
                // What comes of the other one shows at the server.
                drop(other.join());
                answer.map(Some)
            }),
        }
    }

    fn ask(&self, request: &Message) -> io::Result<Message> {
        match &self.keys {
            Some(keys) => keys.answer(request, || exchange(self.server, &request.bytes())),
            None => exchange(self.server, &request.bytes()),
        }
    }

    fn accident(&self, query: bool) -> Accident {
        if let Some(accident) = *self.set.lock().unwrap() {
            return if query { Accident::None } else { accident };
        }
        let mut random = self.random.lock().unwrap();
        let of = if query { 400 } else { 100 };
        if self.smooth.load(Ordering::SeqCst) || random.below(of) >= self.habits.percent {
            return Accident::None;
        }
        let chosen = Accident::ALL[random.below(Accident::ALL.len())];
        let twice = matches!(chosen, Accident::Repeated | Accident::Doubled);
        if twice && (query || !self.habits.repeats) {
            // Nothing is repeated here, so that it is lost.
            Accident::AnswerLost
        } else if twice && self.keys.is_none() {
            // Two at once are for the layer of keys; of other servers nobody knows whether they can.
            Accident::Repeated
        } else {
            chosen
        }
    }
}

fn is_query(line: &str) -> bool {
    line.starts_with("GET ") || line.starts_with("HEAD ")
}
