use super::*;
use crate::inject::Injection;
use proofport_core::origin::OriginForm;
use proofport_core::secret::Secret;

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> HttpRequest {
    HttpRequest {
        origin: Origin::parse("https://api.example.com:8443").unwrap(),
        method: method.to_owned(),
        path: OriginForm::parse(path).unwrap(),
        headers: headers.iter().map(|(name, value)| header(name, value)).collect(),
        body: body.map(<[u8]>::to_vec),
        credential: None,
    }
}

fn header(name: &str, value: &str) -> Header {
    Header { name: name.to_owned(), value: value.to_owned() }
}

fn query(name: &str) -> Injection {
    Injection::Query { name: name.to_owned(), secret: Secret::new(b"canary&1".to_vec()) }
}

fn bearer() -> Injection {
    Injection::Bearer(Secret::new(b"canary-1".to_vec()))
}

/// Head of the request as lines, without what every request has.
fn head(outgoing: &Outgoing) -> Vec<String> {
    let mut lines = vec![format!("{} {}", outgoing.request.method(), outgoing.request.uri())];
    for (name, value) in outgoing.request.headers() {
        if ![HOST, USER_AGENT, ACCEPT_ENCODING].contains(name) {
            lines.push(format!("{name}: {}", value.to_str().unwrap()));
        }
    }
    lines
}

fn check(
    request: &HttpRequest,
    extra: &[Header],
    injection: Option<&Injection>,
    expected: Result<&[&str], Unsendable>,
) {
    let credential = injection.map(|injection| Credential::new(injection).unwrap());
    let got =
        Outgoing::prepare(request, extra, credential.as_ref(), UnixMillis(0)).map(|outgoing| head(&outgoing));
    let expected = expected.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
    assert_eq!(got, expected, "{request:?}");
}

#[test]
fn requests_are_built_whole() {
    check(&request("GET", "/a?b=%20", &[], None), &[], None, Ok(&["GET /a?b=%20"]));
    check(&request("POST", "/", &[], None), &[], None, Ok(&["POST /", "content-length: 0"]));
    check(&request("POST", "/", &[], Some(b"12")), &[], None, Ok(&["POST /", "content-length: 2"]));
    check(&request("DELETE", "/", &[], None), &[], None, Ok(&["DELETE /"]));
    check(&request("GET", "/", &[], Some(b"")), &[], None, Ok(&["GET /", "content-length: 0"]));
    check(
        &request("POST", "/", &[("content-type", "text/plain"), ("x-a", "1"), ("x-a", "2")], None),
        &[header("idempotency-key", "k1")],
        Some(&bearer()),
        Ok(&[
            "POST /",
            "content-type: text/plain",
            "x-a: 1",
            "x-a: 2",
            "content-length: 0",
            "idempotency-key: k1",
            "authorization: Bearer canary-1",
        ]),
    );
    for (path, expected) in [
        ("/", "GET /?k=canary%261"),
        ("/?", "GET /?k=canary%261"),
        ("/?a=1", "GET /?a=1&k=canary%261"),
        ("/?a=1&", "GET /?a=1&k=canary%261"),
    ] {
        check(&request("GET", path, &[], None), &[], Some(&query("k")), Ok(&[expected]));
    }
}

#[test]
fn host_agent_and_coding_are_ours() {
    let outgoing = Outgoing::prepare(&request("GET", "/", &[], None), &[], None, UnixMillis(0)).unwrap();
    let headers = outgoing.request.headers();
    assert_eq!(headers.get(HOST).unwrap(), "api.example.com:8443");
    assert_eq!(headers.get(USER_AGENT).unwrap(), AGENT);
    assert_eq!(headers.get(ACCEPT_ENCODING).unwrap(), "identity");
}

#[test]
fn what_cannot_be_sent_unchanged_is_refused() {
    let plain = request("GET", "/", &[], None);
    for bad in ["get", "CONNECT", "TRACE", "", "G T", "GET\r\n"] {
        check(&request(bad, "/", &[], None), &[], None, Err(Unsendable::Method));
    }
    for name in ["host", "authorization", "content-length", "transfer-encoding", "connection"] {
        check(&request("GET", "/", &[(name, "x")], None), &[], None, Err(Unsendable::HeaderOwned));
    }
    check(
        &request("GET", "/", &[("accept-encoding", "gzip")], None),
        &[],
        None,
        Err(Unsendable::HeaderOwned),
    );
    for name in ["X-A", "x a", "", "x\n"] {
        check(&request("GET", "/", &[(name, "x")], None), &[], None, Err(Unsendable::HeaderName));
    }
    for value in ["a\r\nb: c", " a", "a\t", "a\0"] {
        check(&request("GET", "/", &[("x-a", value)], None), &[], None, Err(Unsendable::HeaderValue));
    }
    check(&plain, &[header("host", "x")], None, Err(Unsendable::Taken));
    let keyed = request("POST", "/", &[("idempotency-key", "mine")], None);
    check(&keyed, &[header("idempotency-key", "k1")], None, Err(Unsendable::Taken));
    for path in ["/?k=1", "/?a=1&k", "/?%6b=2", "/?a&k=&b"] {
        check(&request("GET", path, &[], None), &[], Some(&query("k")), Err(Unsendable::Taken));
    }
    check(&request("GET", "/?a+b=1", &[], None), &[], Some(&query("a b")), Err(Unsendable::Taken));
}

#[test]
fn a_signed_request_carries_its_signature_and_is_guarded_against_it() {
    let injection = Injection::SigV4 {
        access_key_id: "AKID".to_owned(),
        secret: Secret::new(b"canary-canary".to_vec()),
        session_token: None,
        region: "eu-central-1".to_owned(),
        service: "s3".to_owned(),
    };
    let credential = Credential::new(&injection).unwrap();
    let at = |millis| {
        let plain = request("PUT", "/a$b?c", &[], Some(b"12"));
        let outgoing = Outgoing::prepare(&plain, &[], Some(&credential), UnixMillis(millis)).unwrap();
        let value = outgoing.request.headers().get("authorization").unwrap().to_str().unwrap().to_owned();
        assert_eq!(outgoing.request.uri(), "/a$b?c");
        assert!(outgoing.request.headers().contains_key("x-amz-content-sha256"));
        (value, outgoing.guard())
    };
    let (first, guard) = at(1_440_938_160_000);
    assert!(first.contains("SignedHeaders=content-length;host;x-amz-content-sha256;x-amz-date,"), "{first}");
    assert!(first.contains("/20150830/eu-central-1/s3/aws4_request"), "{first}");
    assert_eq!(guard.scan(first.clone().into_bytes()).hits, 1);
    // The next attempt has a signature of its own.
    let (second, _) = at(1_440_938_161_000);
    assert_ne!(first, second);
    assert!(guard.is_clean(second.as_bytes()));
    let bad = request("GET", "/?a=%ff", &[], None);
    check(&bad, &[], Some(&injection), Err(Unsendable::Unsigned));
}
