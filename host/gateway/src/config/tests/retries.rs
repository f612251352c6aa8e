//! How often the host repeats by itself.

use super::*;
use proofport_core::retry::RetryBudget;

#[test]
fn questions_are_asked_unless_none_are_wanted() {
    let parsed = |lines: &str| {
        let text = format!(
            "[connections.shop]\nconnector = \"DIGEST\"\norigins = [\"https://api.example.com\"]\n{lines}"
        );
        parse(&text).unwrap().connections.remove(&Name::parse("shop").unwrap()).unwrap().reconciliations
    };
    let usual = RetryBudget {
        attempts: 8,
        total_seconds: 3600,
        first_delay_millis: 2000,
        longest_delay_millis: 300_000,
    };
    let section = "[connections.shop.reconciliations]\n";
    assert_eq!(parsed(""), Some(usual));
    assert_eq!(parsed(section), Some(usual));
    assert_eq!(parsed(&format!("{section}attempts = 0")), None);
    assert_eq!(parsed(&format!("{section}attempts = 100")), Some(RetryBudget { attempts: 100, ..usual }));
    let at = "connections.shop.reconciliations";
    check_in_connection(
        &format!("{section}attempts = 101\ntotal_seconds = 604801\n"),
        &[
            &format!("5:12 {at}.attempts: is out of bounds"),
            &format!("6:17 {at}.total_seconds: is out of bounds"),
        ],
    );
    check_in_connection("reconciliations = false\n", &[&format!("4:19 {at}: is of type boolean")]);
}

#[test]
fn looks_are_taken_only_where_they_are_wanted() {
    let parsed = |lines: &str| {
        let text = format!(
            "[connections.shop]\nconnector = \"DIGEST\"\norigins = [\"https://api.example.com\"]\n{lines}"
        );
        let following =
            parse(&text).unwrap().connections.remove(&Name::parse("shop").unwrap()).unwrap().following;
        following.map(|following| following.value)
    };
    let usual = RetryBudget {
        attempts: 100,
        total_seconds: 3600,
        first_delay_millis: 1000,
        longest_delay_millis: 60_000,
    };
    assert_eq!(parsed(""), None);
    assert_eq!(parsed("[connections.shop.following]\n"), Some(usual));
    check_in_connection(
        "[connections.shop.following]\nattempts = 0\n",
        &["5:12 connections.shop.following.attempts: is out of bounds"],
    );
}

fn check(lines: &str, expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(|e| e.replace("@", "connections.shop.retries")).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    check_in_connection(&format!("[connections.shop.retries]\n{lines}\n"), &expected);
}

#[test]
fn a_budget_is_read_and_has_bounds() {
    let parsed = |lines: &str| {
        let text = format!(
            "[connections.shop]\nconnector = \"DIGEST\"\norigins = [\"https://api.example.com\"]\n{lines}"
        );
        let retries =
            parse(&text).unwrap().connections.remove(&Name::parse("shop").unwrap()).unwrap().retries;
        retries.map(|retries| retries.value)
    };
    assert_eq!(parsed(""), None, "without the section nothing is repeated");
    let usual = RetryBudget {
        attempts: 3,
        total_seconds: 300,
        first_delay_millis: 1000,
        longest_delay_millis: 30_000,
    };
    assert_eq!(parsed("[connections.shop.retries]"), Some(usual));
    let all = "[connections.shop.retries]\nattempts = 20\ntotal_seconds = 86400\nfirst_delay_millis = 10\n\
               longest_delay_millis = 3600000";
    let most = RetryBudget {
        attempts: 20,
        total_seconds: 86_400,
        first_delay_millis: 10,
        longest_delay_millis: 3_600_000,
    };
    assert_eq!(parsed(all), Some(most));
    check("attempts = 2", &[]);
    check("attempts = 1", &["5:12 @.attempts: is out of bounds"]);
    check(
        "attempts = 21\ntotal_seconds = 0",
        &["5:12 @.attempts: is out of bounds", "6:17 @.total_seconds: is out of bounds"],
    );
    check_in_connection("retries = [500, 502]\n", &["4:11 connections.shop.retries: is of type array"]);
    check("on = [500]", &["5:1 @.on: is not a known key"]);
    check("tries = 3", &["5:1 @.tries: is not a known key"]);
    check(
        "longest_delay_millis = 999",
        &["5:24 @.longest_delay_millis: makes the longest delay shorter than the first"],
    );
    check(
        "first_delay_millis = 60000",
        &["5:22 @.first_delay_millis: makes the longest delay shorter than the first"],
    );
}
