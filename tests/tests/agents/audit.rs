//! The audit log of a host that runs: verified, handed out and read, without disturbing it.

use crate::{Agent, Place, lost, refused, writes};
use proofport_client::Code;
use proofport_tests::serving::Serving;
use serde_json::Value;
use std::process::Output;

const AUTO: &str = "[connections.c.approvals]\nreads = \"auto\"\nwrites = \"auto\"\n[connections.c.reconciliations]\nattempts = 0\n";

fn status(output: &Output) -> Option<i32> {
    output.status.code()
}

/// What one of the operator's commands answers, which goes well.
fn answer(host: &Serving, arguments: &[&str]) -> Value {
    let (status, answer) = host.operator(arguments);
    assert_eq!(status, 0, "{arguments:?}: {answer}");
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_host_hands_out_what_verifies() {
    let place = Place::new("inquires", vec![lost()], AUTO).await;
    let host = place.serve();
    let agent = Agent::new(&host, "mailer");
    let unknown = refused(agent.call("once", 1).await, Code::OutcomeUnknown);
    let id = unknown.request_id().unwrap().as_str().to_owned();
    let file = |name: &str| place.dir.path().join(name).to_str().unwrap().to_owned();
    let (may, june) = (file("may.audit"), file("june.audit"));

    let exported = answer(&host, &["audit", "export", "--to", &may]);
    let report = answer(&host, &["audit", "verify"]);
    assert_eq!((&report["verified"], &report["unsettled"]), (&true.into(), &1.into()), "{report}");
    assert_eq!(report["head"], answer(&host, &["audit", "head"])["head"]);
    let (head, key) = (exported["head"].as_str().unwrap(), exported["key"].as_str().unwrap());
    let pinned = ["--expected-head", head, "--expected-key", key];
    answer(&host, &[&["audit", "verify", &may][..], &pinned].concat());
    answer(&host, &[&["audit", "verify"][..], &pinned].concat());
    // It is somebody else's log, by what was noted.
    let other = format!("1:{}", "0".repeat(64));
    let altered = host.run(&["audit", "verify", "--expected-head", &other]);
    assert_eq!(status(&altered), Some(1), "{altered:?}");

    // By session, as the host knows it; and opened where the identity is.
    let identity = place.home().join("audit-identity.txt");
    let moved = file("stick.txt");
    std::fs::rename(identity, &moved).unwrap();
    for from in [None, Some(may.as_str())] {
        let shown = ["audit", "show", "--identity", &moved, "--by", "session"];
        let shown = answer(&host, &shown.into_iter().chain(from).collect::<Vec<_>>());
        let groups = shown["groups"].as_array().unwrap();
        let own = groups.iter().find(|group| group["session"] == agent.session.as_str());
        let events = own.unwrap_or_else(|| panic!("{shown}"))["events"].as_array().unwrap();
        assert!(events.iter().all(|event| event["request_id"] == id.as_str()), "{shown}");
        assert!(events.iter().any(|event| event["event"] == "DISPATCH_STARTED"), "{shown}");
    }

    // The segment is being written: nothing of it can be taken out, until another one has begun.
    let early = host.run(&["audit", "remove", "--exported", &may]);
    assert_eq!(status(&early), Some(1), "{early:?}");
    let rotated = answer(&host, &["audit", "rotate-key"]);
    assert_eq!((&rotated["audit_key"], &rotated["after_restart"]), (&2.into(), &true.into()), "{rotated}");
    assert_eq!(host.stop(), Some(0));
    let host = place.serve();
    let agent = Agent::new(&host, "another");
    agent.call("once", 2).await.unwrap();
    // What was recorded after the first export is in the second one alone.
    assert_eq!(status(&host.run(&["audit", "remove", "--exported", &may])), Some(1));
    answer(&host, &["audit", "export", "--to", &june]);
    let removed = answer(&host, &["audit", "remove", "--exported", &june]);
    assert_eq!(removed["first_block"], 1, "{removed}");
    let last = removed["last_block"].as_u64().unwrap();
    let report = answer(&host, &["audit", "verify"]);
    assert_eq!(report["first_block"], last + 1, "{report}");
    assert_eq!(report["keys"].as_array().unwrap().len(), 2, "{report}");
    answer(&host, &["audit", "verify", &june]);
    let july = file("july.audit");
    answer(&host, &["audit", "export", "--to", &july]);
    answer(&host, &["audit", "verify", &july]);
    assert_eq!(status(&host.run(&["audit", "export", "--to", &june])), Some(2), "it replaces nothing");
    // The host went on all the while.
    agent.call("once", 3).await.unwrap();
    assert_eq!(writes(&place.peer), 3);
}
