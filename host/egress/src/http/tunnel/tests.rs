use super::*;
use crate::inject::header::basic_value;
use proofport_core::proxy_status::{ErrorMention, Hop, ProxyErrorType, ProxyStatusEntry};
use proofport_core::secret::Secret;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::thread::{self, JoinHandle};

const AUTHORITY: &str = "api.example.com:443";

/// What the scripted proxy does once it has said its part.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    /// Closes its side.
    Close,
    /// Sends back what comes through the tunnel, until the other side closes.
    Echo,
}

/// A proxy for one connection: reads the request's head, sends the parts, each once the one before has
/// been received, and gives the head back.
fn proxy(parts: Vec<Vec<u8>>, then: Then) -> (std::net::SocketAddr, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let script = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
            head.push(byte[0]);
        }
        for part in parts {
            // The other side may have heard enough.
            let _ = stream.write_all(&part);
        }
        if then == Then::Echo {
            while let Ok(1) = stream.read(&mut byte) {
                stream.write_all(&byte).unwrap();
            }
        }
        head
    });
    (address, script)
}

/// Runs the client against the script: what came of it, and what was asked. A tunnel has carried a
/// byte both ways.
fn run(
    parts: Vec<Vec<u8>>,
    then: Then,
    authorization: Option<&HeaderValue>,
) -> (Result<(), TunnelFailure>, String) {
    let (address, script) = proxy(parts, then);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let got = runtime.block_on(async {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut tunnel = open(stream, AUTHORITY, authorization).await?;
        if then == Then::Echo {
            tunnel.write_all(b"!").await.unwrap();
            assert_eq!(tunnel.read_u8().await.unwrap(), b'!', "a byte of the tunnel, not of the head");
        }
        Ok(())
    });
    (got, String::from_utf8(script.join().unwrap()).unwrap())
}

fn check(answer: impl AsRef<[u8]>, then: Then, expected: Result<(), TunnelFailure>) {
    let answer = answer.as_ref();
    let (got, _) = run(vec![answer.to_vec()], then, None);
    assert_eq!(got, expected, "{}", String::from_utf8_lossy(&answer[..answer.len().min(200)]));
}

fn refused(status: u16, proxy_status: ProxyStatus) -> TunnelFailure {
    TunnelFailure::Refused { status: StatusCode::from_u16(status).unwrap(), proxy_status }
}

const NOTHING: ProxyStatus = ProxyStatus::Said(Vec::new());

#[test]
fn the_proxy_is_asked_for_a_tunnel() {
    let agreed = || vec![b"HTTP/1.1 200 OK\r\n\r\n".to_vec()];
    let (got, asked) = run(agreed(), Then::Echo, None);
    assert_eq!(got, Ok(()));
    assert_eq!(asked, "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n");
    let password = Secret::new(b"open sesame".to_vec());
    let value = basic_value("Aladdin", &password).unwrap();
    assert!(value.is_sensitive());
    let (got, asked) = run(agreed(), Then::Echo, Some(&value));
    assert_eq!(got, Ok(()));
    assert_eq!(
        asked,
        "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\
         Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n"
    );
    assert!(request(AUTHORITY, Some(&value)).len() <= 64 + 2 * AUTHORITY.len() + value.len());
}

#[test]
fn any_2xx_is_a_tunnel() {
    for answer in [
        "HTTP/1.1 200 Connection established\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\n",
        "HTTP/1.1 200\r\n\r\n",
        "HTTP/1.1 204 x\r\nVia: 1.1 squid\r\n\r\n",
        "HTTP/1.1 299 x\r\n\r\n",
        // These two mean nothing here.
        "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        // Line ends that a recipient may take (RFC 9112 section 2.2).
        "HTTP/1.1 200 OK\n\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 102 x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ] {
        check(answer, Then::Echo, Ok(()));
    }
}

#[test]
fn other_answers_are_refusals() {
    let said = |hop: &str, error| {
        let error = Some(ErrorMention::Known(error));
        ProxyStatus::Said(vec![ProxyStatusEntry { hop: Hop::parse(hop).unwrap(), error }])
    };
    for (answer, expected) in [
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"prose\"\r\n\r\n",
            None,
        ),
        ("HTTP/1.1 403 prose\r\nContent-Length: 5\r\n\r\nprose", Some(refused(403, NOTHING))),
        ("HTTP/1.1 503 x\r\n\r\n", Some(refused(503, NOTHING))),
        ("HTTP/1.1 302 x\r\nLocation: https://evil.test/\r\n\r\n", Some(refused(302, NOTHING))),
        ("HTTP/1.1 600 x\r\n\r\n", Some(refused(600, NOTHING))),
        ("HTTP/1.1 100 x\r\n\r\nHTTP/1.1 502 x\r\n\r\n", Some(refused(502, NOTHING))),
        (
            "HTTP/1.1 502 x\r\nproxy-STATUS: hop; error=dns_error; details=\"prose\"\r\n\r\n",
            Some(refused(502, said("hop", ProxyErrorType::DnsError))),
        ),
        ("HTTP/1.1 502 x\r\nProxy-Status: (hop)\r\n\r\n", Some(refused(502, ProxyStatus::Malformed))),
    ] {
        let expected = expected.unwrap_or(TunnelFailure::AuthenticationRequired);
        assert!(!format!("{expected} {expected:?}").contains("prose"));
        check(answer, Then::Close, Err(expected.clone()));
        // Whether the proxy keeps the connection makes no difference.
        check(answer, Then::Echo, Err(expected));
    }
}

#[test]
fn what_is_not_http_is_refused() {
    for answer in [
        "SSH-2.0-OpenSSH_9.9\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.2 200 OK\r\n\r\n",
        "http/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 OK\r\n\r\n",
        "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "\n\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nName : x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: x\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n",
        "HTTP/1.1 200 OK\r\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        &format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: x\r\n".repeat(MOST_HEADERS + 1)),
    ] {
        check(answer, Then::Close, Err(TunnelFailure::Malformed));
    }
    check("\x16\x03\x01", Then::Close, Err(TunnelFailure::Truncated));
}

#[test]
fn heads_are_bounded() {
    let head = |size: usize| {
        let bare = "HTTP/1.1 200 OK\r\nA: \r\n\r\n".len();
        format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(size - bare))
    };
    check(head(LARGEST_HEAD), Then::Echo, Ok(()));
    check(head(LARGEST_HEAD + 1), Then::Close, Err(TunnelFailure::HeadTooLarge));
    check("x".repeat(1 << 20), Then::Close, Err(TunnelFailure::HeadTooLarge));
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    let agreed = "HTTP/1.1 200 OK\r\n\r\n";
    check(interim.repeat(MOST_INTERIM) + agreed, Then::Echo, Ok(()));
    check(interim.repeat(MOST_INTERIM + 1) + agreed, Then::Close, Err(TunnelFailure::TooManyInterim));
}

#[test]
fn nobody_speaks_through_the_tunnel_before_us() {
    for stray in ["x", "HTTP/1.1 200 OK\r\n\r\n", "\r\n", "SSH-2.0-x\r\n"] {
        check(format!("HTTP/1.1 200 OK\r\n\r\n{stray}"), Then::Echo, Err(TunnelFailure::StrayBytes));
    }
    check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Then::Echo, Err(TunnelFailure::StrayBytes));
}

/// Each answer, cut behind each of its bytes, and whole in two parts.
#[test]
fn an_answer_that_is_cut_is_no_tunnel() {
    for (answer, whole) in [
        ("HTTP/1.1 200 OK\r\nVia: x\r\n\r\n", Ok(())),
        ("HTTP/1.1 200 OK\n\n", Ok(())),
        ("HTTP/1.1 502 x\r\nProxy-Status: (\r\n\r\n", Err(refused(502, ProxyStatus::Malformed))),
        ("HTTP/1.1 407 x\r\n\r\n", Err(TunnelFailure::AuthenticationRequired)),
    ] {
        for cut in 0..answer.len() {
            let expected = if cut == 0 { TunnelFailure::Closed } else { TunnelFailure::Truncated };
            check(&answer[..cut], Then::Close, Err(expected));
            let parts = vec![answer.as_bytes()[..cut].to_vec(), answer.as_bytes()[cut..].to_vec()];
            assert_eq!(run(parts, Then::Echo, None).0, whole, "{answer:?} in two parts at {cut}");
        }
    }
    // Between an interim answer and the final one, nothing of the final one has come.
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    check(interim, Then::Close, Err(TunnelFailure::Closed));
    check(format!("{interim}H"), Then::Close, Err(TunnelFailure::Truncated));
}

#[test]
fn a_proxy_that_is_gone_is_an_error_of_ours() {
    let (address, script) = proxy(Vec::new(), Then::Echo);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let got = runtime.block_on(async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.shutdown().await.unwrap();
        open(stream, AUTHORITY, None).await.map(|_| ())
    });
    assert_eq!(got, Err(TunnelFailure::Io(ErrorKind::BrokenPipe)));
    assert!(script.join().unwrap().is_empty());
}
