//! A payment service that charges what it is told to charge, keeps books of it, and misbehaves on
//! demand. It speaks the interface that `examples/charges` describes and deduplicates nothing.
//!
//! Its books are the demo's measure: they are written by the service alone, when it charges, and know
//! nothing of what the host claims.

use super::http::{self, Request};
use proofport_core::secret::Secret;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long a peer may stay silent in the middle of a request before its connection is given up.
const SILENCE: Duration = Duration::from_secs(10);

/// What the service does when it is asked to charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// It charges and says so.
    Honest,
    /// It declines the card and says so.
    Declines,
    /// It charges, and closes the connection without a word.
    LosesTheAnswer,
    /// It charges, and says nothing until it is [let go](PaymentService::let_go); then it closes the
    /// connection without a word.
    HoldsTheAnswer,
}

/// A charge that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Charge {
    pub(super) id: String,
    pub(super) amount: u64,
    pub(super) currency: String,
    pub(super) status: String,
    pub(super) reference: String,
}

/// What the service knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Books {
    /// Every charge, in order.
    pub(super) charges: Vec<Charge>,
    /// Every request that arrived, in order.
    pub(super) visits: Vec<Visit>,
}

/// A request that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Visit {
    /// Its method and its path without query.
    pub(super) request: String,
    /// What the service did about it.
    pub(super) did: String,
}

/// The running service; it ends when dropped.
pub(super) struct PaymentService {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

struct Shared {
    key: Secret,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    manner: Manner,
    books: Books,
    /// A charge was made whose answer is being held.
    holding: bool,
    ending: bool,
}

/// What `POST /v1/charges` takes.
#[derive(Deserialize)]
struct Wish {
    amount: u64,
    currency: String,
    reference: String,
}

impl PaymentService {
    /// Starts it on a free port of this machine. Requests have to carry this key.
    ///
    /// # Errors
    /// When there is no loopback interface to listen on.
    pub(super) fn start(key: Secret) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let state = State { manner: Manner::Honest, books: Books::default(), holding: false, ending: false };
        let shared = Arc::new(Shared { key, state: Mutex::new(state), changed: Condvar::new() });
        let listening = Arc::clone(&shared);
        let listener = thread::Builder::new().spawn(move || listening.listen(&listener))?;
        Ok(Self { address, shared, listener: Some(listener) })
    }

    /// Where it listens, as an origin.
    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How it behaves from now on.
    pub(super) fn behave(&self, manner: Manner) {
        self.shared.state().manner = manner;
    }

    /// Its books as they are now.
    pub(super) fn books(&self) -> Books {
        self.shared.state().books.clone()
    }

    /// Waits until it has charged and holds the answer. False: that didn't happen in this time.
    pub(super) fn wait_until_holding(&self, at_most: Duration) -> bool {
        let waiting = self.shared.changed.wait_timeout_while(self.shared.state(), at_most, |s| !s.holding);
        waiting.unwrap_or_else(PoisonError::into_inner).0.holding
    }

    /// Closes the connections whose answer is held.
    pub(super) fn let_go(&self) {
        self.shared.state().holding = false;
        self.shared.changed.notify_all();
    }
}

impl Drop for PaymentService {
    fn drop(&mut self) {
        self.shared.state().ending = true;
        self.let_go();
        // A connection of our own is what wakes the listener.
        drop(TcpStream::connect(self.address));
        if let Some(listener) = self.listener.take() {
            // What it could say is of no use here.
            let _ = listener.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(self: Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.state().ending {
                return;
            }
            let Ok(stream) = stream else { continue };
            let shared = Arc::clone(&self);
            // Without a thread the connection closes, which callers have to bear anyway.
            let _ = thread::Builder::new().spawn(move || shared.serve(&stream));
        }
    }

    /// Serves one connection. What breaks here, breaks for the peer too: it sees the connection close.
    fn serve(&self, stream: &TcpStream) {
        if stream.set_read_timeout(Some(SILENCE)).is_err() {
            return;
        }
        if let Ok(Some(request)) = http::read(stream)
            && let Some((status, body)) = self.react(&request)
        {
            let _ = http::answer(stream, status, &body);
        }
    }

    /// The answer; none: there will be none.
    fn react(&self, request: &Request) -> Option<(u16, Value)> {
        let mut state = self.state();
        let (path, query) = request.target.split_once('?').unwrap_or((request.target.as_str(), ""));
        let knows_key = request.bearer.as_deref().map(str::as_bytes) == Some(self.key.expose());
        let (did, answer) = match (request.method.as_str(), path, query) {
            _ if !knows_key => refused(401, "invalid_key"),
            ("POST", "/v1/charges", "") => match serde_json::from_slice(&request.body) {
                Ok(wish) => state.charge(wish),
                Err(_) => refused(400, "invalid_request"),
            },
            ("GET", "/v1/charges", query) => state.books.search(query.strip_prefix("reference=")),
            ("GET", path, "") => state.books.look_up(path.strip_prefix("/v1/charges/")),
            _ => refused(404, "not_found"),
        };
        let held = answer.is_none() && state.manner == Manner::HoldsTheAnswer;
        state.books.visits.push(Visit { request: format!("{} {path}", request.method), did });
        if held {
            state.holding = true;
            self.changed.notify_all();
            let waiting = self.changed.wait_while(state, |state| state.holding && !state.ending);
            drop(waiting.unwrap_or_else(PoisonError::into_inner));
        }
        answer
    }
}

/// What was done about a request, and the answer if there is one.
type Reaction = (String, Option<(u16, Value)>);

impl State {
    fn charge(&mut self, wish: Wish) -> Reaction {
        if self.manner == Manner::Declines {
            return refused(402, "card_declined");
        }
        let charge = Charge {
            id: format!("ch_{}", self.books.charges.len() + 1),
            amount: wish.amount,
            currency: wish.currency,
            status: "succeeded".to_owned(),
            reference: wish.reference,
        };
        let (id, told) = (charge.id.clone(), json!(charge));
        self.books.charges.push(charge);
        match self.manner {
            Manner::Honest | Manner::Declines => (format!("charged {id}, answered 201"), Some((201, told))),
            Manner::LosesTheAnswer => (format!("charged {id}, closed the connection without a word"), None),
            Manner::HoldsTheAnswer => (format!("charged {id}, held the answer back"), None),
        }
    }
}

impl Books {
    /// How many requests to charge arrived.
    pub(super) fn asked_to_charge(&self) -> usize {
        self.visits.iter().filter(|visit| visit.request.starts_with("POST")).count()
    }

    fn search(&self, wanted: Option<&str>) -> Reaction {
        let found: Vec<&Charge> =
            self.charges.iter().filter(|charge| wanted.is_none_or(|w| charge.reference == w)).collect();
        let names: Vec<&str> = found.iter().map(|charge| charge.id.as_str()).collect();
        let found_names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        (format!("searched, found {found_names}, answered 200"), Some((200, json!({ "data": found }))))
    }

    fn look_up(&self, id: Option<&str>) -> Reaction {
        match self.charges.iter().find(|charge| Some(charge.id.as_str()) == id) {
            Some(charge) => (format!("looked up {}, answered 200", charge.id), Some((200, json!(charge)))),
            None => refused(404, "not_found"),
        }
    }
}

fn refused(status: u16, code: &str) -> Reaction {
    (format!("refused with {status} {code}"), Some((status, json!({ "error": { "code": code } }))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    fn started() -> PaymentService {
        PaymentService::start(Secret::new(b"key-of-the-demo".to_vec())).unwrap()
    }

    fn send(service: &PaymentService, request_line: &str, key: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(service.address).unwrap();
        let length = body.len();
        let head = format!("{request_line} HTTP/1.1\r\nhost: x\r\nAuthorization: Bearer {key}\r\n");
        stream.write_all(format!("{head}Content-Length: {length}\r\n\r\n{body}").as_bytes()).unwrap();
        stream
    }

    /// The status and the body; status 0: the connection closed without an answer.
    fn read(mut stream: TcpStream) -> (u16, String) {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).map_or(0, |status| status.parse().unwrap());
        (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }

    const KEY: &str = "key-of-the-demo";
    const CREATE: &str = "POST /v1/charges";
    const BODY: &str = r#"{"amount":1000,"currency":"eur","reference":"pp1"}"#;

    #[test]
    fn each_request_has_its_answer() {
        let service = started();
        let check = |request_line: &str, key: &str, body: &str, status: u16, part: &str| {
            let (got, text) = read(send(&service, request_line, key, body));
            assert_eq!(got, status, "{request_line}: {text}");
            assert!(text.contains(part), "{request_line}: {text}");
        };
        check(CREATE, "another key", BODY, 401, "invalid_key");
        check(CREATE, KEY, "{}", 400, "invalid_request");
        check(CREATE, KEY, BODY, 201, r#""id":"ch_1""#);
        check("GET /v1/charges/ch_1", KEY, "", 200, r#""reference":"pp1""#);
        check("GET /v1/charges/ch_2", KEY, "", 404, "not_found");
        check("GET /v1/charges?reference=pp1", KEY, "", 200, r#""id":"ch_1""#);
        check("GET /v1/charges?reference=pp2", KEY, "", 200, r#"{"data":[]}"#);
        check("GET /", KEY, "", 404, "not_found");
        let books = service.books();
        assert_eq!((books.charges.len(), books.asked_to_charge(), books.visits.len()), (1, 3, 8));
    }

    #[test]
    fn each_manner_leaves_its_books() {
        let service = started();
        let check = |manner: Manner, status: u16, charges: usize| {
            service.behave(manner);
            assert_eq!(read(send(&service, CREATE, KEY, BODY)).0, status, "{manner:?}");
            assert_eq!(service.books().charges.len(), charges, "{manner:?}");
        };
        check(Manner::Honest, 201, 1);
        check(Manner::Declines, 402, 1);
        check(Manner::LosesTheAnswer, 0, 2);
        // It deduplicates nothing: the same reference again is another charge.
        check(Manner::Honest, 201, 3);
    }

    #[test]
    fn a_held_answer_is_held_until_let_go() {
        let service = started();
        assert!(!service.wait_until_holding(Duration::ZERO));
        service.behave(Manner::HoldsTheAnswer);
        let held = send(&service, CREATE, KEY, BODY);
        assert!(service.wait_until_holding(SILENCE));
        assert_eq!(service.books().charges.len(), 1);
        held.set_nonblocking(true).unwrap();
        let peeked = held.peek(&mut [0]).unwrap_err();
        assert_eq!(peeked.kind(), io::ErrorKind::WouldBlock, "neither an answer nor an end");
        held.set_nonblocking(false).unwrap();
        service.let_go();
        assert_eq!(read(held).0, 0);
    }
}
