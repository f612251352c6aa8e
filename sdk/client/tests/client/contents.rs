//! Stored contents come whole, or say where they broke off.

use crate::host::{Host, ID, Reply, answer, failure, sent};
use proofport_client::{CallError, Cause, Code, ContentError, Malformed, RequestId};
use std::time::Duration;

const KIND: &str = "application/octet-stream";
const UNAVAILABLE: [&str; 5] = ["RESULT_UNAVAILABLE", "committed", "never", "nobody", "stop_and_report"];

fn id() -> RequestId {
    RequestId::parse(ID).unwrap()
}

/// What came, and how it ended.
async fn copied(host: &Host, from: u64) -> (Vec<u8>, Result<(), ContentError>) {
    let mut copied = Vec::new();
    let mut content = match host.client.content(&id(), from).await {
        Ok(content) => content,
        Err(error) => return (copied, Err(error)),
    };
    loop {
        match content.next().await {
            Ok(Some(piece)) => copied.extend_from_slice(&piece),
            Ok(None) => {
                assert_eq!((content.at(), content.digest()), (content.bytes(), "d"));
                return (copied, Ok(()));
            }
            Err(error) => return (copied, Err(error)),
        }
    }
}

#[tokio::test]
async fn a_content_comes_from_any_byte_on() {
    let whole: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let part = "etag: \"d\"\r\ncontent-range: bytes 70000-299999/300000\r\n";
    let host = Host::unix(vec![
        Reply::Raw(answer(200, KIND, "etag: \"d\"\r\n", &whole)),
        Reply::Raw(answer(206, KIND, part, &whole[70_000..])),
        Reply::Raw(answer(200, KIND, "etag: \"d\"\r\n", b"")),
    ])
    // It is held nowhere, so that no limit of answers is its.
    .with(|client| client.with_answer_limit(1000));
    assert_eq!(copied(&host, 0).await, (whole.clone(), Ok(())));
    assert_eq!(copied(&host, 70_000).await, (whole[70_000..].to_vec(), Ok(())));
    assert_eq!(copied(&host, 0).await, (Vec::new(), Ok(())));
    let got = host.got();
    assert!(got.iter().all(|got| got.line == format!("GET /v1/invocations/{ID}/content")), "{got:?}");
    let ranges: Vec<bool> = got.iter().map(|got| got.head.contains("\r\nrange: bytes=70000-")).collect();
    assert_eq!(ranges, [false, true, false]);
    assert!(!got[0].head.contains("range:"), "{got:?}");
}

#[tokio::test]
async fn a_content_that_breaks_off_says_where() {
    let whole = answer(200, KIND, "etag: \"d\"\r\n", &[7; 100]);
    let host = Host::unix(vec![Reply::Raw(whole[..whole.len() - 40].to_vec())]);
    let broken = Err(ContentError::BrokeOff { at: 60, cause: Cause::Broken });
    assert_eq!(copied(&host, 0).await, (vec![7; 60], broken));
    host.got();
    let host =
        Host::unix(vec![Reply::Silence]).with(|client| client.with_patience(Duration::from_millis(200)));
    let (_, ended) = copied(&host, 0).await;
    assert!(matches!(ended, Err(ContentError::Call(CallError::NoAnswer(_)))), "{ended:?}");
    host.got();
}

#[tokio::test]
async fn where_there_is_none_the_answer_says_so() {
    let unsatisfied = "etag: \"d\"\r\ncontent-range: bytes */100\r\n";
    let host = Host::unix(vec![
        Reply::Raw(answer(416, "", unsatisfied, b"")),
        sent(failure(UNAVAILABLE, Some(ID))),
        Reply::Raw(answer(200, KIND, "etag: \"d\"\r\n", b"the whole, which was not asked for")),
        Reply::Raw(answer(403, "", "", b"")),
    ]);
    assert_eq!(copied(&host, 100).await.1, Err(ContentError::PastEnd { bytes: 100 }));
    let Err(ContentError::Call(CallError::Answered(envelope))) = copied(&host, 0).await.1 else {
        panic!("it came");
    };
    assert_eq!(envelope.code(), Some(Code::ResultUnavailable));
    for status in [200, 403] {
        let malformed = CallError::Malformed(Malformed::NoEnvelope(status));
        assert_eq!(copied(&host, 7).await.1, Err(ContentError::Call(malformed)));
    }
    host.got();
}
