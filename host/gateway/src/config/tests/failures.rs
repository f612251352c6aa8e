//! How often a session may fail.

use super::*;
use proofport_core::failures::FailureBudget;

fn check(lines: &str, expected: &[&str]) {
    let expected: Vec<String> =
        expected.iter().map(|e| e.replace("@", "connections.shop.failures")).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    check_in_connection(&format!("[connections.shop.failures]\n{lines}\n"), &expected);
}

#[test]
fn a_session_has_a_budget_unless_more_or_less_is_set() {
    let parsed = |lines: &str, most: u32, within_seconds: u32| {
        let text = format!(
            "[connections.shop]\nconnector = \"DIGEST\"\norigins = [\"https://api.example.com\"]\n{lines}"
        );
        let connection = parse(&text).unwrap().connections.remove(&Name::parse("shop").unwrap()).unwrap();
        assert_eq!(connection.failures, FailureBudget { most, within_seconds }, "{lines}");
    };
    parsed("", 50, 3600);
    parsed("[connections.shop.failures]", 50, 3600);
    parsed("[connections.shop.failures]\nmost = 1", 1, 3600);
    parsed("[connections.shop.failures]\nwithin_seconds = 604800\nmost = 1000000", 1_000_000, 604_800);
    check("most = 0", &["5:8 @.most: is out of bounds"]);
    check(
        "most = 1000001\nwithin_seconds = 604801",
        &["5:8 @.most: is out of bounds", "6:18 @.within_seconds: is out of bounds"],
    );
    check("within_seconds = 0", &["5:18 @.within_seconds: is out of bounds"]);
    check("within = 60", &["5:1 @.within: is not a known key"]);
    check_in_connection("failures = false\n", &["4:12 connections.shop.failures: is of type boolean"]);
}
