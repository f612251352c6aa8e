//! What names may lead to: the address after resolution is checked, and the checked one is dialled.

use crate::{KEPT, OK, ask, seen, target};
use proofport_core::contract::Stage;
use proofport_core::evidence::Cause;
use proofport_core::origin::Origin;
use proofport_egress::{AddressPolicy, HttpEgress, HttpTarget, Resolver};
use proofport_tests::peer::{Peer, Script};
use std::net::{IpAddr, TcpListener};

fn answering(addresses: &[&str]) -> HttpEgress {
    let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
    HttpEgress::with_resolver(Resolver::Fixed([("api.example".to_owned(), addresses)].into()))
}

fn policy(allowed: &[&str]) -> AddressPolicy {
    AddressPolicy::new(allowed.iter().map(|net| net.parse().unwrap()).collect())
}

/// A name with these addresses, of which none may be dialled.
async fn refused(addresses: &[&str], allowed: &[&str]) {
    let origin = Origin::parse("https://api.example").unwrap();
    let target = HttpTarget { addresses: policy(allowed), setup_attempts: 3, ..target(origin) };
    let setup = answering(addresses).connect(&target, 1).await;
    let what = format!("{addresses:?} with {allowed:?}");
    let denied = |(n, _)| (n, Stage::AddressCheck, Some(Cause::AddressDenied), false);
    assert_eq!(seen(&setup.attempts), (1..).zip(addresses).map(denied).collect::<Vec<_>>(), "{what}");
    assert_eq!(setup.result.err().unwrap().cause, Cause::AddressDenied, "{what}");
    let dialled = |timing: &proofport_core::evidence::StageTiming| timing.stage == Stage::TcpConnect;
    assert!(!setup.attempts.iter().any(|attempt| attempt.timings.iter().any(dialled)), "{what}");
}

#[tokio::test]
async fn names_that_lead_inside_are_not_dialled() {
    for address in [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.1.1",
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b::10.0.0.1",
        "2002:7f00:1::",
        "fd00:ec2::254",
        "fe80::1",
        "fc00::1",
    ] {
        refused(&[address], &[]).await;
        // A listed neighbour lets nobody else in.
        refused(&[address], &["127.0.0.9/32", "10.9.0.0/16"]).await;
    }
    refused(&["10.0.0.1", "::1", "192.168.0.1"], &[]).await;
    // A range that has a metadata service in it does not allow that service.
    refused(&["169.254.169.254"], &["169.254.0.0/16"]).await;
    refused(&["169.254.169.254"], &["169.254.169.254/31", "0.0.0.0/0"]).await;
    refused(&["100.100.100.200"], &["100.64.0.0/10"]).await;
    refused(&["fd00:ec2::254"], &["fd00::/8"]).await;
    refused(&["::ffff:169.254.169.254"], &["::ffff:0:0/96", "169.254.169.254/32"]).await;
    // Another spelling of a listed address is another address.
    refused(&["::ffff:127.0.0.1"], &["127.0.0.0/8"]).await;
}

/// Of a name's addresses only the one that was checked is dialled.
#[tokio::test]
async fn the_checked_address_is_the_dialled_one() {
    let peer = Peer::http(Script::keep_alive(9, OK));
    // The same port of another address of this host: whoever comes there waits in its queue.
    let inside = TcpListener::bind(("127.0.0.2", peer.port())).unwrap();
    inside.set_nonblocking(true).unwrap();
    let egress = answering(&["127.0.0.2", "127.0.0.1"]);
    let addresses = policy(&["127.0.0.1/32"]);
    let target = HttpTarget { addresses, setup_attempts: 3, ..target(peer.origin_as("api.example")) };
    let done = ask(&egress, &target).await;
    let denied = (1, Stage::AddressCheck, Some(Cause::AddressDenied), false);
    assert_eq!(done.attempts(), [denied, (2, Stage::HttpHandshake, None, false)]);
    assert_eq!(done.attempts[1].address.as_deref(), Some("127.0.0.1"));
    assert_eq!(done.body(), Some(b"ok".as_slice()));
    assert_eq!(ask(&egress, &target).await.attempts(), KEPT);
    assert_eq!(inside.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(peer.accepted(), 1);
}
