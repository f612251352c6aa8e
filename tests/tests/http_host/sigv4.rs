//! AWS Signature Version 4, recomputed here from the bytes that a peer received.

use crate::{OK, Site, received, record};
use data_encoding::HEXLOWER;
use proofport_core::contract::InjectionMode;
use proofport_core::origin::Origin;
use proofport_tests::canary::{assert_absent, assert_absent_below};
use proofport_tests::peer::{Peer, Script};
use proofport_tests::rig::{CANARY, Rig};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;

const API: &str = "access_key_id = \"AKIDEXAMPLE\"\nregion = \"eu-central-1\"\nservice = \"execute-api\"";
const S3: &str = "access_key_id = \"AKIDEXAMPLE\"\nregion = \"us-east-1\"\nservice = \"s3\"";

fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// HMAC (RFC 2104) with SHA-256.
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut block = if key.len() > 64 { Sha256::digest(key).to_vec() } else { key.to_vec() };
    block.resize(64, 0);
    let pad = |with: u8| block.iter().map(|byte| byte ^ with).collect::<Vec<u8>>();
    let inner = Sha256::digest([pad(0x36), text.to_vec()].concat());
    Sha256::digest([pad(0x5c), inner.to_vec()].concat()).to_vec()
}

#[test]
fn the_hmac_is_the_one_of_rfc_4231() {
    let check = |key: &[u8], text: &[u8], expected: &str| {
        assert_eq!(HEXLOWER.encode(&hmac(key, text)), expected);
    };
    check(
        b"Jefe",
        b"what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    );
    check(
        &[0xaa; 131],
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    );
}

/// A request as it came.
struct Came {
    method: String,
    path: String,
    /// Sorted and as they are signed.
    query: String,
    fields: BTreeMap<String, String>,
    body: Vec<u8>,
}

fn read(text: &str) -> Came {
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let mut line = lines.next().unwrap().split(' ');
    let (method, target) = (line.next().unwrap().to_owned(), line.next().unwrap());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut pairs: Vec<&str> = query.split('&').collect();
    pairs.sort_unstable();
    let fields = lines.map(|line| {
        let (field, value) = line.split_once(':').unwrap();
        (field.to_ascii_lowercase(), value.trim().to_owned())
    });
    Came {
        method,
        path: path.to_owned(),
        query: pairs.join("&"),
        fields: fields.collect(),
        body: body.as_bytes().to_vec(),
    }
}

impl Came {
    /// What `Authorization` says, in its three parts.
    fn authorization(&self) -> (String, Vec<String>, String) {
        let text = self.fields["authorization"].strip_prefix("AWS4-HMAC-SHA256 ").unwrap();
        let part = |name: &str| {
            let parts = text.split(", ");
            parts.filter_map(|part| part.strip_prefix(name)).next().unwrap().to_owned()
        };
        let signed = part("SignedHeaders=").split(';').map(str::to_owned).collect();
        (part("Credential="), signed, part("Signature="))
    }

    /// The signature that this request ought to have.
    fn signature(&self, secret: &str) -> String {
        let (credential, signed, _) = self.authorization();
        let scope = credential.split_once('/').unwrap().1;
        let headers: String =
            signed.iter().map(|field| format!("{field}:{}\n", self.fields[field])).collect();
        let canonical = format!(
            "{}\n{}\n{}\n{headers}\n{}\n{}",
            self.method,
            self.path,
            self.query,
            signed.join(";"),
            sha256(&self.body)
        );
        let date = &self.fields["x-amz-date"];
        let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", sha256(canonical.as_bytes()));
        let key = scope
            .split('/')
            .fold(format!("AWS4{secret}").into_bytes(), |key, part| hmac(&key, part.as_bytes()));
        HEXLOWER.encode(&hmac(&key, text.as_bytes()))
    }
}

fn signing(origin: Origin, companions: &'static str) -> Site {
    Site { mode: InjectionMode::AwsSigv4, companions, ..Site::of(origin) }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_signed_with_their_content() {
    for (companions, scope) in [(API, "eu-central-1/execute-api"), (S3, "us-east-1/s3")] {
        let peer = Peer::http(Script::answer(OK));
        let rig = signing(peer.origin(), companions).make().await;
        let open = rig.open().await;
        let mut signatures = Vec::new();
        for (n, operation) in ["act", "keyed", "look"].into_iter().enumerate() {
            let envelope = open.call(operation, "{}").await;
            assert!(envelope.ok(), "{envelope:?}");
            let text = received(&peer, n);
            let came = read(&text);
            let (credential, signed, signature) = came.authorization();
            let date = &came.fields["x-amz-date"][..8];
            assert_eq!(credential, format!("AKIDEXAMPLE/{date}/{scope}/aws4_request"));
            for field in ["host", "x-amz-date"] {
                assert!(signed.iter().any(|signed| signed == field), "{operation}: {signed:?}");
            }
            assert_eq!(signed.iter().any(|field| field == "idempotency-key"), operation == "keyed");
            assert_eq!(signature, came.signature(CANARY), "{operation}: {text}");
            let hash = came.fields.get("x-amz-content-sha256");
            assert_eq!(hash.is_some(), companions == S3, "{operation}");
            assert!(hash.is_none_or(|hash| *hash == sha256(&came.body)), "{operation}");
            // The content is under the signature: another content would have another one.
            let other = Came { body: b"amount=2".to_vec(), ..read(&text) };
            assert_ne!(other.signature(CANARY), signature);
            assert_absent(CANARY, "the request", text.as_bytes());
            let stored =
                serde_json::to_vec(&open.broker.diagnostic(&envelope.request_id().unwrap()).unwrap())
                    .unwrap();
            assert_absent(&signature, "the record", &stored);
            signatures.push(signature);
        }
        open.close();
        for secret in signatures.iter().map(String::as_str).chain([CANARY]) {
            assert_absent_below(secret, &rig.home());
        }
    }
}

/// A server that answers one request with what it read, in a field and in the content.
fn mirror() -> (Origin, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = Origin::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut text = Vec::new();
            while !text.ends_with(b"amount=1") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                text.extend(byte);
            }
            let text = String::from_utf8(text).unwrap();
            let signed = read(&text).fields["authorization"].clone();
            let body = format!("{{\"you sent\":\"{signed}\"}}");
            let head = format!(
                "HTTP/1.1 401 X\r\nx-seen: {signed}\r\nconnection: close\r\ncontent-length: {}",
                body.len()
            );
            stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
            if tell.send(signed).is_err() {
                return;
            }
        }
    });
    (origin, told)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reflected_signature_reaches_nobody() {
    let (origin, told) = mirror();
    let rig = signing(origin, API).make().await;
    reflects(&rig, |text| {
        let signed = told.try_recv().unwrap();
        let signature = signed.rsplit_once("Signature=").unwrap().1;
        assert_eq!(signature.len(), 64);
        assert_absent(signature, "the answer and the record", text);
        assert_absent_below(signature, &rig.home());
    })
    .await;
    // The secret never travels. Should the peer know it all the same, it is not passed on either.
    let body = format!("{{\"you have\":\"{CANARY}\"}}");
    let answer = format!("HTTP/1.1 401 X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let peer = Peer::http(Script::answer(answer));
    let rig = signing(peer.origin(), API).make().await;
    reflects(&rig, |_| ()).await;
}

/// One write, and everything that there is to see of it.
async fn reflects(rig: &Rig, look: impl Fn(&[u8])) {
    let open = rig.open().await;
    let envelope = open.call("act", "{}").await;
    let state = record(&open, &envelope);
    let evidence = &state.attempts[0].end.as_ref().unwrap().evidence;
    assert!(evidence.masked() > 0 || evidence.withheld(), "{evidence:?}");
    let id = envelope.request_id().unwrap();
    let text = format!(
        "{envelope:?} {} {:?} {:?}",
        serde_json::to_string(&envelope).unwrap(),
        open.broker.diagnostic(&id).unwrap(),
        open.broker.timeline(&id).unwrap()
    );
    open.close();
    assert_absent(CANARY, "the answer and the record", text.as_bytes());
    assert_absent_below(CANARY, &rig.home());
    look(text.as_bytes());
}
