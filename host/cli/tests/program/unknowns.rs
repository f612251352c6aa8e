//! `unknowns` and `attest` against a service that loses answers.

use crate::service::{Fate, Service};
use crate::support::{Home, Ran};

const INPUT: &str = "{\"amount\": 1000, \"currency\": \"eur\"}";
const CALL_JSON: [&str; 5] = ["call", "shop.create_charge", "--input", INPUT, "--json"];
const WHY: &str = "the dashboard shows it";

/// A home with an unknown call, and its id.
fn unknown(service: &Service) -> (Home, String) {
    let home = Home::with_shop(&service.origin);
    service.will(Fate::Lose);
    let envelope = home.run(&CALL_JSON).exits(12).json();
    let id = envelope["request_id"].as_str().unwrap().to_owned();
    assert_eq!(service.requests().len(), 1);
    (home, id)
}

fn attest(home: &Home, id: &str, outcome: &str) -> Ran {
    home.run(&["attest", id, "--outcome", outcome, "--reason", WHY])
}

#[test]
fn unknowns_are_listed_with_what_to_do() {
    let service = Service::start();
    let (home, id) = unknown(&service);
    let listed = home.run(&["unknowns"]).exits(0).keeps_the_secret();
    let listed = listed.says(&id).says("shop.create_charge").says(&format!("proofport reconcile {id}"));
    listed.says(&format!("proofport attest {id}")).says("proof");
    let listed = home.run(&["unknowns", "--json"]).exits(0).json();
    let [entry] = listed["unknowns"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!((&entry["request_id"], &entry["code"]), (&id.as_str().into(), &"OUTCOME_UNKNOWN".into()));
    assert_eq!(entry["retry_owner"], "operator");
    let steps: Vec<&str> =
        entry["next"].as_array().unwrap().iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!((steps.first(), steps.last()), (Some(&"reconcile"), Some(&"attest")));
    attest(&home, &id, "committed").exits(15);
    home.run(&["unknowns"]).exits(0).says("Nothing is unknown");
    assert_eq!(service.requests().len(), 0);
}

#[test]
fn a_word_settles_it_and_is_kept_for_operators() {
    let service = Service::start();
    for (outcome, status, code) in
        [("committed", 15, "RESULT_UNAVAILABLE"), ("rejected", 11, "REMOTE_REJECTED")]
    {
        let (home, id) = unknown(&service);
        let told = attest(&home, &id, outcome).exits(status).says(code).says("attested by an operator");
        assert!(!told.stdout.contains(WHY), "{}", told.stdout);
        let told = attest(&home, &id, "committed").exits(status).remarks("nothing to attest");
        assert!(told.stdout.contains(code), "{}", told.stdout);
        home.run(&["inspect", &id]).exits(0).says(WHY).says("attested");
        let timeline = home.run(&["timeline", &id]).exits(0).says(WHY).says("operator_attested");
        assert!(
            timeline.stdout.contains("unknown OUTCOME_UNKNOWN, transport_observed"),
            "{}",
            timeline.stdout
        );
        assert_eq!(service.requests().len(), 0, "nothing is sent");
        // The same call is sent anew only where nothing was changed.
        if outcome == "rejected" {
            service.will(Fate::Answer);
            assert_eq!(home.run(&CALL_JSON).exits(0).json()["repeated"], false);
        } else {
            let met = home.run(&CALL_JSON).exits(15).json();
            assert_eq!((&met["repeated"], &met["request_id"]), (&true.into(), &id.as_str().into()));
        }
        assert_eq!(service.requests().len(), usize::from(outcome == "rejected"));
    }
}

/// The service made the charge, whatever the operator says.
#[test]
fn the_remote_may_contradict() {
    let service = Service::start();
    for (outcome, status, compared) in [("committed", 15, "agrees with"), ("rejected", 11, "CONTRADICTS")] {
        let (home, id) = unknown(&service);
        attest(&home, &id, outcome).exits(status);
        home.run(&["reconcile", &id]).exits(status).remarks(compared).remarks("attested outcome stands");
        assert!(service.requests().iter().all(|request| request.starts_with("get ")));
        home.run(&["inspect", &id])
            .exits(0)
            .says("came later: committed")
            .says("Query for the effect's fate");
        home.run(&["timeline", &id]).exits(0).says("EVIDENCE_ATTACHED").says("committed, remote_query 1");
        assert_eq!(home.run(&["result", &id, "--json"]).exits(status).json()["outcome"], outcome);
    }
}

#[test]
fn what_can_not_be_attested_is_said() {
    let service = Service::start();
    let (home, id) = unknown(&service);
    let id = id.as_str();
    let check = |args: &[&str], remark: &str| {
        let ran = home.run(&[&["attest"][..], args].concat()).exits(2).remarks(remark);
        assert_eq!(ran.stdout, "");
    };
    check(&[], "ACT");
    check(&[id, "--outcome", "committed"], "--reason");
    check(&[id, "--reason", WHY], "--outcome");
    check(&[id, "--outcome", "unknown", "--reason", WHY], "committed or rejected");
    check(&[id, "--outcome", "not_attempted", "--reason", WHY], "committed or rejected");
    check(&[id, "--outcome", "rejected", "--reason", " "], "say why");
    check(&[id, "--outcome", "rejected", "--reason", &"x".repeat(501)], "500 characters");
    check(&[id, "--outcome", "rejected", "--reason", "a\nb"], "one line");
    check(&[id, "--outcome", "rejected", "--reason", "a\u{202e}b"], "one line");
    attest(&home, "act_no4oiufxccxavr7gd46mlsjckm", "rejected").exits(10).says("NOT FOUND");
    let bare = home.bare(&["attest", id, "--outcome", "rejected", "--reason", WHY]).output().unwrap();
    Ran::of("without a passphrase", bare).exits(10).says("VAULT_LOCKED");
    let bare = home.bare(&["unknowns"]).output().unwrap();
    assert_eq!(Ran::of("without a passphrase", bare).exits(1).stdout, "");
    home.run(&["vault", "lock"]).exits(0);
    attest(&home, id, "rejected").exits(10).says("VAULT_LOCKED");
    home.run(&["vault", "unlock"]).exits(0);
    home.run(&["unknowns"]).exits(0).says(id);
}
