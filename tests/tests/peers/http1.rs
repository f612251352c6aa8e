//! HTTP/1.1 on one connection, step by step.

use crate::{CA, address, client, connect, connect_tls, expect, talk};
use proofport_tests::peer::{Act, Peer, Script};
use std::io::{Read, Write};

const POST: &[u8] = b"POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhi";
const GET: &[u8] = b"GET /b HTTP/1.1\r\nhost: x\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const STRAY: &[u8] = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n";

#[test]
fn one_connection_carries_several_requests() {
    let check = |writes: &[&[u8]]| {
        let peer = Peer::http(Script::keep_alive(2, OK));
        let mut stream = connect(address(&peer));
        for bytes in writes {
            stream.write_all(bytes).unwrap();
        }
        expect(&mut stream, &[OK, OK].concat());
        peer.wait_requests(2);
        assert_eq!((peer.accepted(), peer.effects()), (1, 2));
        assert_eq!(peer.received(), [writes.concat()]);
        peer.release();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    };
    check(&[POST, GET]);
    check(&[&[POST, GET].concat()]);
    check(&[&POST[..20], &POST[20..], GET]);
}

/// What the peer does to an idle connection happens when the test says so, and before it hears of it.
#[test]
fn an_idle_connection_gets_stray_bytes_or_its_end() {
    let check = |act: Act, expected: &[u8]| {
        let idle = [Act::ReadRequest, Act::Send(OK.to_vec()), Act::Signal, Act::Step, act, Act::Signal];
        let peer = Peer::http(idle.to_vec());
        let mut stream = connect(address(&peer));
        stream.write_all(GET).unwrap();
        expect(&mut stream, OK);
        peer.wait_signals(1);
        stream.set_nonblocking(true).unwrap();
        let nothing = stream.read(&mut [0]).unwrap_err();
        assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);
        peer.step();
        peer.wait_signals(2);
        let mut read = vec![0; 100];
        let length = stream.read(&mut read).unwrap();
        assert_eq!(&read[..length], expected);
    };
    check(Act::Send(STRAY.to_vec()), STRAY);
    check(Act::Fin, b"");
}

#[test]
fn a_step_lets_one_script_go_on_once() {
    let steps = [Act::ReadRequest, Act::Step, Act::Signal, Act::Step, Act::Signal, Act::Close];
    let peer = Peer::http(steps.to_vec());
    let mut stream = connect(address(&peer));
    stream.write_all(GET).unwrap();
    peer.step();
    peer.wait_signals(1);
    peer.step();
    peer.wait_signals(2);
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    drop(stream);
    peer.wait_ended(1);
}

#[test]
fn a_head_is_answered_before_its_content() {
    let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
    let peer = Peer::http(vec![
        Act::ReadHead,
        Act::Signal,
        Act::Send(go_on.to_vec()),
        Act::ReadBody,
        Act::Effect,
        Act::Send(OK.to_vec()),
        Act::Close,
    ]);
    let mut stream = connect(address(&peer));
    let (head, body) = POST.split_at(POST.len() - 2);
    stream.write_all(head).unwrap();
    peer.wait_signals(1);
    expect(&mut stream, go_on);
    assert_eq!((peer.received(), peer.effects()), (vec![head.to_vec()], 0));
    assert_eq!(talk(&mut stream, body).unwrap().as_bytes(), OK);
    peer.wait_requests(1);
    assert_eq!((peer.received(), peer.effects()), (vec![POST.to_vec()], 1));
}

#[test]
fn http1_only_is_only_that() {
    let script = || vec![Act::Http1Only, Act::ReadRequest, Act::Send(OK.to_vec()), Act::Close];
    let check = |request: &[u8], expected: Option<&[u8]>| {
        let (plain, tls) = (Peer::http(script()), Peer::https(script(), &CA));
        let answer = talk(&mut connect(address(&plain)), request);
        assert_eq!(answer.ok().as_deref().map(str::as_bytes), expected);
        let answer = talk(&mut connect_tls(address(&tls), &client(&["http/1.1"], None)), request);
        assert_eq!(answer.ok().as_deref().map(str::as_bytes), expected);
    };
    check(GET, Some(OK));
    check(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", None);
}
