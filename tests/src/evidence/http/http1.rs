//! How a peer fails in HTTP/1.1, over plain TCP and over TLS.

use super::episode::{Before, COPIES, Episode, PROXIES, Planned, STATUSES, one_of};
use crate::evidence::Seeded;
use crate::peer::{Act, Script};
use Act::{Close, Cut, Effect, Fin, Read, ReadBody, ReadHead, ReadRequest, Reset, Send, Signal, Step};

/// An answer after which the connection can be used again.
const KEEPS: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
/// The last answer on its connection.
const OK: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n1;a=b\r\n}\r\n0\r\nx-t: 1\r\n\r\n";
const BOTH: &str =
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
const BAD_CHUNK: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n";
const TWO_LENGTHS: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}!";
const ENDLESS: &str = "HTTP/1.1 200 OK\r\n\r\n{}";
const TOO_LARGE: &str = "HTTP/1.1 413 No\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno";
const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";

/// Content that is announced with `Expect: 100-continue`.
const EXPECTED: usize = 70_000;

fn send(text: &str) -> Act {
    Send(text.as_bytes().to_vec())
}

/// The beginning of an answer, at least one byte and never all of it.
fn part(answer: &str, random: &mut Seeded) -> Act {
    Send(answer.as_bytes()[..1 + random.below(answer.len() - 1)].to_vec())
}

/// What the peer does after it has read the request whole and applied the effect.
fn after(acts: impl IntoIterator<Item = Act>) -> Script {
    Script([ReadRequest, Effect].into_iter().chain(acts).collect())
}

/// Every failure once, in its order.
pub(super) fn deck(random: &mut Seeded, tls: bool) -> Vec<Episode<Script>> {
    let ends = if tls { vec![Close, Reset, Cut] } else { vec![Close, Reset] };
    let mut deck = vec![
        Episode::refused(),
        Episode {
            scripts: vec![Script(vec![Reset]); 2],
            ..Episode::one("reset at once", Script(vec![]), false)
        },
        Episode {
            scripts: vec![Script(vec![Close]); 2],
            ..Episode::one("closed at once", Script(vec![]), false)
        },
        Episode::one("none", after([send(OK), Close]), true),
        Episode::one("none, chunked", after([send(CHUNKED), Close]), true),
        Episode::one("silent", after([Read(4096)]), false),
        Episode::one("two framings", after([send(BOTH), Close]), false),
        Episode::one("a bad chunk", after([send(BAD_CHUNK), Close]), false),
        Episode::one("two lengths", after([send(TWO_LENGTHS), Close]), false),
        Episode::one("close-delimited", after([send(ENDLESS), Close]), tls),
        Episode::one("close-delimited, reset", after([send(ENDLESS), Reset]), false),
        Episode::one("early answer", Script(vec![Read(40), send(TOO_LARGE), Close]), true).large(40_000),
        // It does not know of it, and waits for the content.
        Episode::one("expected, ignored", after([send(OK), Close]), true).large(EXPECTED),
        Episode::one("expected, refused", Script(vec![ReadHead, send(TOO_LARGE), Close]), true)
            .large(EXPECTED),
        Episode::one(
            "expected, continued",
            Script(vec![ReadHead, send(CONTINUE), ReadBody, Effect, send(OK), Close]),
            true,
        )
        .large(EXPECTED),
    ];
    if tls {
        deck.push(Episode::one("close-delimited, cut", after([send(ENDLESS), Cut]), false));
    }
    for end in &ends {
        let named = |what: &str| format!("{what}, {}", word(end));
        let cut = 1 + random.below(60);
        deck.push(Episode::one(named("during request"), Script(vec![Read(cut), end.clone()]), false));
        deck.push(Episode::one(named("after effect"), after([end.clone()]), false));
        deck.push(Episode::one(
            named("cut head"),
            after([part(&OK[..OK.len() - 2], random), end.clone()]),
            false,
        ));
        deck.push(Episode::one(named("cut body"), after([send(&OK[..OK.len() - 1]), end.clone()]), false));
        deck.push(Episode::one(named("cut chunks"), after([part(CHUNKED, random), end.clone()]), false));
        let interim = one_of(random, &[CONTINUE, "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"]);
        deck.push(Episode::one(named("1xx, then"), after([send(interim), end.clone()]), false));
        let cut = 1 + random.below(EXPECTED - 1);
        let script = Script(vec![ReadHead, send(CONTINUE), Read(cut), end.clone()]);
        deck.push(Episode::one(named("expected, cut"), script, false).large(EXPECTED));
        let reused = after([send(KEEPS), ReadRequest, Effect, end.clone()]);
        deck.push(Episode::two(vec![reused], Planned::new(named("reused, after effect"), false), true));
        let reused = after([send(KEEPS), Read(1 + random.below(60)), end.clone()]);
        deck.push(Episode::two(vec![reused], Planned::new(named("reused, during request"), false), true));
    }
    let fresh = || after([send(OK), Close]);
    deck.push(Episode::two(
        vec![after([send(KEEPS), Step, Fin, Signal]), fresh()],
        Planned::new("FIN while idle", true).after(Before::Signal),
        false,
    ));
    deck.push(Episode::two(
        vec![after([send(KEEPS), Step, Reset]), fresh()],
        Planned::new("RST while idle", true).after(Before::End),
        false,
    ));
    let reused = after([send(KEEPS), ReadRequest, Effect, send(OK), Close]);
    deck.push(Episode::two(vec![reused], Planned::new("none, reused", true), true));
    let answered = |effect: bool, head: String| {
        let effect = effect.then_some(Effect);
        let answer = format!("{head}connection: close\r\ncontent-length: 2\r\n\r\n{{}}");
        Script([ReadRequest].into_iter().chain(effect).chain([Send(answer.into_bytes()), Close]).collect())
    };
    for (status, applies) in STATUSES {
        let head = format!("HTTP/1.1 {status} X\r\nlocation: /elsewhere\r\n");
        deck.push(Episode::one(format!("status {status}"), answered(applies.decide(random), head), true));
    }
    for status in COPIES {
        let head = format!("HTTP/1.1 {status} X\r\n");
        deck.push(Episode::one(format!("second copy, {status}"), answered(true, head), true).of("same"));
    }
    for (what, says, applies) in PROXIES {
        let head = format!("HTTP/1.1 502 X\r\nproxy-status: {says}\r\n");
        deck.push(Episode::one(what, answered(applies.decide(random), head), true));
    }
    deck
}

/// How a connection ends, in words.
fn word(end: &Act) -> &'static str {
    if *end == Reset {
        "reset"
    } else if *end == Cut {
        "cut"
    } else {
        "closed"
    }
}
