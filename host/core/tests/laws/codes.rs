//! The codes: their table, written out again from the design, and their pages.

use crate::common::golden::root;
use proofport_core::code::{ActionRule, Code, OutcomeRule, PhaseRule, RetryRule};
use std::collections::BTreeSet;

/// The rule's words, as they stand in the pages.
fn phase(rule: PhaseRule) -> &'static str {
    match rule {
        PhaseRule::Is(phase) => phase.as_str(),
        PhaseRule::LastBoundary => "by the last proved boundary",
    }
}

fn outcome(rule: OutcomeRule) -> &'static str {
    match rule {
        OutcomeRule::Is(outcome) => outcome.as_str(),
        OutcomeRule::AsProved => "as proved",
        OutcomeRule::Nothing => "none",
    }
}

fn retry(rule: RetryRule) -> &'static str {
    match rule {
        RetryRule::Is(retry) => retry.as_str(),
        RetryRule::BackoffOrNever => "backoff or never",
        RetryRule::RateLimit => "backoff if repeatable or a delay was given, else never",
        RetryRule::ReconcileOrNever => "reconcile where declared, else never",
        RetryRule::Unknown => {
            "backoff if idempotent, same_idempotency_key if keyed and in its window, else reconcile"
        }
        RetryRule::ByOutcome => "by outcome",
    }
}

fn action(rule: ActionRule) -> &'static str {
    match rule {
        ActionRule::Is(action) => action.as_str(),
        ActionRule::ByVerdict => "repair_input or stop_and_report, by verdict",
        ActionRule::ByRetry => "by retry",
        ActionRule::ByOutcome => "stop_and_report or inspect_outcome, by outcome",
    }
}

const UNKNOWN: &str =
    "backoff if idempotent, same_idempotency_key if keyed and in its window, else reconcile";
const RATE: &str = "backoff if repeatable or a delay was given, else never";
const RECONCILE: &str = "reconcile where declared, else never";
const VERDICT: &str = "repair_input or stop_and_report, by verdict";
const BOUNDARY: &str = "by the last proved boundary";
const EITHER: &str = "stop_and_report or inspect_outcome, by outcome";

/// Code, phase, outcome, retry, action.
const TABLE: [[&str; 5]; 33] = [
    ["INVALID_INPUT", "validation", "not_attempted", "after_correction", "repair_input"],
    ["PAYLOAD_LIMIT", "validation", "not_attempted", "after_correction", "repair_input"],
    ["INVALID_TARGET", "validation", "not_attempted", "after_correction", "repair_input"],
    ["UNSUPPORTED_ACTION", "validation", "not_attempted", "after_correction", "repair_input"],
    ["FINGERPRINT_MISMATCH", "validation", "not_attempted", "after_correction", "stop_and_report"],
    ["IDEMPOTENCY_MISMATCH", "validation", "not_attempted", "after_correction", "stop_and_report"],
    ["CALL_KEY_REUSED", "validation", "not_attempted", "after_correction", "repair_input"],
    ["NO_SUCH_INVOCATION", "validation", "none", "never", "stop_and_report"],
    ["CONNECTOR_FAULT", "validation", "not_attempted", "never", "stop_and_report"],
    ["VAULT_LOCKED", "credential_injection", "not_attempted", "after_correction", "stop_and_report"],
    [
        "CREDENTIAL_UNAVAILABLE",
        "credential_injection",
        "not_attempted",
        "after_correction",
        "stop_and_report",
    ],
    ["APPROVAL_PENDING", "credential_injection", "not_attempted", "after_correction", "request_approval"],
    ["USER_DENIED", "credential_injection", "not_attempted", "never", "stop_and_report"],
    ["APPROVAL_EXPIRED", "credential_injection", "not_attempted", "never", "stop_and_report"],
    ["EGRESS_DENIED", "connection_setup", "not_attempted", "never", "stop_and_report"],
    ["CONNECT_FAILED", "connection_setup", "not_attempted", "backoff", "retry_after_delay"],
    ["PEER_UNVERIFIED", "connection_setup", "not_attempted", "after_correction", "stop_and_report"],
    ["LOGIN_FAILED", "connection_setup", "not_attempted", "after_correction", "stop_and_report"],
    ["PREPARATION_FAILED", "remote_execution", "not_attempted", "backoff or never", "by retry"],
    ["AUTH_FAILED", "remote_execution", "rejected", "after_correction", "stop_and_report"],
    ["REMOTE_REJECTED", "remote_execution", "rejected", "after_correction", VERDICT],
    ["RATE_LIMITED", "remote_execution", "rejected", RATE, "by retry"],
    ["CONFIRMED_ABSENT", "remote_execution", "rejected", "backoff", "retry_after_delay"],
    ["REMOTE_FAILED", "remote_execution", "committed", RECONCILE, "by retry"],
    ["RESULT_UNREADABLE", "remote_execution", "committed", RECONCILE, "inspect_outcome"],
    ["PARTIAL", "remote_execution", "committed", "never", "inspect_outcome"],
    ["OUTCOME_UNKNOWN", "remote_execution", "unknown", UNKNOWN, "inspect_outcome"],
    ["REMOTE_RESULT_INCOMPLETE", "remote_execution", "unknown", UNKNOWN, "inspect_outcome"],
    ["CALLER_CANCELLED", BOUNDARY, "as proved", "by outcome", EITHER],
    ["IN_PROGRESS", BOUNDARY, "as proved", "reconcile", "inspect_outcome"],
    ["RESULT_UNDELIVERED", "result_delivery", "as proved", "fetch_result", "inspect_outcome"],
    ["RESULT_UNAVAILABLE", "result_delivery", "as proved", "never", "stop_and_report"],
    ["INTERNAL", BOUNDARY, "as proved", "by outcome", "stop_and_report"],
];

#[test]
fn every_code_has_the_row_that_the_design_gives_it() {
    let rows: Vec<[&str; 5]> = Code::ALL
        .iter()
        .map(|code| {
            let row = code.row();
            [code.as_str(), phase(row.phase), outcome(row.outcome), retry(row.retry), action(row.action)]
        })
        .collect();
    for (row, expected) in rows.iter().zip(&TABLE) {
        assert_eq!(row, expected);
    }
    assert_eq!(rows.len(), TABLE.len());
}

#[test]
fn every_code_has_its_wire_form() {
    for code in Code::ALL {
        assert_eq!(Code::parse(code.as_str()), Some(*code));
        assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        assert!(code.as_str().bytes().all(|b| b.is_ascii_uppercase() || b == b'_'), "{code}");
    }
    assert_eq!(Code::parse("invalid_input"), None);
}

/// A sentence is the host's own: short, whole, and never a place for a value.
#[test]
fn every_code_has_a_sentence() {
    let mut seen = BTreeSet::new();
    for code in Code::ALL {
        let message = code.row().message;
        assert!(message.ends_with('.') && message.len() <= 160, "{code}");
        assert!(!message.contains(['{', '}', '%', '<', '>', '/']), "{code}");
        assert!(seen.insert(message), "{code} has another code's sentence");
    }
}

#[test]
fn every_code_has_a_page_that_agrees_with_its_row() {
    for code in Code::ALL {
        let page = std::fs::read_to_string(root().join(code.page()))
            .unwrap_or_else(|error| panic!("{}: {error}", code.page()));
        let row = code.row();
        let expected = [
            format!("# {code}"),
            String::new(),
            format!("> {}", row.message),
            String::new(),
            "| phase | outcome | retry | action |".to_owned(),
            "| --- | --- | --- | --- |".to_owned(),
            format!(
                "| {} | {} | {} | {} |",
                phase(row.phase),
                outcome(row.outcome),
                retry(row.retry),
                action(row.action)
            ),
        ];
        let head: Vec<&str> = page.lines().take(expected.len()).collect();
        assert_eq!(head, expected, "the head of {}", code.page());
        let sections: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(sections, ["## What happened", "## What is proved", "## What to do"], "{}", code.page());
        let advice = page.split("## What to do").nth(1).unwrap();
        for reader in ["**Agent:** ", "**Operator:** "] {
            assert!(advice.contains(reader), "{} says nothing to the {reader}", code.page());
        }
        assert!(page.lines().count() <= 40, "{} is too long to be read", code.page());
    }
}

#[test]
fn there_is_no_page_without_a_code() {
    let known: BTreeSet<String> = Code::ALL.iter().map(|code| format!("{code}.md")).collect();
    let pages: BTreeSet<String> = std::fs::read_dir(root().join("docs/codes"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    assert_eq!(pages, known);
}

#[test]
fn the_list_of_codes_names_them_all_in_order() {
    let index = std::fs::read_to_string(root().join("docs/codes/README.md")).unwrap();
    let listed: Vec<&str> =
        index.lines().filter_map(|line| line.strip_prefix("| [")?.split(']').next()).collect();
    let known: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(listed, known);
}
