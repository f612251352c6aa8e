//! Stored contents over HTTP: whole, from any byte on, resumed after a break.

use crate::served::{Served, id, settings};
use crate::wire::{Answer, request};
use proofport_journal::CHUNK_BYTES;
use proofport_tests::evidence::Seeded;
use proofport_tests::peer::{Act, Peer, Script};
use proofport_tests::rig::{Rig, Wanted};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const LENGTH: usize = 2 * CHUNK_BYTES + 777;

/// A host with one content, its bytes, and where it is fetched.
async fn stored() -> (Peer, Served, Vec<u8>, String) {
    let mut random = Seeded::new(3);
    let mut content: Vec<u8> = (0..LENGTH.div_ceil(8)).flat_map(|_| random.next().to_be_bytes()).collect();
    content.truncate(LENGTH);
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LENGTH}\r\n\r\n").into_bytes();
    let acts = vec![Act::ReadRequest, Act::Effect, Act::Send(head), Act::Send(content.clone()), Act::Close];
    let peer = Peer::http(Script(acts));
    let wanted = Wanted::new("download", peer.origin(), "key").limits("idle_seconds = 0\nsetup_attempts = 1");
    let served = Served::new(Rig::new(&wanted).await, settings()).await;
    let called = served.call("export", r#"{"path":"/x"}"#).await;
    assert_eq!(called.status, 200, "{called:?}");
    let target = format!("/v1/invocations/{}/content", id(&called));
    (peer, served, content, target)
}

async fn fetch(served: &Served, target: &str, fields: &[&str]) -> Answer {
    let token = format!("authorization: Bearer {}", served.token);
    let fields: Vec<&str> = ["host: localhost", &token].iter().chain(fields).copied().collect();
    let answer = served.http().exchange(request("GET", target, &fields, "").as_bytes()).await;
    crate::agreed::agrees("GET", target, &answer);
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_is_fetched_whole_and_in_parts() {
    let (_peer, served, content, target) = stored().await;
    let whole = fetch(&served, &target, &[]).await;
    assert!(whole.status == 200 && whole.body == content);
    let tag = whole.field("etag").unwrap().to_owned();
    assert!(tag.starts_with("\"sha256:"), "{tag}");
    assert_eq!(whole.field("accept-ranges"), Some("bytes"));
    let of = |from: usize, to: usize| format!("bytes {from}-{}/{LENGTH}", to - 1);
    for (range, from, to) in [
        ("bytes=0-0".to_owned(), 0, 1),
        (format!("bytes={}-{}", CHUNK_BYTES - 1, CHUNK_BYTES), CHUNK_BYTES - 1, CHUNK_BYTES + 1),
        (format!("bytes={}-", CHUNK_BYTES), CHUNK_BYTES, LENGTH),
        (format!("bytes={}-99999999", LENGTH - 1), LENGTH - 1, LENGTH),
        ("bytes=-777".to_owned(), LENGTH - 777, LENGTH),
    ] {
        let part = fetch(&served, &target, &[&format!("range: {range}"), &format!("if-range: {tag}")]).await;
        assert_eq!((part.status, part.field("content-range")), (206, Some(of(from, to).as_str())), "{range}");
        assert!(part.body == content[from..to], "{range}");
    }
    let other = fetch(&served, &target, &["range: bytes=5-", "if-range: \"sha256:other\""]).await;
    assert!(other.status == 200 && other.body == content);
    let beyond = fetch(&served, &target, &[&format!("range: bytes={LENGTH}-")]).await;
    assert_eq!(beyond.status, 416);
    assert_eq!(beyond.field("content-range"), Some(format!("bytes */{LENGTH}").as_str()));
    let known = fetch(&served, &target, &[&format!("if-none-match: {tag}")]).await;
    assert_eq!((known.status, known.body.len()), (304, 0));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_broke_off_goes_on_where_it_did() {
    let (_peer, served, content, target) = stored().await;
    let mut stream = served.http().connect().await;
    stream.write_all(served.request("GET", &target, "").as_bytes()).await.unwrap();
    let mut bytes = vec![0; CHUNK_BYTES];
    stream.read_exact(&mut bytes).await.unwrap();
    drop(stream);
    let begun = crate::wire::parse(&bytes).body;
    let rest = fetch(&served, &target, &[&format!("range: bytes={}-", begun.len())]).await;
    assert_eq!(rest.status, 206);
    assert!([begun, rest.body].concat() == content);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_content_is_never_whole() {
    let (_peer, served, content, target) = stored().await;
    let mut files = Vec::new();
    let mut folders = vec![served.rig.home()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    // The last chunk is the only file of its length.
    let last = |path: &&std::path::PathBuf| (778..2000).contains(&path.metadata().unwrap().len());
    let mut stored = files.iter().filter(|path| path.to_str().unwrap().contains("results"));
    let chunk = stored.find(last).unwrap();
    let mut sealed = std::fs::read(chunk).unwrap();
    let middle = sealed.len() / 2;
    sealed[middle] ^= 1;
    std::fs::write(chunk, sealed).unwrap();
    let answer = served.http().exchange(served.request("GET", &target, "").as_bytes()).await;
    assert!(answer.status == 200 && !answer.is_whole());
    assert!(answer.body.len() <= 2 * CHUNK_BYTES && content.starts_with(&answer.body));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_is_none_the_answer_says_why() {
    let (_peer, rig) = crate::served::home(Script::answer(crate::OK)).await;
    let served = Served::new(rig, settings()).await;
    let id = id(&served.call("plain", "{}").await);
    let none = fetch(&served, &format!("/v1/invocations/{id}/content"), &[]).await;
    assert_eq!((none.status, &none.json()["code"]), (410, &"RESULT_UNAVAILABLE".into()));
    served.stop().await;
}
