//! Contents that arrive whole.

use crate::{Framing, LENGTHS, bytes, home, path, stored};
use proofport_core::contract::Outcome;
use proofport_core::digest::Digest;
use proofport_journal::CHUNK_BYTES;
use proofport_tests::peer::Act;

async fn check(framing: Framing, operation: &str) {
    let contents: Vec<_> = LENGTHS.iter().map(|length| (bytes(*length, 1), None)).collect();
    let peer = framing.peer(&contents, &Act::Close);
    let rig = home(&peer, "").await;
    let open = rig.open().await;
    let mut known = Vec::new();
    for (n, (content, _)) in contents.iter().enumerate() {
        let what = format!("{framing:?}, {operation}, {} bytes", content.len());
        let envelope = open.call(operation, &path(&n.to_string())).await;
        assert!(envelope.ok() && envelope.outcome() == Some(Outcome::Committed), "{what}: {envelope:?}");
        let facts = *envelope.content().expect(&what);
        let digest = Digest::of_bytes(content);
        assert_eq!((facts.bytes, facts.digest), (content.len() as u64, digest), "{what}");
        assert_eq!(u64::from(facts.chunks), facts.bytes.div_ceil(CHUNK_BYTES as u64), "{what}");
        // The connector saw what it was told of it, and nothing else.
        let result = envelope.result().unwrap();
        let told = format!("sha256:{}", result["digest"].as_str().unwrap());
        assert_eq!((&result["bytes"], told), (&facts.bytes.into(), digest.to_string()));
        let id = envelope.request_id().unwrap();
        let got = stored(open.broker.journal(), &id).expect(&what);
        assert!(got == *content, "{what}: {} other bytes", got.len());
        assert_eq!(peer.effects(), n + 1, "{what}");
        known.push((id, facts));
    }
    open.close();
    // After a restart and its sweep everything is still there.
    let open = rig.open().await;
    let month = std::time::Duration::from_secs(30 * 24 * 3600);
    let swept = open.broker.sweep_contents(month).unwrap();
    assert_eq!((swept.kept, swept.incomplete, swept.unwanted), (LENGTHS.len() as u64, 0, 0));
    for ((id, facts), (content, _)) in known.iter().zip(&contents) {
        assert_eq!(open.result(id).content(), Some(facts));
        assert!(stored(open.broker.journal(), id).unwrap() == *content, "{framing:?}, {operation}: restart");
    }
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_arrive_as_they_were_sent() {
    for framing in Framing::ALL {
        for operation in framing.operations() {
            check(framing, operation).await;
        }
    }
}
