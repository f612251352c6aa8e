//! What a peer does, directly and behind squid's tunnel: the same is claimed.

use crate::{CA, OK, Setting, Way, always, claim, hold, holds, start};
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::evidence::Hop;
use proofport_tests::peer::{Act, Peer, Script};
use proofport_tests::squid::SquidOptions;
use std::net::SocketAddr;

/// What is claimed and what was seen, but for what stands between.
type Seen = (Option<Code>, Outcome, Option<u16>, bool);

async fn run(what: &str, script: &Script, proxy: Option<SocketAddr>) -> Seen {
    let peer = Peer::https(always(script.clone()), &CA);
    let way = proxy.map(Way::tunnel).unwrap_or_default().impatient(holds(script));
    let setting = Setting::new("good", peer.origin(), way).await;
    let envelope = setting.call("act").await;
    hold(what, &envelope, &[&peer]);
    assert_eq!(peer.accepted(), 1, "{what}: one connection for one effect");
    let state = setting.state(&envelope);
    let evidence = state.attempts[0].end.as_ref().unwrap().evidence.http().unwrap();
    assert_eq!(evidence.hop, if proxy.is_some() { Hop::Tunnel } else { Hop::Direct }, "{what}");
    setting.open.close();
    let (code, outcome) = claim(&envelope);
    (code, outcome, evidence.status, evidence.completion.is_some())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tunnel_changes_nothing_about_what_is_claimed() {
    use Act::{Close, Cut, Effect, Hold, Read, ReadRequest, Reset, Send};
    use Outcome::{Committed, Rejected, Unknown};
    let answer =
        |status: u16| Script::answer(format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\n{{}}"));
    let part = |bytes: usize| Send(OK[..bytes].to_vec());
    let nothing = (Some(Code::OutcomeUnknown), Unknown, None, false);
    let broken = |status| (Some(Code::RemoteResultIncomplete), Unknown, status, false);
    let mut cases = vec![
        ("200", Script::answer(OK), (None, Committed, Some(200), true)),
        ("422", answer(422), (Some(Code::RemoteRejected), Rejected, Some(422), true)),
        ("500", answer(500), (Some(Code::RemoteFailed), Committed, Some(500), true)),
        ("503", answer(503), (Some(Code::OutcomeUnknown), Unknown, Some(503), true)),
        ("applied, then reset", Script(vec![ReadRequest, Effect, Reset]), nothing),
        ("applied, then closed", Script(vec![ReadRequest, Effect, Close]), nothing),
        ("applied, then cut", Script(vec![ReadRequest, Effect, Cut]), nothing),
        ("silent", Script(vec![ReadRequest, Effect, Hold]), nothing),
        ("half a head", Script(vec![ReadRequest, Effect, part(20), Close]), broken(None)),
        ("half a body", Script(vec![ReadRequest, Effect, part(OK.len() - 1), Close]), broken(Some(200))),
        ("half a body, cut", Script(vec![ReadRequest, Effect, part(OK.len() - 1), Cut]), broken(Some(200))),
        ("half a body, held", Script(vec![ReadRequest, Effect, part(OK.len() - 1), Hold]), broken(Some(200))),
    ];
    // 422 refuses: it was no effect.
    cases[1].1.0.retain(|act| *act != Effect);
    for k in [1, 2, 17, 80, 150] {
        cases.push(("a part of the request, then reset", Script(vec![Read(k), Reset]), nothing));
        cases.push(("a part of the request, then closed", Script(vec![Read(k), Close]), nothing));
    }
    let proxy = start(SquidOptions::default());
    for (what, script, expected) in cases {
        let direct = run(what, &script, None).await;
        let through = run(what, &script, Some(proxy.address())).await;
        assert_eq!((direct, through), (expected, expected), "{what}, directly and through squid: {script:?}");
    }
}
