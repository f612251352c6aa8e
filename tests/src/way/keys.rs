//! Idempotency keys as Stripe documents them, before a server that ignores them:
//!
//! - Of the first request with a key, status and body are kept, whether it succeeded or failed, and are the
//!   answer to every later one, marked `Idempotent-Replayed: true`.
//! - The same key with other parameters is a 400 of type `idempotency_error`.
//! - While the first one runs, another is a 409 with the code `idempotency_key_in_use`.
//! - Nothing is kept where no endpoint began its work: of a failed validation, a wrong key or a rate limit.
//! - GET is carried out as it comes; so is whatever has no key.
//!
//! A key is kept for as long as the layer lives, which is less than Stripe's 24 hours.

use crate::plain_http::Message;
use std::collections::HashMap;
use std::io;
use std::sync::Mutex;

/// What is known of each key.
#[derive(Default)]
pub struct Keys(Mutex<HashMap<String, First>>);

/// The first request with a key.
struct First {
    /// Method, target and body.
    what: (String, Vec<u8>),
    /// None while it runs.
    answer: Option<Message>,
}

/// Statuses that precede an endpoint's work. Those of the 400s that don't are not kept by Stripe either,
/// unless they are the endpoint's own, of which `localstripe` has none that changes anything.
const BEFORE_WORK: [u16; 4] = [400, 401, 409, 429];

impl Keys {
    /// The answer to a request, for which the server is asked at most once.
    pub(super) fn answer(
        &self,
        request: &Message,
        ask: impl FnOnce() -> io::Result<Message>,
    ) -> io::Result<Message> {
        let line = request.line();
        let (Some(key), false) = (request.header("idempotency-key"), super::is_query(&line)) else {
            return ask();
        };
        let what = (line, request.body.clone());
        {
            let mut known = self.0.lock().unwrap();
            match known.get(&key) {
                Some(first) if first.what != what => return Ok(mismatch()),
                Some(First { answer: None, .. }) => return Ok(in_use()),
                Some(First { answer: Some(answer), .. }) => return Ok(replayed(answer)),
                None => known.insert(key.clone(), First { what, answer: None }),
            };
        }
        let answer = ask();
        let mut known = self.0.lock().unwrap();
        match &answer {
            Ok(answer) if answer.status().is_some_and(|status| !BEFORE_WORK.contains(&status)) => {
                if let Some(first) = known.get_mut(&key) {
                    first.answer = Some(copy(answer));
                }
            }
            Ok(_) | Err(_) => _ = known.remove(&key),
        }
        answer
    }
}

fn copy(message: &Message) -> Message {
    Message { head: message.head.clone(), body: message.body.clone() }
}

/// The first answer again, with the mark at the end of its head.
fn replayed(first: &Message) -> Message {
    let end = first.head.strip_suffix(b"\r\n").unwrap_or(&first.head);
    let head = [end, b"Idempotent-Replayed: true\r\n\r\n"].concat();
    Message { head, body: first.body.clone() }
}

fn mismatch() -> Message {
    let message =
        "Keys for idempotent requests can only be used with the same parameters they were first used with.";
    error("400 Bad Request", &serde_json::json!({ "type": "idempotency_error", "message": message }))
}

fn in_use() -> Message {
    let message = "There is currently another in-progress request using this idempotency key.";
    let kind = "invalid_request_error";
    let code = "idempotency_key_in_use";
    error("409 Conflict", &serde_json::json!({ "type": kind, "code": code, "message": message }))
}

fn error(status: &str, error: &serde_json::Value) -> Message {
    let body = serde_json::json!({ "error": error }).to_string().into_bytes();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Message { head: head.into_bytes(), body }
}
