//! `secret`: values go in and never come out.

use crate::support::{CANARY, Home};

const FOR: [&str; 4] = ["--for", "https://api.example.com", "--mode", "http_bearer"];

#[test]
fn a_secret_is_stored_renewed_listed_and_removed() {
    let home = Home::new();
    let set = [&["secret", "set", "shop-key", "--json"][..], &FOR].concat();
    let stored = home.given(&format!("{CANARY}\n"), &set).exits(0).json();
    assert_eq!(stored, serde_json::json!({ "name": "shop-key", "version": 1 }));
    home.given(CANARY, &set).exits(1).remarks("secret rotate shop-key");
    home.given(CANARY, &["secret", "rotate", "shop-key"]).exits(0).says("version 2");
    home.given(CANARY, &["secret", "rotate", "other"]).exits(1).remarks("no secret named other");
    let listed = home.run(&["secret", "list", "--json"]).exits(0).json();
    assert_eq!(listed["secrets"][0]["name"], "shop-key");
    assert_eq!(listed["secrets"][0]["versions"].as_array().unwrap().len(), 2);
    home.run(&["secret", "list"]).exits(0).says("https://api.example.com").says("http_bearer");
    home.run(&["secret", "remove", "shop-key"]).exits(0);
    home.run(&["secret", "remove", "shop-key"]).exits(1);
    home.run(&["secret", "list"]).exits(0).says("There are no secrets");
}

#[test]
fn a_value_is_never_seen_again() {
    let home = Home::new();
    let set = [&["secret", "set", "shop-key"][..], &FOR].concat();
    let traced = |input: Option<&str>, args: &[&str]| {
        let args = [args, &["--json"]].concat();
        let ran = match input {
            Some(input) => home.given(input, &args),
            None => home.run(&args),
        };
        ran.keeps_the_secret();
    };
    traced(Some(CANARY), &set);
    traced(Some(CANARY), &set);
    traced(Some(CANARY), &["secret", "rotate", "shop-key"]);
    traced(Some(CANARY), &["secret", "rotate", "other"]);
    traced(None, &["secret", "list"]);
    traced(None, &["connection", "check"]);
    // Written where a value does not belong.
    traced(None, &[&set[..], &[CANARY]].concat());
    traced(None, &["secret", "set", "shop-key", "--value", CANARY]);
    traced(None, &["secret", "set", CANARY]);
    home.configure(&format!("[connections.shop]\nconnector = \"{CANARY}\"\n{CANARY} = 1\n"));
    traced(None, &["connection", "check"]);
    traced(None, &["call", "shop.pay", "--input", "{}"]);
    home.configure("");
    for (path, bytes) in home.files() {
        let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        assert!(!found, "{}", path.display());
    }
}

#[test]
fn what_can_not_be_a_secret_is_refused() {
    let home = Home::new();
    let check = |value: &str, uses: &[&str], status: i32, remark: &str| {
        let ran = home.given(value, &[&["secret", "set", "key"][..], uses].concat());
        let ran = ran.exits(status).remarks(remark);
        assert!(value.is_empty() || !ran.stderr.contains(value), "{}", ran.stderr);
    };
    check("hunter2", &FOR, 1, "shorter than 8 bytes");
    check("", &FOR, 1, "shorter than 8 bytes");
    check("long enough", &["--for", "https://api.example.com"], 2, "--mode");
    check("long enough", &["--mode", "http_bearer"], 2, "--for");
    check("long enough", &["--for", "https://api.example.com", "--mode", "bearer"], 2, "http_bearer");
    check("long enough", &["--for", "https://api.example.com", "--mode", "ssh_key"], 1, "ssh://host");
    check(
        "long enough",
        &["--for", "https://a:b@c.example", "--mode", "http_bearer"],
        2,
        "not a destination",
    );
}
