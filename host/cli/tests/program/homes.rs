//! `init`, the passphrase, and `vault`.

use crate::support::{Home, PASSPHRASE, Ran};
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn a_home_is_made_once() {
    let home = Home::none_yet();
    let made = home.run(&["init", "--kdf-memory-kib", "8192", "--json"]).exits(0).json();
    assert_eq!(made["home"], home.path().to_str().unwrap());
    home.run(&["init", "--kdf-memory-kib", "8192"]).exits(1).remarks("exists already");
    home.run(&["init", "--kdf-memory-kib", "1"]).exits(2);
    for (path, _) in home.files() {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
    }
}

#[test]
fn no_passphrase_is_told_with_the_three_ways_to_give_it() {
    let check = |home: &Home, args: &[&str]| {
        let ran = Ran::of(&format!("{args:?}"), home.bare(args).output().unwrap());
        ran.exits(1).remarks("--passphrase-file").remarks("PROOFPORT_PASSPHRASE").remarks("terminal");
    };
    check(&Home::none_yet(), &["init"]);
    let home = Home::new();
    for args in [
        &["secret", "list"][..],
        &["connector", "list"],
        &["connection", "check"],
        &["vault", "lock"],
        &["inspect", "act_aaaaaaaaaaaaaaaaaaaaaaaaaa"],
    ] {
        check(&home, args);
    }
}

#[test]
fn the_passphrase_comes_from_the_environment_or_a_file() {
    let home = Home::new();
    let check = |passphrase: &str, status: i32, remark: &str| {
        let output = home.bare(&["secret", "list"]).env("PROOFPORT_PASSPHRASE", passphrase).output().unwrap();
        let ran = Ran::of("secret list", output).exits(status).remarks(remark);
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    };
    check(PASSPHRASE, 0, "");
    check("hunter2", 1, "wrong passphrase");
    check("", 1, "--passphrase-file");
    let missing = home.file("missing");
    let output = home.bare(&["secret", "list", "--passphrase-file"]).arg(&missing).output().unwrap();
    Ran::of("secret list", output).exits(2).remarks(missing.to_str().unwrap());
}

#[test]
fn a_missing_home_is_told() {
    let home = Home::none_yet();
    home.run(&["secret", "list"]).exits(1).remarks("proofport init");
    home.run(&["call", "shop.pay", "--input", "{}"]).exits(1).remarks("proofport init");
    assert!(!home.path().exists());
}

#[test]
fn a_locked_vault_refuses_every_call_until_it_is_unlocked() {
    let home = Home::new();
    let call = ["call", "no.such", "--input", "{}", "--json"];
    let status = |locked: bool| {
        let ran = Ran::of("vault status", home.bare(&["vault", "status", "--json"]).output().unwrap());
        assert_eq!(ran.exits(0).json()["locked"], locked);
    };
    let refused = |ran: Ran| {
        let envelope = ran.exits(10).json();
        assert_eq!(envelope["code"], "VAULT_LOCKED");
        assert_eq!(envelope["outcome"], "not_attempted");
        assert_eq!(envelope["schema"], "proofport.envelope/1");
    };
    status(false);
    // Locked because nobody gives the passphrase, or a wrong one.
    refused(Ran::of("call", home.bare(&call).output().unwrap()).remarks("--passphrase-file"));
    let wrong = home.bare(&call).env("PROOFPORT_PASSPHRASE", "wrong wrong").output().unwrap();
    refused(Ran::of("call", wrong).remarks("wrong passphrase"));
    let id = "act_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    refused(Ran::of("result", home.bare(&["result", id, "--json"]).output().unwrap()));
    refused(Ran::of("reconcile", home.bare(&["reconcile", id, "--json"]).output().unwrap()));
    // Locked by an operator.
    home.run(&["vault", "lock"]).exits(0);
    status(true);
    refused(home.run(&call).remarks("proofport vault unlock"));
    refused(home.run(&["reconcile", id, "--json"]));
    home.run(&["vault", "unlock"]).exits(0);
    status(false);
    assert_eq!(home.run(&call).exits(10).json()["code"], "UNSUPPORTED_ACTION");
}

#[test]
fn unknown_invocations_are_told() {
    let home = Home::new();
    let id = "act_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    home.run(&["inspect", id]).exits(1).remarks(id);
    home.run(&["timeline", id]).exits(1).remarks(id);
    for command in ["result", "reconcile"] {
        let envelope = home.run(&[command, id, "--json"]).exits(10).json();
        assert_eq!(envelope["code"], "NO_SUCH_INVOCATION");
        home.run(&[command, id]).exits(10).says("NOT FOUND");
    }
}
