//! A real reverse proxy answers in place of the peer behind it.

use crate::{CA, address, client, connect, connect_tls, http2, talk};
use proofport_tests::nginx::{Answer, Nginx, Retries, Tls};
use proofport_tests::peer::{Act, Peer, Script};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const BUSY: &[u8] = b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";

fn start(routes: &[(&str, Answer)], tls: Option<Tls<'_>>) -> Nginx {
    Nginx::start(routes, tls).unwrap_or_else(|error| panic!("{error}"))
}

fn request(method: &str, path: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
        .into_bytes()
}

fn status(address: SocketAddr, method: &str, path: &str) -> u16 {
    let answer = talk(&mut connect(address), &request(method, path)).unwrap();
    answer.get(9..12).and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("{answer:?}"))
}

fn reset() -> Script {
    Script(vec![Act::ReadRequest, Act::Effect, Act::Reset])
}

#[test]
fn it_answers_for_its_upstreams() {
    let [good, lost, silent] = [Script::answer(OK), reset(), Script::silent()].map(Peer::http);
    let nginx = start(
        &[
            ("/", Answer::proxy(address(&good))),
            ("/lost", Answer::proxy(address(&lost))),
            ("/silent", Answer::impatient(address(&silent), Duration::from_millis(50))),
            ("/down", Answer::Status(503)),
        ],
        None,
    );
    let check = |path, expected, effects: [usize; 3]| {
        assert_eq!(status(nginx.http(), "POST", path), expected, "{path}: {}", nginx.errors());
        assert_eq!([&good, &lost, &silent].map(Peer::effects), effects, "{path}");
    };
    check("/any?q=1", 200, [1, 0, 0]);
    assert!(good.received()[0].starts_with(b"POST /any?q=1 HTTP/1.1\r\nHost: x\r\n"));
    check("/lost", 502, [1, 1, 0]);
    check("/silent", 504, [1, 1, 1]);
    check("/down", 503, [1, 1, 1]);
}

/// A proxy that tries again does the effect twice, and says nothing of it.
#[test]
fn it_tries_another_upstream_if_told_to() {
    let check = |retries, first: Script, method, expected, effects: [usize; 2]| {
        let peers = [first, Script::answer(OK)].map(Peer::http);
        let upstreams: Vec<SocketAddr> = peers.iter().map(address).collect();
        let nginx = start(&[("/", Answer::proxy_any(upstreams, retries))], None);
        assert_eq!(status(nginx.http(), method, "/"), expected, "{retries:?} {method}");
        assert_eq!([peers[0].effects(), peers[1].effects()], effects, "{retries:?} {method}");
    };
    check(Retries::Off, reset(), "GET", 502, [1, 0]);
    check(Retries::Default, reset(), "GET", 200, [1, 1]);
    check(Retries::Default, reset(), "POST", 502, [1, 0]);
    check(Retries::Always, reset(), "POST", 200, [1, 1]);
    check(Retries::Default, Script::answer(BUSY), "GET", 503, [1, 0]);
    check(Retries::Always, Script::answer(BUSY), "POST", 200, [1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_does_tls_and_http2() {
    let peer = Peer::http(Script::answer(OK));
    let routes = [("/", Answer::proxy(address(&peer)))];
    for agreed in [false, true] {
        let nginx = start(&routes, Some(Tls { ca: &CA, http2: agreed }));
        let mut stream = connect_tls(nginx.https(), &client(&["h2", "http/1.1"], None));
        stream.conn.complete_io(&mut stream.sock).unwrap();
        let expected: &[u8] = if agreed { b"h2" } else { b"http/1.1" };
        assert_eq!(stream.conn.alpn_protocol(), Some(expected));
        let answer = if agreed {
            let mut client = http2::over_tls(nginx.https()).await;
            http2::post(&mut client, "/", b"hi").await.unwrap().1
        } else {
            talk(&mut stream, &request("POST", "/")).unwrap().into_bytes()
        };
        assert!(answer.ends_with(b"ok"));
    }
    assert_eq!(peer.effects(), 2);
}

#[test]
fn it_ends_when_it_is_let_go() {
    let mut nginx = start(&[("/", Answer::Status(204))], None);
    let ports = [nginx.http(), nginx.https()];
    assert_eq!(status(ports[0], "GET", "/"), 204);
    assert_eq!(talk(&mut connect(ports[1]), &request("GET", "/")).unwrap_or_default(), "");
    nginx.stop();
    for port in ports {
        assert_eq!(TcpStream::connect(port).unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
    }
    // A configuration that it refuses is told in its own words.
    let error = Nginx::start(&[("/", Answer::Status(1000))], None).err().map(|error| error.to_string());
    assert!(error.as_ref().is_some_and(|words| words.contains("invalid return code")), "{error:?}");
}
