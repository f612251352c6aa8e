//! `connector` and `connection`.

use crate::support::{Home, MODULE};

#[test]
fn a_module_is_shown_and_approved_only_on_a_word() {
    let home = Home::new();
    let shown = home.run(&["connector", "inspect", MODULE]).exits(0);
    let shown = shown.says("create_charge").says("api_key").says("repeat none").says("Nothing was approved");
    let review = home.run(&["connector", "inspect", MODULE, "--json"]).exits(0).json();
    let digest = review["review"]["digest"].as_str().unwrap().to_owned();
    assert_eq!(review["approved"], false);
    assert!(shown.stdout.contains(&digest));
    for args in [&["connector", "install", MODULE][..], &["connector", "install", MODULE, "--json"]] {
        home.run(args).exits(1).remarks("--yes");
        // Not even if somebody says yes: nobody was at a terminal to read it.
        home.given("y\n", args).exits(1).remarks("--yes");
    }
    home.run(&["connector", "list"]).exits(0).says("No connector is approved");
    let installed = home.run(&["connector", "install", MODULE, "--yes"]).exits(0);
    let snippet = format!("connector = \"{digest}\"");
    installed.says("Approved exactly this module").says(&snippet).says("mode = \"http_bearer\"");
    let listed = home.run(&["connector", "list", "--json"]).exits(0).json();
    assert_eq!(listed["connectors"][0]["digest"], digest.as_str());
    home.run(&["connector", "list"]).exits(0).says("charges").says(&digest);
}

#[test]
fn what_is_no_connector_is_refused() {
    let home = Home::new();
    let check = |file: &str, bytes: Option<&[u8]>, remark: &str| {
        let path = home.file(file);
        if let Some(bytes) = bytes {
            std::fs::write(&path, bytes).unwrap();
        }
        let path = path.to_str().unwrap();
        for args in [&["connector", "inspect", path][..], &["connector", "install", path, "--yes"]] {
            home.run(args).exits(1).remarks(remark).remarks(path);
        }
    };
    check("missing.wasm", None, "could not read");
    check("text.wasm", Some(b"#!/bin/sh"), "can't be taken as a connector");
    check("empty.wasm", Some(b""), "can't be taken as a connector");
    check("core.wasm", Some(b"\0asm\x01\0\0\0"), "can't be taken as a connector");
    home.run(&["connector", "list"]).exits(0).says("No connector is approved");
}

#[test]
fn every_mistake_in_the_configuration_is_told_with_its_place() {
    let home = Home::new();
    home.configure(
        "[connections.shop]\nconnector = \"charges\"\norigins = []\ncolour = 1\n\
         [connections.shop.credentials.api_key]\nsecret = \"shop-key\"\nmode = \"carrier_pigeon\"\n",
    );
    let file = home.path().join("proofport.toml");
    let expected = [
        "2:13: connections.shop.connector",
        "3:11: connections.shop.origins",
        "4:1: connections.shop.colour",
        "7:8: ",
    ];
    let checked = home.run(&["connection", "check"]).exits(1);
    for (line, expected) in checked.stdout.lines().zip(expected) {
        assert!(line.starts_with(&format!("{}:{expected}", file.display())), "{line}");
    }
    assert_eq!(checked.stdout.lines().count(), expected.len(), "{}", checked.stdout);
    let problems = home.run(&["connection", "check", "--json"]).exits(1).json();
    assert_eq!(problems["problems"].as_array().unwrap().len(), expected.len());
    assert_eq!(problems["problems"][0]["line"], 2);
    // A call takes nothing on.
    let call = home.run(&["call", "shop.pay", "--input", "{}"]).exits(2);
    assert_eq!(call.stdout, "");
    expected.iter().for_each(|place| assert!(call.stderr.contains(place), "{}", call.stderr));
    let call = home.run(&["call", "shop.pay", "--input", "{}", "--json"]).exits(2);
    let told: serde_json::Value = serde_json::from_str(call.stderr.trim()).unwrap();
    assert_eq!(told["problems"].as_array().unwrap().len(), expected.len());
}

#[test]
fn what_only_the_vault_and_the_approvals_know_is_checked_too() {
    let home = Home::new();
    let unknown = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    home.configure(&format!(
        "[connections.shop]\nconnector = \"{unknown}\"\norigins = [\"https://api.example.com\"]\n"
    ));
    home.run(&["connection", "check"]).exits(1).says(":2:13: ").says("proofport connector");
    home.run(&["call", "shop.pay", "--input", "{}"]).exits(2).remarks(":2:13: ");
    home.configure("");
    home.run(&["connection", "check"]).exits(0).says("0 connections are in order");
}
