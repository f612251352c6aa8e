//! What each operation does and says.

use super::{Host, archive, claims, first, is_query, next, of_bytes, of_folder, output, reconcile, start};
use proofport_connector_ssh_deploy::SshDeploy;
use proofport_sdk::{Connector, Outcome, Reason};
use serde_json::{Value, json};
use tempfile::TempDir;

const DONE: (Outcome, bool, Reason) = (Outcome::Committed, true, Reason::Done);
const PRESENT: (Outcome, bool, Reason) = (Outcome::Committed, true, Reason::Present);
const ABSENT: (Outcome, bool, Reason) = (Outcome::Rejected, false, Reason::Absent);

#[test]
fn a_release_is_made_current_once() {
    let host = Host::new();
    let (one, two) = (archive("one"), archive("two"));
    assert_eq!(claims(&reconcile(&host.release("r1", &one))), ABSENT);
    let check = |call, current: bool, sha256: &str, version: &str| {
        let verdict = next(&call, None);
        let id = serde_json::from_str::<Value>(&call.input).unwrap()["id"].clone();
        let want = json!({ "id": id, "sha256": sha256, "current": current });
        assert_eq!((claims(&verdict), output(&verdict)), (DONE, want.clone()));
        let verdict = reconcile(&call);
        assert_eq!((claims(&verdict), output(&verdict)), (PRESENT, want));
        assert_eq!(host.version().as_deref(), Some(version));
    };
    check(host.release("r1", &one), true, &one.sha256, "one");
    check(host.release("r1", &one), true, &one.sha256, "one");
    check(host.release("r2", &two), true, &two.sha256, "two");
    // The first again, late: it was current once, and that is all that was asked for.
    check(host.release("r1", &one), false, &one.sha256, "two");
    check(host.rollback("r1", "ppk1"), true, &one.sha256, "one");
    check(host.rollback("r2", "ppk2"), true, &two.sha256, "two");
    check(host.rollback("r1", "ppk1"), false, &one.sha256, "two");
    assert_eq!(claims(&reconcile(&host.rollback("r1", "ppk3"))), ABSENT);
    let verdict = next(&host.call("current", "ppc", &json!({})), None);
    let releases = json!([{ "id": "r1", "sha256": one.sha256 }, { "id": "r2", "sha256": two.sha256 }]);
    assert_eq!(
        (claims(&verdict), output(&verdict)),
        (DONE, json!({ "current": "r2", "releases": releases }))
    );
}

#[test]
fn what_is_refused_changed_nothing() {
    let host = Host::new();
    let one = archive("one");
    assert_eq!(claims(&next(&host.release("r1", &one), None)), DONE);
    let check = |call, input: Option<usize>, reason: Reason, why: &str| {
        let verdict = next(&call, input);
        assert_eq!(claims(&verdict), (Outcome::Rejected, false, reason), "{why}");
        assert_eq!(output(&verdict), json!({ "why": why }));
        let kept: Vec<_> = std::fs::read_dir(host.path("releases"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!((kept, host.version().as_deref()), (vec!["r1".into()], Some("one")), "{why}");
    };
    let two = archive("two");
    check(host.release("r1", &two), None, Reason::Conflict, "conflict");
    for cut in [0, 1, 511, two.bytes.len() - 1] {
        check(host.release("r2", &two), Some(cut), Reason::InvalidInput, "digest");
    }
    check(
        host.release("r2", &of_bytes(b"no archive at all".to_vec())),
        None,
        Reason::InvalidInput,
        "archive",
    );
    let marked = TempDir::new().unwrap();
    std::fs::write(marked.path().join(".proofport-release"), "").unwrap();
    check(host.release("r2", &of_folder(&marked)), None, Reason::InvalidInput, "archive");
    for id in ["", ".", "..", "../x", "a/b", "-x", ".hidden", "a b", "a\nb", "é", &"a".repeat(65)] {
        check(host.release(id, &two), None, Reason::InvalidInput, "usage");
        check(host.rollback(id, "ppk"), None, Reason::InvalidInput, "usage");
    }
    check(host.rollback("r9", "ppk"), None, Reason::NotFound, "not_found");
    std::fs::create_dir(host.path("releases/by-hand")).unwrap();
    let verdict = next(&host.rollback("by-hand", "ppk"), None);
    assert_eq!(output(&verdict), json!({ "why": "not_found" }));
    let verdict = next(&host.release("by-hand", &two), None);
    assert_eq!(output(&verdict), json!({ "why": "conflict" }));
}

#[test]
fn a_folder_that_is_not_one_of_releases_is_left_alone() {
    let one = archive("one");
    let host = Host::new();
    std::fs::create_dir(host.path("current")).unwrap();
    assert_eq!(output(&next(&host.release("r1", &one), None)), json!({ "why": "layout" }));
    assert!(!host.path("releases").exists());
    let mut call = Host::new().release("r1", &one);
    call.config = json!({ "root": "/nowhere" }).to_string();
    assert_eq!(output(&next(&call, None)), json!({ "why": "layout" }));
    let verdict = reconcile(&call);
    assert_eq!(claims(&verdict), (Outcome::Unknown, false, Reason::Unavailable), "not seen is not absent");
}

#[test]
fn a_release_that_is_being_made_is_not_absent() {
    let host = Host::new();
    let one = archive("one");
    let call = host.release("r1", &one);
    assert_eq!(claims(&next(&host.release("r0", &one), None)), DONE);
    let lock = std::process::Command::new("flock")
        .args([host.path(".proofport/lock").to_str().unwrap(), "-c", "echo held; read line"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let mut lock = lock.unwrap();
    let mut held = [0; 5];
    std::io::Read::read_exact(lock.stdout.as_mut().unwrap(), &mut held).unwrap();
    assert_eq!(claims(&reconcile(&call)), (Outcome::Unknown, false, Reason::StillRunning));
    drop(lock.stdin.take());
    lock.wait().unwrap();
    assert_eq!(claims(&reconcile(&call)), ABSENT);
}

#[test]
fn an_effect_is_no_query_and_the_manifest_does_not_depend_on_the_configuration() {
    let host = Host::new();
    assert!(!is_query(&first(&host.release("r1", &archive("one")))));
    assert!(!is_query(&first(&host.rollback("r1", "ppk"))));
    assert!(is_query(&first(&host.call("current", "ppc", &json!({})))));
    assert_eq!(SshDeploy::describe("{}"), SshDeploy::describe(r#"{"root":"/srv"}"#));
}

#[test]
fn of_many_at_once_each_is_whole() {
    let host = Host::new();
    let archives: Vec<_> = (0..4).map(|n| archive(&format!("v{n}"))).collect();
    let calls: Vec<_> =
        archives.iter().enumerate().map(|(n, archive)| host.release(&format!("r{n}"), archive)).collect();
    let sends: Vec<_> = calls.iter().map(first).collect();
    let children: Vec<_> = sends.iter().map(|send| start(send, None)).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
        assert!(host.version().is_some());
    }
    assert!(calls.iter().all(|call| claims(&reconcile(call)) == PRESENT));
}
