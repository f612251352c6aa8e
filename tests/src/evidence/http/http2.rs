//! How a peer fails in HTTP/2, over TLS.

use super::episode::{Before, COPIES, Episode, PROXIES, Planned, STATUSES, one_of};
use crate::evidence::Seeded;
use crate::peer::h2::{Act, Frame, Kind, Script, code};
use Act::{
    Close, Cut, Effect, Fin, GoAway, Informational, Raw, ReadFrame, ReadHeaders, ReadRequest, Reset,
    ResetTcp, Signal, Step, Trailers, WindowUpdate,
};

/// The largest number of a stream: a graceful end names it (RFC 9113 section 6.8).
const LAST: u32 = (1 << 31) - 1;

/// More content than a window holds at first.
const LARGE: usize = 200_000;

/// An answer's HEADERS and DATA as they are on the wire, on the first stream: `:status: 200`, `{}`.
fn answer_bytes() -> Vec<u8> {
    let headers = Frame { kind: Kind::Headers, flags: 0x4, stream: 1, payload: vec![0x88] };
    let data = Frame { kind: Kind::Data, flags: 0x1, stream: 1, payload: b"{}".to_vec() };
    [headers.bytes(), data.bytes()].concat()
}

fn headers(status: u16, fields: &[(&str, &str)], end_stream: bool) -> Act {
    let headers = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Act::Headers { status, headers, end_stream }
}

fn data(end_stream: bool) -> Act {
    Act::Data { bytes: b"{}".to_vec(), end_stream }
}

fn ok() -> [Act; 2] {
    [headers(200, &[], false), data(true)]
}

/// What the peer does after it has read the request whole and applied the effect.
fn after(acts: impl IntoIterator<Item = Act>) -> Script {
    Script::opened([ReadRequest, Effect].into_iter().chain(acts))
}

/// The same with large content, which needs room.
fn large(acts: impl IntoIterator<Item = Act>) -> Script {
    let room = |stream| WindowUpdate { stream, increment: LARGE as u32 };
    Script::opened([ReadHeaders, room(0), room(1), ReadRequest, Effect].into_iter().chain(acts))
}

/// The same after a call that it answered.
fn kept(acts: impl IntoIterator<Item = Act>) -> Script {
    after(ok().into_iter().chain(acts))
}

/// Every failure once, in its order.
pub(super) fn deck(random: &mut Seeded) -> Vec<Episode<Script>> {
    let twice = |what: &str, script: Script| Episode {
        scripts: vec![script.clone(); 2],
        ..Episode::one(what, script, false)
    };
    let [head, body] = ok();
    let mut deck = vec![
        Episode::refused(),
        twice("reset at once", Script(vec![ResetTcp])),
        twice("reset after settings", Script::opened([ResetTcp])),
        twice("closed after settings", Script::opened([Close])),
        Episode::one("none", after(ok().into_iter().chain([Close])), true),
        Episode::one("none, large", large(ok().into_iter().chain([Close])), true).large(LARGE),
        Episode::one("none, no content", after([headers(204, &[], true), Close]), true),
        Episode::one(
            "none, trailers",
            after([head.clone(), data(false), Trailers(vec![("x-t".into(), "1".into())]), Close]),
            true,
        ),
        Episode::one("silent", after([ReadFrame(Kind::Other(0xff))]), false),
        Episode::one(
            "REFUSED_STREAM",
            Script::opened([ReadHeaders, Reset(code::REFUSED_STREAM), Close]),
            false,
        ),
        Episode::one(
            "REFUSED_STREAM after headers",
            after([head.clone(), Reset(code::REFUSED_STREAM), Close]),
            false,
        ),
        Episode::one("no END_STREAM", after([head.clone(), data(false), Close]), false),
        Episode::one("no frames", after([Raw(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()), Close]), false),
        Episode::one(
            "wrong length",
            after([headers(200, &[("content-length", "5")], false), body, Close]),
            false,
        ),
        Episode::one(
            "a transfer coding",
            after([headers(200, &[("transfer-encoding", "chunked")], false), data(true), Close]),
            false,
        ),
        Episode::one(
            "GOAWAY before work",
            Script::opened([ReadHeaders, GoAway { last_stream: 0, code: code::NO_ERROR }, Close]),
            false,
        ),
        Episode::one(
            "GOAWAY after effect",
            after([GoAway { last_stream: 1, code: code::INTERNAL_ERROR }, Close]),
            false,
        ),
        Episode::one(
            "graceful GOAWAY, answered",
            after(
                [GoAway { last_stream: LAST, code: code::NO_ERROR }].into_iter().chain(ok()).chain([Close]),
            ),
            true,
        ),
    ];
    for reset in [
        code::NO_ERROR,
        code::PROTOCOL_ERROR,
        code::INTERNAL_ERROR,
        code::CANCEL,
        code::ENHANCE_YOUR_CALM,
        code::HTTP_1_1_REQUIRED,
    ] {
        let effect = (random.below(2) == 0).then_some(Effect);
        let script = Script::opened([ReadRequest].into_iter().chain(effect).chain([Reset(reset), Close]));
        deck.push(Episode::one("another reset", script, false));
    }
    // A response that begins, and then a reset that says that nothing is wrong.
    for (status, what) in [(200, "success"), (400, "refusal")] {
        for end in [Reset(code::NO_ERROR), GoAway { last_stream: 0, code: code::NO_ERROR }] {
            let began = [headers(status, &[], false), data(false)];
            deck.push(Episode::one(
                format!("half a {what}, NO_ERROR"),
                after(began.into_iter().chain([end, Close])),
                false,
            ));
        }
    }
    for (end, how) in [(Close, "closed"), (ResetTcp, "reset"), (Cut, "cut")] {
        let named = |what: &str| format!("{what}, {how}");
        // As much as the window lets through, and no more.
        let begun = Script::opened([ReadHeaders, ReadFrame(Kind::Data), end.clone()]);
        deck.push(Episode::one(named("large, during content"), begun, false).large(LARGE));
        deck.push(Episode::one(named("large, after effect"), large([end.clone()]), false).large(LARGE));
        let ended = || [end.clone()];
        deck.push(Episode::one(named("during request"), Script::opened([ReadHeaders, end.clone()]), false));
        deck.push(Episode::one(named("after effect"), after(ended()), false));
        let answer = answer_bytes();
        let part = answer[..1 + random.below(answer.len() - 1)].to_vec();
        deck.push(Episode::one(named("cut frames"), after([Raw(part), end.clone()]), false));
        deck.push(Episode::one(named("1xx, then"), after([Informational(103), end.clone()]), false));
        let second = Planned::new(named("reused, after effect"), false);
        deck.push(Episode::two(vec![kept([ReadRequest, Effect, end.clone()])], second, true));
    }
    let refused = kept([ReadHeaders, Reset(code::REFUSED_STREAM), Close]);
    deck.push(Episode::two(vec![refused], Planned::new("reused, REFUSED_STREAM", false), true));
    let gone = kept([ReadHeaders, GoAway { last_stream: 1, code: code::NO_ERROR }, Close]);
    deck.push(Episode::two(vec![gone], Planned::new("reused, GOAWAY", false), true));
    let answered = kept([ReadRequest, Effect].into_iter().chain(ok()).chain([Close]));
    deck.push(Episode::two(vec![answered], Planned::new("none, reused", true), true));
    let fresh = || after(ok().into_iter().chain([Close]));
    deck.push(Episode::two(
        vec![kept([Step, Fin, Signal]), fresh()],
        Planned::new("FIN while idle", true).after(Before::Signal),
        true,
    ));
    deck.push(Episode::two(
        vec![kept([Step, ResetTcp]), fresh()],
        Planned::new("RST while idle", true).after(Before::End),
        true,
    ));
    for (status, applies) in STATUSES {
        let effect = applies.decide(random).then_some(Effect);
        let answer = [headers(status, &[("location", "/elsewhere")], false), data(true), Close];
        let script = Script::opened([ReadRequest].into_iter().chain(effect).chain(answer));
        deck.push(Episode::one(format!("status {status}"), script, true));
    }
    for status in COPIES {
        let answer = [ReadRequest, Effect, headers(status, &[], false), data(true), Close];
        let script = Script::opened(answer);
        deck.push(Episode::one(format!("second copy, {status}"), script, true).of("same"));
    }
    for (what, says, applies) in PROXIES {
        let effect = applies.decide(random).then_some(Effect);
        let answer = [headers(502, &[("proxy-status", says)], false), data(true), Close];
        let script = Script::opened([ReadRequest].into_iter().chain(effect).chain(answer));
        deck.push(Episode::one(what, script, true));
    }
    let stray = one_of(random, &[b"\0\0\0\0".as_slice(), b"\0\0\x05"]);
    deck.push(Episode::one(
        "half a frame, then silence",
        after([Raw(stray.to_vec()), ReadFrame(Kind::Other(0xff))]),
        false,
    ));
    deck
}
