//! Whose word is needed.

use super::*;
use proofport_broker::QUESTION_SECONDS;
use proofport_core::approval::{Approval, ApprovalTerms};
use proofport_core::contract::Effect;

fn check(lines: &str, expected: &[&str]) {
    let expected: Vec<String> =
        expected.iter().map(|e| e.replace("@", "connections.shop.approvals")).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    check_in_connection(&format!("[connections.shop.approvals]\n{lines}\n"), &expected);
}

#[test]
fn writes_ask_each_time_and_reads_once_in_a_session_unless_it_is_set() {
    let parsed =
        |lines: &str, read: Approval, write: Approval, special: Approval, queries: bool, seconds: u32| {
            let text = format!(
                "[connections.shop]\nconnector = \"DIGEST\"\norigins = [\"https://api.example.com\"]\n{lines}"
            );
            let connection = parse(&text).unwrap().connections.remove(&Name::parse("shop").unwrap()).unwrap();
            let terms =
                |name: &str, effect| connection.approvals.policy.terms(&Name::parse(name).unwrap(), effect);
            let of = |needs, queries| ApprovalTerms { needs, queries, seconds };
            assert_eq!(terms("get", Effect::Read), of(read, false), "{lines}");
            assert_eq!(terms("make", Effect::Write), of(write, queries), "{lines}");
            assert_eq!(terms("refund", Effect::Write), of(special, queries), "{lines}");
        };
    let (auto, session, each) = (Approval::Auto, Approval::Session, Approval::Each);
    parsed("", session, each, each, false, QUESTION_SECONDS);
    parsed("[connections.shop.approvals]", session, each, each, false, QUESTION_SECONDS);
    parsed("[connections.shop.approvals]\nreads = \"auto\"", auto, each, each, false, QUESTION_SECONDS);
    parsed("[connections.shop.approvals]\nreads = \"each\"", each, each, each, true, QUESTION_SECONDS);
    parsed(
        "[connections.shop.approvals]\nwrites = \"session\"\nseconds = 10\noperations.refund = \"each\"",
        session,
        session,
        each,
        false,
        10,
    );
}

#[test]
fn what_is_no_policy_is_told() {
    check("writes = \"never\"", &["5:10 @.writes: is none of \"auto\", \"session\" and \"each\""]);
    check("reads = true", &["5:9 @.reads: is of type boolean"]);
    check(
        "operations.refund = \"ask\"",
        &["5:21 @.operations.refund: is none of \"auto\", \"session\" and \"each\""],
    );
    check("seconds = 9", &["5:11 @.seconds: is out of bounds"]);
    check("write = \"each\"", &["5:1 @.write: is not a known key"]);
}
