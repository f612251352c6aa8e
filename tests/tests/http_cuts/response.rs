//! The peer goes away after every number of bytes of a response. The effect has been applied.

use crate::{CONTENT, Over, TLS, TLS_H2, assert_unknown, exchange, judged};
use proofport_core::contract::Outcome;
use proofport_core::evidence::Completion;
use proofport_tests::peer::h2::{Frame, Kind};
use proofport_tests::peer::{Act, Peer, Script, h2};

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// FIN, over TLS with close_notify before it.
    Close,
    /// FIN alone, over TLS.
    Cut,
    /// RST.
    Reset,
}

impl End {
    fn all(over: Over) -> &'static [Self] {
        match over {
            Over::Plain => &[Self::Close, Self::Reset],
            Over::Tls | Over::Http2 => &[Self::Close, Self::Cut, Self::Reset],
        }
    }

    fn http1(self) -> Act {
        match self {
            Self::Close => Act::Close,
            Self::Cut => Act::Cut,
            Self::Reset => Act::Reset,
        }
    }

    fn http2(self) -> h2::Act {
        match self {
            Self::Close => h2::Act::Close,
            Self::Cut => h2::Act::Cut,
            Self::Reset => h2::Act::ResetTcp,
        }
    }
}

/// A peer whose connections send 0, 1, … bytes of this answer.
fn peer(over: Over, answer: &[u8], end: End) -> Peer {
    let cuts = 0..=answer.len();
    if over == Over::Http2 {
        let script = |cut: usize| {
            let part = h2::Act::Raw(answer[..cut].to_vec());
            h2::Script::opened([h2::Act::ReadRequest, h2::Act::Effect, part, end.http2()])
        };
        return Peer::https2_as(cuts.map(script).collect::<Vec<_>>(), TLS_H2.clone());
    }
    let script = |cut: usize| {
        Script(vec![Act::ReadRequest, Act::Effect, Act::Send(answer[..cut].to_vec()), end.http1()])
    };
    let scripts: Vec<_> = cuts.map(script).collect();
    if over == Over::Plain { Peer::http(scripts) } else { Peer::https_as(scripts, TLS.clone()) }
}

/// Cuts the answer everywhere. `whole` says what proves it complete when so many of its bytes came before
/// this end; an RST may overtake what was sent, so there a whole answer may be lost.
async fn check(over: Over, answer: &[u8], whole: impl Fn(usize, End) -> Option<Completion>) {
    for end in End::all(over) {
        let peer = peer(over, answer, *end);
        for cut in 0..=answer.len() {
            let what = format!("{over:?}, {end:?} after {cut} of {:?}", String::from_utf8_lossy(answer));
            let exchange = exchange(&peer, over).await.unwrap();
            assert_eq!(peer.effects(), cut + 1, "{what}");
            match (whole(cut, *end), exchange.response.as_ref()) {
                (None, _) => assert_unknown(&exchange, &what),
                (Some(_), None) if *end == End::Reset => assert_unknown(&exchange, &what),
                (Some(completion), response) => {
                    assert_eq!(exchange.evidence.completion, Some(completion), "{what}");
                    assert_eq!(judged(&exchange.evidence).outcome, Outcome::Committed, "{what}");
                    let body = &response.unwrap().body;
                    assert!(CONTENT.starts_with(body), "{what}: {body:?}");
                    if completion != Completion::CloseNotify {
                        assert_eq!(body, CONTENT, "{what}");
                    }
                }
            }
        }
    }
}

/// An answer that its last byte completes.
async fn check_framed(over: Over, answer: &[u8], completion: Completion) {
    check(over, answer, |cut, _| (cut == answer.len()).then_some(completion)).await;
}

const SIZED: [&[u8]; 2] = [
    b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhello world",
    b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhello world",
];
const CHUNKED: [&[u8]; 2] = [
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\nx-t: 1\r\nx-u: 2\r\n\r\n",
];

#[tokio::test]
async fn by_content_length() {
    for answer in SIZED {
        check_framed(Over::Plain, answer, Completion::ContentLength).await;
        check_framed(Over::Tls, answer, Completion::ContentLength).await;
    }
}

#[tokio::test]
async fn by_chunks() {
    for answer in CHUNKED {
        check_framed(Over::Plain, answer, Completion::Chunked).await;
        check_framed(Over::Tls, answer, Completion::Chunked).await;
    }
}

/// Its end is the connection's, so that only an authenticated end proves anything; it then proves
/// whatever came before it to be all.
#[tokio::test]
async fn by_the_end_of_the_connection() {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nserver: x\r\n\r\n";
    let answer = [HEAD, CONTENT].concat();
    check(Over::Plain, &answer, |_, _| None).await;
    check(Over::Tls, &answer, |cut, end| {
        (cut >= HEAD.len() && end == End::Close).then_some(Completion::CloseNotify)
    })
    .await;
}

fn frame(kind: Kind, flags: u8, payload: &[u8]) -> Vec<u8> {
    Frame { kind, flags, stream: 1, payload: payload.to_vec() }.bytes()
}

#[tokio::test]
async fn by_frames() {
    const END_STREAM: u8 = 0x1;
    const END_HEADERS: u8 = 0x4;
    const PADDED: u8 = 0x8;
    // `:status: 200`, `content-length: 11`, `:status: 103` and `x-t: 1` in HPACK, without a table.
    let (ok, length) = ([0x88].as_slice(), [0x0f, 0x0d, 2, b'1', b'1'].as_slice());
    let hints = [8, 3, b'1', b'0', b'3'].as_slice();
    let trailer = [0, 3, b'x', b'-', b't', 1, b'1'].as_slice();
    let two = [frame(Kind::Data, 0, b"hello"), frame(Kind::Data, END_STREAM, b" world")].concat();
    let padded = [b"\x03".as_slice(), CONTENT, &[0; 3]].concat();
    let answers = [
        [frame(Kind::Headers, END_HEADERS, ok), two.clone()].concat(),
        [frame(Kind::Headers, END_HEADERS, &[ok, length].concat()), two].concat(),
        [
            frame(Kind::Headers, END_HEADERS, hints),
            frame(Kind::Headers, 0, ok),
            frame(Kind::Continuation, END_HEADERS, length),
            frame(Kind::Data, END_STREAM | PADDED, &padded),
        ]
        .concat(),
        [
            frame(Kind::Headers, END_HEADERS, ok),
            frame(Kind::Data, 0, CONTENT),
            frame(Kind::Headers, END_HEADERS | END_STREAM, trailer),
        ]
        .concat(),
    ];
    for answer in answers {
        check_framed(Over::Http2, &answer, Completion::EndStream).await;
    }
}
