//! A peer that reflects the secret inside of a large content: it is masked or the content is not kept,
//! wherever it falls, and no file ever holds it.

use crate::{Framing, home, path, stored};
use data_encoding::{BASE64, BASE64URL, Encoding};
use proofport_core::contract::Outcome;
use proofport_journal::CHUNK_BYTES;
use proofport_tests::canary::{assert_absent, assert_absent_below, shapes};
use proofport_tests::peer::Act;
use proofport_tests::rig::CANARY;

/// So much that the secret is in the middle of several portions.
const LENGTH: usize = 2 * CHUNK_BYTES + 1000;

/// A content with these bytes in it.
fn around(at: usize, secret: &[u8]) -> Vec<u8> {
    let mut content = vec![b'.'; LENGTH];
    content[at..at + secret.len()].copy_from_slice(secret);
    content
}

/// The secret as a peer may reflect it: what `shapes` cuts down to what can be looked for, whole.
fn reflected() -> Vec<(&'static str, Vec<u8>)> {
    let whole = |encoding: &Encoding, lead: &str| encoding.encode(format!("{lead}{CANARY}").as_bytes());
    let mut reflected = shapes(CANARY);
    reflected.retain(|(shape, _)| {
        !["base64, shifted by one", "base64, shifted by two", "base64url"].contains(shape)
    });
    // Nobody answers with a list of numbers, and the guard knows of none.
    reflected.retain(|(shape, _)| *shape != "debug of bytes");
    for (shape, text) in [
        ("base64 behind one byte", whole(&BASE64, "x")),
        ("base64 behind two bytes", whole(&BASE64, "xy")),
        ("base64url", whole(&BASE64URL, "")),
        ("base64 of a login", whole(&BASE64, "user:")),
    ] {
        reflected.push((shape, text.into_bytes()));
    }
    reflected
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reflected_secret_is_never_kept() {
    let mut cases = Vec::new();
    for (shape, secret) in reflected() {
        for border in [CHUNK_BYTES, 2 * CHUNK_BYTES] {
            // Before the border, across it in three ways, and behind it.
            let length = secret.len();
            for before in [length, length - 1, length / 2, 1, 0] {
                cases.push((
                    format!("{shape}, {before} bytes before {border}"),
                    border - before,
                    secret.clone(),
                ));
            }
        }
    }
    cases.push(("exact, first".to_owned(), 0, CANARY.into()));
    cases.push(("exact, last".to_owned(), LENGTH - CANARY.len(), CANARY.into()));
    let contents: Vec<_> = cases.iter().map(|(_, at, secret)| (around(*at, secret), None)).collect();
    let peer = Framing::Chunked.peer(&contents, &Act::Close);
    let rig = home(&peer, "").await;
    let open = rig.open().await;
    for (n, (what, at, secret)) in cases.iter().enumerate() {
        let envelope = open.call("export", &path(&n.to_string())).await;
        let id = envelope.request_id().unwrap();
        let kept = stored(open.broker.journal(), &id);
        assert_eq!(kept.is_some(), envelope.ok(), "{what}: {envelope:?}");
        assert_absent(CANARY, what, serde_json::to_string(&envelope).unwrap().as_bytes());
        if let Some(kept) = &kept {
            assert_absent(CANARY, what, kept);
            // The rest is as it was.
            let rest = LENGTH - at - secret.len();
            assert!(kept[..*at].iter().all(|byte| *byte == b'.'), "{what}");
            assert!(kept[kept.len() - rest..].iter().all(|byte| *byte == b'.'), "{what}");
            let envelope_bytes = envelope.content().unwrap().bytes;
            assert_eq!(envelope_bytes, kept.len() as u64, "{what}");
        } else {
            assert_eq!(envelope.outcome(), Some(Outcome::Unknown), "{what}");
        }
        if secret == CANARY.as_bytes() {
            assert!(kept.is_some(), "{what}: the exact secret can be masked: {envelope:?}");
        }
    }
    // The peer had it all the time: this test looks for the right thing.
    assert!(peer.received().iter().all(|bytes| String::from_utf8_lossy(bytes).contains(CANARY)));
    open.close();
    assert_absent_below(CANARY, &rig.home());
}
