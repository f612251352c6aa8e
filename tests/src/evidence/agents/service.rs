//! The charges' service of the agents' run: it keeps books, declines some, loses some answers, and is the
//! truth about what was done.

use crate::plain_http::{Message, read_message};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// What becomes of a charge, by its amount alone, so that a second arrival meets the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Made, and said so.
    Made,
    /// Declined.
    Declined,
    /// Made, and the answer is lost.
    Lost,
}

impl Fate {
    pub(super) const fn of(amount: u64) -> Self {
        match amount % 10 {
            0 => Self::Declined,
            1 | 2 => Self::Lost,
            _ => Self::Made,
        }
    }
}

/// The charges that were made.
#[derive(Default)]
struct Books {
    /// How often each amount was charged.
    made: HashMap<u64, u32>,
    by_reference: HashMap<String, Value>,
}

/// A service that runs until the process ends.
#[derive(Clone)]
pub(super) struct Service {
    address: SocketAddr,
    books: Arc<Mutex<Books>>,
}

impl Service {
    pub(super) fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let service = Self { address: listener.local_addr()?, books: Arc::default() };
        let serving = service.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let service = serving.clone();
                std::thread::spawn(move || service.serve(&stream));
            }
        });
        Ok(service)
    }

    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How often this amount was charged.
    pub(super) fn made(&self, amount: u64) -> u32 {
        self.books.lock().unwrap_or_else(PoisonError::into_inner).made.get(&amount).copied().unwrap_or(0)
    }

    /// Every amount that was charged, and how often.
    pub(super) fn all(&self) -> Vec<(u64, u32)> {
        let books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        books.made.iter().map(|(amount, times)| (*amount, *times)).collect()
    }

    fn serve(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Ok(Some(message)) = read_message(&mut reader) {
            let Some((status, body)) = self.answer(&message) else { return };
            let body = body.to_string();
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let mut writer = stream;
            if writer.write_all(format!("{head}{body}").as_bytes()).is_err() {
                return;
            }
        }
    }

    /// The answer; none: it is lost.
    fn answer(&self, message: &Message) -> Option<(u16, Value)> {
        let line = message.line();
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reference) = line.strip_prefix("GET /v1/charges?reference=") {
            let found: Vec<_> = books.by_reference.get(reference).cloned().into_iter().collect();
            return Some((200, json!({ "data": found })));
        }
        if line != "POST /v1/charges" {
            return Some((404, json!({})));
        }
        let asked: Value = serde_json::from_slice(&message.body).ok()?;
        let (amount, reference) = (asked["amount"].as_u64()?, asked["reference"].as_str()?.to_owned());
        let fate = Fate::of(amount);
        if fate == Fate::Declined {
            return Some((402, json!({ "error": { "code": "card_declined" } })));
        }
        *books.made.entry(amount).or_default() += 1;
        let charge = json!({
            "id": format!("ch_{amount}"), "amount": amount, "currency": asked["currency"],
            "status": "succeeded", "reference": reference,
        });
        books.by_reference.insert(reference, charge.clone());
        (fate == Fate::Made).then_some((201, charge))
    }
}
