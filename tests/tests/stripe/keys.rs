//! The layer of keys behaves as its documentation says: other tests rest on it.

use proofport_tests::localstripe::{KEY, LocalStripe};
use proofport_tests::plain_http::{Message, exchange};
use proofport_tests::way::{Accident, Habits, Keys, Way};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;

/// A create under a key.
fn create(to: SocketAddr, key: &str, form: &str) -> Message {
    let request = format!(
        "POST /v1/customers HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\nidempotency-key: {key}\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
        form.len()
    );
    exchange(to, request.as_bytes()).unwrap()
}

fn shown(answer: &Message) -> (Option<u16>, Option<String>, Value) {
    let body = serde_json::from_slice(&answer.body).unwrap();
    (answer.status(), answer.header("idempotent-replayed"), body)
}

#[test]
fn a_key_is_honoured_as_stripe_says() {
    let stripe = LocalStripe::start().unwrap_or_else(|error| panic!("{error}"));
    let way = |keys| Way::to(stripe.address(), Habits::smooth(Duration::ZERO), keys).unwrap();
    let keyed = way(Some(Keys::default()));
    let to = keyed.origin().strip_prefix("http://").unwrap().parse().unwrap();
    let first = shown(&create(to, "a", "email=a%40example.com"));
    assert_eq!((first.0, first.1.as_deref()), (Some(200), None));
    let again = shown(&create(to, "a", "email=a%40example.com"));
    assert_eq!((again.0, again.1.as_deref(), &again.2), (Some(200), Some("true"), &first.2));
    let other = shown(&create(to, "a", "email=b%40example.com"));
    assert_eq!((other.0, &other.2["error"]["type"]), (Some(400), &json!("idempotency_error")));
    assert_eq!(stripe.count("customers").unwrap(), 1);
    // A failed validation is not kept: the same key is good for the corrected request.
    assert_eq!(create(to, "b", "unknown=1").status(), Some(400));
    assert_eq!(shown(&create(to, "b", "email=b%40example.com")).0, Some(200));
    assert_eq!(stripe.count("customers").unwrap(), 2);
    // While the first is running the second is told so.
    keyed.set(Some(Accident::Doubled));
    stripe.freeze().unwrap();
    let doubled = std::thread::spawn(move || create(to, "c", "email=c%40example.com"));
    while keyed
        .log()
        .passed()
        .iter()
        .all(|passed| passed.accident != Accident::Doubled || passed.answered < 1)
    {
        std::thread::yield_now();
    }
    stripe.thaw().unwrap();
    let status = doubled.join().unwrap().status();
    assert!(matches!(status, Some(200 | 409)), "{status:?}");
    keyed.log().wait_quiet();
    assert_eq!(stripe.count("customers").unwrap(), 3);
    // Without the layer the service makes another one each time.
    let bare = way(None);
    let to = bare.origin().strip_prefix("http://").unwrap().parse().unwrap();
    for _ in 0..2 {
        assert_eq!(create(to, "d", "email=d%40example.com").status(), Some(200));
    }
    assert_eq!(stripe.count("customers").unwrap(), 5);
}
