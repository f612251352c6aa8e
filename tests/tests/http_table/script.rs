//! From a case to what the peer does.

use crate::case::{Act, Answer, Case, End, Framing};
use proofport_tests::peer::h2::{Frame, Kind};
use proofport_tests::peer::{self, h2};

/// The peer's script over HTTP/1.1.
pub(crate) fn http1(case: &Case, applies: bool) -> peer::Script {
    use peer::Act as Do;
    let default = [Act::ReadRequest, Act::Effect, Act::Answer];
    let mut acts = Vec::new();
    for act in case.http1.as_deref().unwrap_or(&default) {
        match act {
            Act::ReadRequest => acts.push(Do::ReadRequest),
            Act::ReadHead => acts.push(Do::ReadHead),
            Act::ReadBody => acts.push(Do::ReadBody),
            Act::Read(bytes) => acts.push(Do::Read(*bytes)),
            Act::Effect => acts.extend(applies.then_some(Do::Effect)),
            Act::Signal => acts.push(Do::Signal),
            Act::Answer => {
                acts.push(Do::Send(bytes(&case.answer)));
                acts.push(match case.answer.end {
                    End::Close => Do::Close,
                    End::Cut => Do::Cut,
                    End::Reset => Do::Reset,
                    End::Hold => Do::Hold,
                });
            }
            Act::Send(text) => acts.push(Do::Send(text.clone().into_bytes())),
            Act::SendTimes(text, times) => acts.push(Do::Send(text.repeat(*times).into_bytes())),
            Act::Close => acts.push(Do::Close),
            Act::Cut => acts.push(Do::Cut),
            Act::Reset => acts.push(Do::Reset),
            Act::Hold => acts.push(Do::Hold),
            Act::Headers(..)
            | Act::Fields(_)
            | Act::Data(..)
            | Act::Informational(_)
            | Act::ResetStream(_)
            | Act::GoAway(..)
            | Act::Frame(..) => panic!("{}: {act:?} is of HTTP/2", case.name),
        }
    }
    peer::Script(acts)
}

/// An answer over HTTP/1.1.
fn bytes(answer: &Answer) -> Vec<u8> {
    let mut text: String =
        answer.interim.iter().map(|status| format!("HTTP/1.1 {status} Go On\r\n\r\n")).collect();
    text.push_str(&format!("HTTP/1.1 {} Said\r\n", answer.status));
    for (name, value) in &answer.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    let body = &answer.body;
    match answer.framing {
        Framing::Length => text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len())),
        Framing::Chunked => {
            text.push_str("transfer-encoding: chunked\r\n\r\n");
            if !body.is_empty() {
                text.push_str(&format!("{:x}\r\n{body}\r\n", body.len()));
            }
            text.push_str("0\r\n");
            for (name, value) in &answer.trailers {
                text.push_str(&format!("{name}: {value}\r\n"));
            }
            text.push_str("\r\n");
        }
        Framing::Close | Framing::None => text.push_str(&format!("\r\n{body}")),
    }
    let mut bytes = text.into_bytes();
    bytes.truncate(bytes.len() - answer.cut);
    bytes
}

/// The peer's script over HTTP/2.
pub(crate) fn http2(case: &Case, applies: bool) -> h2::Script {
    use h2::Act as Do;
    let default = [Act::ReadRequest, Act::Effect, Act::Answer];
    let mut acts = Vec::new();
    for act in case.http2.as_deref().unwrap_or(&default) {
        match act {
            Act::ReadRequest => acts.push(Do::ReadRequest),
            Act::ReadHead => acts.push(Do::ReadHeaders),
            Act::ReadBody => acts.push(Do::ReadBody),
            Act::Effect => acts.extend(applies.then_some(Do::Effect)),
            Act::Signal => acts.push(Do::Signal),
            Act::Answer => {
                acts.extend(frames(&case.answer));
                acts.push(match case.answer.end {
                    End::Close => Do::Close,
                    End::Cut => Do::Cut,
                    End::Reset => Do::ResetTcp,
                    End::Hold => Do::Hold,
                });
            }
            Act::Close => acts.push(Do::Close),
            Act::Cut => acts.push(Do::Cut),
            Act::Reset => acts.push(Do::ResetTcp),
            Act::Hold => acts.push(Do::Hold),
            Act::Headers(status, end_stream) => {
                acts.push(Do::Headers { status: *status, headers: Vec::new(), end_stream: *end_stream });
            }
            Act::Fields(fields) => acts.push(Do::Trailers(fields.clone())),
            Act::Data(text, end_stream) => {
                acts.push(Do::Data { bytes: text.clone().into_bytes(), end_stream: *end_stream });
            }
            Act::Informational(status) => acts.push(Do::Informational(*status)),
            Act::ResetStream(code) => acts.push(Do::Reset(*code)),
            Act::GoAway(last_stream, code) => {
                acts.push(Do::GoAway { last_stream: *last_stream, code: *code });
            }
            Act::Frame(kind, flags, stream, payload) => {
                let frame = Frame {
                    kind: Kind::Other(*kind),
                    flags: *flags,
                    stream: *stream,
                    payload: payload.clone(),
                };
                acts.push(Do::Raw(frame.bytes()));
            }
            Act::Read(_) | Act::Send(_) | Act::SendTimes(..) => {
                panic!("{}: {act:?} is of HTTP/1.1", case.name)
            }
        }
    }
    h2::Script::opened(acts)
}

/// An answer over HTTP/2.
fn frames(answer: &Answer) -> Vec<h2::Act> {
    use h2::Act as Do;
    let mut acts: Vec<_> = answer.interim.iter().map(|status| Do::Informational(*status)).collect();
    let whole = answer.cut == 0;
    let (body, trailers) = (!answer.body.is_empty(), !answer.trailers.is_empty());
    acts.push(Do::Headers {
        status: answer.status,
        headers: answer.headers.clone(),
        end_stream: whole && !body && !trailers,
    });
    if body {
        let mut bytes = answer.body.clone().into_bytes();
        bytes.truncate(bytes.len() - answer.cut);
        acts.push(Do::Data { bytes, end_stream: whole && !trailers });
    }
    if whole && trailers {
        acts.push(Do::Trailers(answer.trailers.clone()));
    }
    acts
}

/// Whether the peer stays on the line for as long as the test lasts.
pub(crate) fn holds(acts: Option<&[Act]>, answer: &Answer) -> bool {
    let Some(acts) = acts else { return answer.end == End::Hold };
    acts.iter().any(|act| match act {
        Act::Hold => true,
        Act::Answer => answer.end == End::Hold,
        Act::ReadRequest
        | Act::ReadHead
        | Act::ReadBody
        | Act::Read(_)
        | Act::Effect
        | Act::Signal
        | Act::Send(_)
        | Act::SendTimes(..)
        | Act::Close
        | Act::Cut
        | Act::Reset
        | Act::Headers(..)
        | Act::Fields(_)
        | Act::Data(..)
        | Act::Informational(_)
        | Act::ResetStream(_)
        | Act::GoAway(..)
        | Act::Frame(..) => false,
    })
}
