//! The helper itself.

use crate::start;
use proofport_tests::squid::{NAME, SquidOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

fn ask(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn several_run_side_by_side_and_end_when_they_are_let_go() {
    let mut all: Vec<_> = (0..3).map(|_| start(SquidOptions::default())).collect();
    for squid in &all {
        let answer = ask(squid.address());
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains(NAME), "{answer}");
    }
    let mut open = TcpStream::connect(all[0].address()).unwrap();
    all[0].stop();
    let refused = TcpStream::connect(all[0].address()).unwrap_err().kind();
    assert_eq!(refused, ErrorKind::ConnectionRefused);
    assert!(matches!(open.read(&mut [0]), Ok(0) | Err(_)), "what was open is closed");
    let address = all[1].address();
    drop(all.remove(1));
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert!(ask(all[1].address()).contains(NAME), "the others go on");
}
