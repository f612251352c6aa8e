//! The peers behave as their documentation says: other tests rest on it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by panicking")]

use proofport_tests::localstripe::{KEY, LocalStripe};
use proofport_tests::plain_http::exchange;
use proofport_tests::read_then_die::ReadThenDie;
use std::io::ErrorKind;
use std::net::TcpStream;

const INTENT: &str = "amount=2000&currency=eur&payment_method=pm_card_visa";
const DECLINED: &str = "amount=2000&currency=eur&payment_method=pm_card_chargeCustomerFail";

#[test]
fn localstripe_is_the_part_of_stripe_that_its_page_says() {
    let stripe = LocalStripe::start().unwrap_or_else(|error| panic!("{error}"));
    let check = |path: &str, form: Option<&str>, expected: u16| {
        let (status, body) = stripe.ask(path, form).unwrap();
        assert_eq!(status, expected, "{path} {form:?}: {body}");
        body
    };
    // It ignores the idempotency key: two requests with the same one are two customers.
    check("/v1/customers", Some("email=a%40example.com&metadata%5Bproofport_reference%5D=ppx"), 200);
    check("/v1/customers", Some("email=a%40example.com&metadata%5Bproofport_reference%5D=ppx"), 200);
    assert_eq!(stripe.count("customers").unwrap(), 2);
    check("/v1/customers", Some("unknown=1"), 400);
    check("/v1/customers?limit=100&created%5Bgte%5D=1", None, 400);
    let list = check("/v1/customers?limit=1", None, 200);
    assert_eq!(list["data"][0]["metadata"]["proofport_reference"], "ppx");
    assert_eq!(list["has_more"], true);

    let id = check("/v1/payment_intents", Some(INTENT), 200)["id"].as_str().unwrap().to_owned();
    check("/v1/refunds", Some(&format!("payment_intent={id}")), 500);
    assert_eq!(stripe.count("refunds").unwrap(), 0);
    let confirm = format!("/v1/payment_intents/{id}/confirm");
    assert_eq!(check(&confirm, Some(""), 200)["status"], "succeeded");
    check(&confirm, Some(""), 400);
    check("/v1/refunds", Some(&format!("payment_intent={id}&amount=500")), 200);
    check(&format!("/v1/refunds?limit=100&payment_intent={id}"), None, 200);

    let id = check("/v1/payment_intents", Some(DECLINED), 200)["id"].as_str().unwrap().to_owned();
    let body = check(&format!("/v1/payment_intents/{id}/confirm"), Some(""), 402);
    assert_eq!(body["error"]["code"], "card_declined");

    let status = |key| stripe.ask_with_key(key, "/v1/customers", None).unwrap().0;
    assert_eq!((status(KEY), status("wrong")), (200, 401));
}

#[test]
fn a_stopped_localstripe_refuses_connections_and_a_thawed_one_answers() {
    let mut stripe = LocalStripe::start().unwrap_or_else(|error| panic!("{error}"));
    stripe.freeze().unwrap();
    // The system accepts for it.
    TcpStream::connect(stripe.address()).unwrap();
    stripe.thaw().unwrap();
    assert_eq!(stripe.count("customers").unwrap(), 0);
    stripe.stop().unwrap();
    let refused = TcpStream::connect(stripe.address()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn an_answer_is_lost_after_the_effect() {
    let stripe = LocalStripe::start().unwrap_or_else(|error| panic!("{error}"));
    let proxy = ReadThenDie::before(stripe.address()).unwrap();
    let request = format!(
        "POST /v1/customers HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\ncontent-length: 0\r\n\r\n"
    );
    let lost = exchange(proxy.address(), request.as_bytes()).err().map(|error| error.kind());
    assert_eq!(lost, Some(ErrorKind::UnexpectedEof));
    assert_eq!((proxy.answers_lost(), stripe.count("customers").unwrap()), (1, 1));
    proxy.heal();
    let answered = exchange(proxy.address(), request.as_bytes()).unwrap();
    assert_eq!(answered.status(), Some(200));
    assert_eq!((proxy.answers_lost(), stripe.count("customers").unwrap()), (1, 2));
    proxy.relapse();
    assert!(exchange(proxy.address(), request.as_bytes()).is_err());
    assert_eq!(proxy.answers_lost(), 2);
}
