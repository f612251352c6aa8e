//! `audit`, with files that are verified where there is no home.

use crate::service::{Fate, Service};
use crate::support::{CANARY, Home, Ran};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const INPUT: &str = "{\"amount\": 1000, \"currency\": \"eur\"}";
const CALL_JSON: [&str; 5] = ["call", "shop.create_charge", "--input", INPUT, "--json"];

/// A home with a call that succeeded, one that is unknown, and the id of the second.
fn used(service: &Service) -> (Home, String) {
    let home = Home::with_shop(&service.origin);
    service.will(Fate::Answer);
    home.run(&CALL_JSON).exits(0);
    service.will(Fate::Lose);
    let lost = home.run(&[&CALL_JSON[..], &["--call-key", "another"]].concat()).exits(12).json();
    (home, lost["request_id"].as_str().unwrap().to_owned())
}

fn export(home: &Home, name: &str) -> String {
    let path = home.file(name).to_str().unwrap().to_owned();
    home.run(&["audit", "export", "--to", &path]).exits(0).says("--expected-head");
    path
}

/// Without a home, a passphrase or a key.
fn verify(args: &[&str]) -> Ran {
    let nowhere = Home::none_yet();
    let output = nowhere.bare(&[&["audit", "verify"], args].concat()).output().unwrap();
    Ran::of(&format!("verify {args:?}"), output)
}

#[test]
fn an_export_is_verified_where_there_is_no_home() {
    let service = Service::start();
    let (home, _) = used(&service);
    let head = home.run(&["audit", "head", "--json"]).exits(0).json();
    let (head, key) = (head["head"].as_str().unwrap().to_owned(), head["key"].as_str().unwrap().to_owned());
    let file = export(&home, "may.audit");
    let report = verify(&[&file, "--json", "--expected-head", &head, "--expected-key", &key]).exits(0).json();
    assert_eq!((&report["verified"], &report["unsettled"]), (&true.into(), &1.into()), "{report}");
    assert_eq!(report["open"].as_array().unwrap().len(), 0, "{report}");
    assert_eq!(report["head"], head.as_str());
    verify(&[&file]).exits(0).says("verified").says(&head).says(&key);
    // The home's own says the same.
    home.run(&["audit", "verify", "--expected-head", &head]).exits(0).says("verified").says(&head);

    let (block, hash) = head.split_once(':').unwrap();
    let later = format!("{}:{hash}", block.parse::<u64>().unwrap() + 1);
    verify(&[&file, "--expected-head", &later]).exits(1).says("not verified");
    verify(&[&file, "--expected-head", "x"]).exits(2);
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(home.file("altered.audit"), &bytes).unwrap();
    let altered = home.file("altered.audit");
    let said = verify(&[altered.to_str().unwrap()]).exits(1).says("not verified: block ").says("byte ");
    assert_eq!(said.stdout.lines().filter(|line| line.contains("not verified")).count(), 1);
    verify(&["/no/such/file"]).exits(2).remarks("/no/such/file");
    std::fs::write(home.file("text"), "hello").unwrap();
    verify(&[home.file("text").to_str().unwrap()]).exits(2).remarks("not an exported audit log");
    // Without a file there must be a home.
    verify(&[]).exits(2);
}

#[test]
fn an_export_replaces_nothing_and_may_go_through_a_pipe() {
    let service = Service::start();
    let (home, id) = used(&service);
    let file = export(&home, "may.audit");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let bytes = std::fs::read(&file).unwrap();
    home.run(&["audit", "export", "--to", &file]).exits(2).remarks("exists");
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    let piped = home.command(&["audit", "export"]).output().unwrap();
    assert!(piped.status.success() && piped.stdout.starts_with(b"proofport.audit/1\n"));
    let shows = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(!shows(CANARY) && !shows(&id) && !shows("create_charge") && !shows("shop"));
}

#[test]
fn only_the_operators_identity_opens_it() {
    let service = Service::start();
    let (home, id) = used(&service);
    // Moved away, as is advised.
    let identity = home.file("stick.txt");
    std::fs::rename(home.path().join("audit-identity.txt"), &identity).unwrap();
    let identity = identity.to_str().unwrap();
    let file = export(&home, "may.audit");
    for from in [&[][..], &[file.as_str()]] {
        let show = |more: &[&str]| {
            let args = [&["audit", "show", "--identity", identity], from, more].concat();
            home.run(&args).exits(0).keeps_the_secret()
        };
        show(&[]).says("SECRET_CHANGED").says(&id).says("DISPATCH_STARTED");
        let calls = show(&["--by", "call", "--json"]).json();
        let groups = calls["groups"].as_array().unwrap();
        // The host's own, and two calls.
        assert_eq!(groups.len(), 3, "{calls}");
        let lost = groups.iter().find(|group| group["request_id"] == id.as_str()).unwrap();
        let kinds: Vec<_> =
            lost["events"].as_array().unwrap().iter().map(|event| event["event"].as_str().unwrap()).collect();
        assert_eq!(
            (kinds.first(), kinds.last()),
            (Some(&"ACTION_ACCEPTED"), Some(&"ATTEMPT_ENDED")),
            "{kinds:?}"
        );
        show(&["--by", "session"]).says("ACTION_ACCEPTED");
    }
    let other = Home::new();
    let theirs = other.path().join("audit-identity.txt");
    home.run(&["audit", "show", "--identity", theirs.to_str().unwrap(), &file])
        .exits(1)
        .remarks("another recipient");
    home.run(&["audit", "show", "--identity", &file, &file]).exits(2).remarks("age X25519 identity");
    assert!(!home.path().join("audit-identity.txt").exists(), "none is made again");
}

#[test]
fn init_says_where_the_identity_is() {
    let check = |named: Option<&Path>, home: &Home, expected: &Path| {
        let mut args = vec!["init", "--kdf-memory-kib", "8192"];
        args.extend(named.iter().flat_map(|path| ["--audit-identity", path.to_str().unwrap()]));
        home.run(&args).exits(0).says(expected.to_str().unwrap()).says("Move it");
        assert_eq!(std::fs::metadata(expected).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(std::fs::read_to_string(expected).unwrap().contains("AGE-SECRET-KEY-1"));
    };
    let home = Home::none_yet();
    check(None, &home, &home.path().join("audit-identity.txt"));
    let home = Home::none_yet();
    let elsewhere = home.file("elsewhere.txt");
    check(Some(&elsewhere), &home, &elsewhere);
    assert!(!home.path().join("audit-identity.txt").exists());
    // A file that is something else is no place for it, and nothing is made.
    let home = Home::none_yet();
    let passphrase = home.file("passphrase");
    let args = ["init", "--kdf-memory-kib", "8192", "--audit-identity", passphrase.to_str().unwrap()];
    home.run(&args).exits(1).remarks("left as it is");
    assert!(!home.path().join("vault.json").exists());
}

#[test]
fn segments_are_taken_out_only_when_they_are_exported() {
    let service = Service::start();
    let (home, _) = used(&service);
    let file = export(&home, "may.audit");
    home.run(&["audit", "rotate-key"]).exits(0).says("Key 2");
    home.given("another-value-of-it", &["secret", "rotate", "shop-key"]).exits(0);
    let mut cut = std::fs::read(&file).unwrap();
    cut.truncate(cut.len() - 1);
    std::fs::write(home.file("cut.audit"), cut).unwrap();
    home.run(&["audit", "remove", "--exported", home.file("cut.audit").to_str().unwrap()])
        .exits(1)
        .remarks("nothing was removed");
    home.run(&["audit", "remove", "--exported", &file]).exits(0).says("Took blocks 1 to ");
    home.run(&["audit", "verify"]).exits(0).says("removed");
    let newer = export(&home, "june.audit");
    let report = verify(&[&newer, "--json"]).exits(0).json();
    assert!(report["first_block"].as_u64().unwrap() > 1, "{report}");
    assert_eq!(report["keys"].as_array().unwrap().len(), 2, "{report}");
}
