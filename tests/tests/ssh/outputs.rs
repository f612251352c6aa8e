//! Output that is too long to be shown: stored whole for the caller to fetch, or not claimed to be there.

use crate::world::{Declared, Terms, declaring, head, home, published, record, run, runs};
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::envelope::Envelope;
use proofport_core::ssh::SshRow;
use proofport_tests::rig::Open;
use proofport_tests::sshd::Sshd;
use sha2::{Digest as _, Sha256};

/// The line that is printed over and over.
const LINE: &[u8] = b"proofport\n";

/// Length and SHA-256 of what `yes proofport | head -c LENGTH` prints.
fn printed(length: u64) -> (u64, String) {
    let mut hash = Sha256::new();
    let block = LINE.repeat(4096);
    let mut left = usize::try_from(length).unwrap();
    while left > 0 {
        let part = left.min(block.len());
        hash.update(&block[..part]);
        left -= part;
    }
    (length, hex(hash))
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Length and SHA-256 of what can be fetched; none: nothing is kept.
fn kept(open: &Open, envelope: &Envelope) -> Option<(u64, String)> {
    let content = open.broker.journal().content(&envelope.request_id().unwrap()).unwrap()?;
    let (mut length, mut hash) = (0, Sha256::new());
    for number in 0..content.facts().chunks {
        let chunk = content.chunk(number).unwrap();
        length += chunk.len() as u64;
        hash.update(&chunk[..]);
    }
    Some((length, hex(hash)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_output_is_stored_whole() {
    const LONG: u64 = 200 << 20;
    let sshd = Sshd::start();
    let once = "echo ran >>RUNS; yes proofport | head -c 209715200; printf aside >&2";
    let commands = [
        Declared("long", once, false),
        Declared("once-long", once, true),
        Declared("short", "echo ran >>RUNS; printf short", false),
        Declared("failed", "echo ran >>RUNS; yes proofport | head -c 8388608; exit 3", false),
    ];
    let rig = declaring(&sshd, &Terms::of(&sshd), &commands).await;
    let open = rig.open().await;
    for (n, command) in ["long", "once-long"].into_iter().enumerate() {
        let envelope = run(&open, command).await;
        assert!(envelope.ok(), "{command}: {envelope:?}");
        assert_eq!(runs(&sshd), n + 1, "{command}");
        let (bytes, digest) = printed(LONG);
        let result = envelope.result().unwrap();
        let told = (result["stdout_bytes"].as_u64(), result["stdout_sha256"].as_str());
        assert_eq!(told, (Some(bytes), Some(digest.as_str())), "{command}");
        let facts = envelope.content().unwrap();
        assert_eq!((facts.bytes, facts.digest.hex()), (bytes, digest.clone()), "{command}");
        assert!(kept(&open, &envelope) == Some((bytes, digest)), "{command}: other bytes are kept");
        assert_eq!(published(&envelope)["evidence"]["stdout_complete"], true);
    }
    // A short one is shown, and nothing is kept of what failed.
    let short = run(&open, "short").await;
    assert_eq!((short.result().unwrap()["stdout"].as_str(), short.content()), (Some("short"), None));
    let failed = run(&open, "failed").await;
    let got = (failed.outcome(), failed.code(), published(&failed)["exit_status"].as_u64());
    assert_eq!(got, (Some(Outcome::Committed), Some(Code::RemoteFailed), Some(3)), "{failed:?}");
    assert_eq!((failed.content(), kept(&open, &failed)), (None, None));
    open.close();
}

/// An operation that has nothing stored, and one whose output is over every limit.
#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_kept_is_not_claimed() {
    let sshd = Sshd::start();
    let terms = Terms::of(&sshd);
    let toml = head(&sshd, &terms).replace(
        "setup_attempts = 1\n",
        "setup_attempts = 1\nresponse_bytes = 65536\ncontent_bytes = 1048576\n",
    );
    let rig = home("execs", &sshd, &terms, &toml).await;
    let open = rig.open().await;
    let check = async |operation: &str, length: u64, code: Option<Code>, stored: bool, status: u8| {
        let runs = runs(&sshd);
        let here = sshd.path("").display().to_string();
        let script = format!("echo ran >>{here}runs; yes proofport | head -c {length}; exit {status}");
        let envelope =
            open.call(operation, &serde_json::json!({ "argv": ["sh", "-c", script] }).to_string()).await;
        let what = format!("{operation} {length}: {envelope:?}");
        assert_eq!((envelope.outcome(), envelope.code()), (Some(Outcome::Committed), code), "{what}");
        assert_eq!(kept(&open, &envelope), stored.then(|| printed(length)), "{what}");
        assert_eq!((envelope.content().is_some(), envelope.ok()), (stored, code.is_none()), "{what}");
        assert_eq!(published(&envelope)["exit_status"].as_u64(), Some(status.into()), "{what}");
        assert_eq!(crate::world::runs(&sshd), runs + 1, "{what}");
        let state = record(&open, &envelope);
        SshRow::of(state.attempts[0].end.as_ref().unwrap().evidence.ssh().unwrap())
    };
    let (unreadable, failed) = (Some(Code::ResultUnreadable), Some(Code::RemoteFailed));
    assert_eq!(check("exec", 65_536, None, false, 0).await, SshRow::Success);
    assert_eq!(check("exec", 65_537, unreadable, false, 0).await, SshRow::OutputNotTaken);
    assert_eq!(check("exec", 65_537, failed, false, 4).await, SshRow::Status);
    assert_eq!(check("stored", 8192, None, false, 0).await, SshRow::Success);
    assert_eq!(check("stored", 8193, None, true, 0).await, SshRow::Success);
    assert_eq!(check("stored", 1 << 20, None, true, 0).await, SshRow::Success);
    assert_eq!(check("stored", (1 << 20) + 1, unreadable, false, 0).await, SshRow::OutputNotTaken);
    assert_eq!(check("stored", 1 << 20, failed, false, 5).await, SshRow::Status);
    open.close();
}
