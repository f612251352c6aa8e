//! Large results through a whole host: from a peer's response into the journal's store, and from there to
//! whoever asks. The peer's log and the peer's own bytes are the truth.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod broken;
mod leaks;
mod program;
mod store;
mod whole;

use proofport_core::id::RequestId;
use proofport_journal::{CHUNK_BYTES, Journal};
use proofport_tests::evidence::Seeded;
use proofport_tests::peer::{Act, Ca, Peer, Script, h2};
use proofport_tests::rig::{Rig, Wanted};
use std::path::PathBuf;
use std::sync::LazyLock;

/// One authority for all, since making keys is slow.
static CA: LazyLock<Ca> = LazyLock::new(Ca::new);

/// How a response's end is known, and over what it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length,
    Chunked,
    /// Over TLS, which alone can end it.
    Close,
    /// Over TLS; only queries may take it here.
    Http2,
}

impl Framing {
    const ALL: [Self; 4] = [Self::Length, Self::Chunked, Self::Close, Self::Http2];

    /// A success with this content, as its head and the rest. In HTTP/2 the head is the script's.
    fn answer(self, content: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let head = |field: &str| format!("HTTP/1.1 200 OK\r\n{field}\r\n").into_bytes();
        match self {
            Self::Length => (head(&format!("content-length: {}\r\n", content.len())), content.to_vec()),
            Self::Close => (head(""), content.to_vec()),
            Self::Chunked => {
                let mut body = Vec::new();
                for part in content.chunks(10_007) {
                    body.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
                    body.extend_from_slice(part);
                    body.extend_from_slice(b"\r\n");
                }
                body.extend_from_slice(b"0\r\n\r\n");
                (head("transfer-encoding: chunked\r\n"), body)
            }
            Self::Http2 => {
                let frame = |part: &[u8], flags| {
                    h2::Frame { kind: h2::Kind::Data, flags, stream: 1, payload: part.to_vec() }.bytes()
                };
                let parts = content.chunks(16_384).map(|part| frame(part, 0));
                (Vec::new(), parts.chain([frame(b"", 1)]).flatten().collect())
            }
        }
    }

    /// A peer that answers each of these on a connection of its own, and sends no more than so much of
    /// what follows the head.
    fn peer(self, contents: &[(Vec<u8>, Option<usize>)], end: &Act) -> Peer {
        let part = |content: &[u8], cut: Option<usize>| {
            let (head, mut body) = self.answer(content);
            body.truncate(cut.unwrap_or(usize::MAX));
            (head, body)
        };
        if self == Self::Http2 {
            let script = |(content, cut): &(Vec<u8>, Option<usize>)| {
                let (_, body) = part(content, *cut);
                let head = h2::Act::Headers { status: 200, headers: Vec::new(), end_stream: false };
                let end = if *end == Act::Reset { h2::Act::ResetTcp } else { h2::Act::Close };
                h2::Script::opened([h2::Act::ReadRequest, h2::Act::Effect, head, h2::Act::Raw(body), end])
            };
            return Peer::https2(contents.iter().map(script).collect::<Vec<_>>(), &CA);
        }
        let script = |(content, cut): &(Vec<u8>, Option<usize>)| {
            let (head, body) = part(content, *cut);
            Script(vec![Act::ReadRequest, Act::Effect, Act::Send(head), Act::Send(body), end.clone()])
        };
        let scripts: Vec<Script> = contents.iter().map(script).collect();
        if self == Self::Close { Peer::https(scripts, &CA) } else { Peer::http(scripts) }
    }

    /// Which operations can be answered like this.
    const fn operations(self) -> &'static [&'static str] {
        match self {
            Self::Length | Self::Chunked | Self::Close => &["fetch", "export"],
            Self::Http2 => &["fetch"],
        }
    }
}

/// A home whose connection to this peer keeps nothing open, with more lines in its limits.
async fn home(peer: &Peer, limits: &str) -> Rig {
    Rig::new(&wanted(peer, "", limits)).await
}

fn wanted(peer: &Peer, more: &str, limits: &str) -> Wanted {
    let mut wanted = Wanted::new("download", peer.origin(), "key");
    wanted.more = format!("ca_file = {:?}\n{more}", ca_file().to_str().unwrap());
    wanted.limits(&format!("idle_seconds = 0\nsetup_attempts = 1\n{limits}"))
}

/// The authority's certificate, for as long as the test program runs.
fn ca_file() -> PathBuf {
    static FILE: LazyLock<(tempfile::TempDir, PathBuf)> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, CA.pem()).unwrap();
        (folder, file)
    });
    FILE.1.clone()
}

/// Bytes that are like no others.
fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut random = Seeded::new(seed);
    let mut bytes: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| random.next().to_be_bytes()).collect();
    bytes.truncate(length);
    bytes
}

/// The input for this path.
fn path(path: &str) -> String {
    format!("{{\"path\":\"/{path}\"}}")
}

/// The stored content, whole; none if there is none.
fn stored(journal: &Journal, id: &RequestId) -> Option<Vec<u8>> {
    let content = journal.content(id).unwrap()?;
    Some((0..content.facts().chunks).flat_map(|chunk| content.chunk(chunk).unwrap().to_vec()).collect())
}

/// Lengths around the borders of chunks.
const LENGTHS: [usize; 7] =
    [0, 1, 17, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 12_345];
