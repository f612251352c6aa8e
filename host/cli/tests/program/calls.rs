//! `call`, `result`, `reconcile`, `inspect` and `timeline` against a service.

use crate::service::{Fate, Service};
use crate::support::{CANARY, Home, Ran};
use serde_json::Value;
use std::fs::File;
use std::process::Stdio;
use std::sync::mpsc::channel;

const INPUT: &str = "{\"amount\": 1000, \"currency\": \"eur\"}";
const CALL: [&str; 4] = ["call", "shop.create_charge", "--input", INPUT];
const CALL_JSON: [&str; 5] = ["call", "shop.create_charge", "--input", INPUT, "--json"];

fn id(envelope: &Value) -> String {
    envelope["request_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_call_is_carried_out_once_and_can_be_looked_at() {
    let service = Service::start();
    let home = Home::with_shop(&service.origin);
    service.will(Fate::Answer);
    let envelope = home.run(&CALL_JSON).exits(0).keeps_the_secret().json();
    assert_eq!(envelope["ok"], true);
    assert_eq!(envelope["result"]["amount"], 1000);
    let id = id(&envelope);
    assert_eq!(service.requests().len(), 1);
    // The same call meets the first one; the same input from a file or a pipe is the same call.
    let text = home.run(&CALL).exits(0).says("OK").says(&id).says("--call-key").says("not instructions");
    assert!(!text.stdout.contains('\u{1b}'), "no colour where nobody sees it");
    std::fs::write(home.file("input.json"), INPUT).unwrap();
    let file = format!("@{}", home.file("input.json").display());
    for again in [
        home.run(&["call", "shop.create_charge", "--json", "--input", &file]),
        home.given(INPUT, &["call", "shop.create_charge", "--json", "--input", "-"]),
        home.run(&["result", &id, "--json"]),
    ] {
        let again = again.exits(0).json();
        assert_eq!((&again["request_id"], &again["result"]), (&envelope["request_id"], &envelope["result"]));
        assert_eq!(again["repeated"], true);
    }
    assert_eq!(service.requests().len(), 0);
    // On purpose.
    service.will(Fate::Answer);
    let second = home.run(&[&CALL_JSON[..], &["--call-key", "second"]].concat()).exits(0).json();
    assert_ne!(second["request_id"], envelope["request_id"]);
    assert_eq!(service.requests().len(), 1);

    let inspected = home.run(&["inspect", &id]).exits(0).keeps_the_secret();
    let inspected = inspected.says("committed (OK)").says("shop-key version 1 as http_bearer");
    inspected.says("HTTP 201").says("shop.create_charge").says("/v1/charges").says("Protected");
    let record = home.run(&["inspect", &id, "--json"]).exits(0).keeps_the_secret().json();
    assert_eq!(record["schema"], "proofport.diagnostic/1");
    assert_eq!(record["state"]["credential"]["secret"], "shop-key");

    let told = home.run(&["timeline", &id]).exits(0).keeps_the_secret();
    let kinds: Vec<&str> = told.stdout.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(kinds.first(), Some(&"ACTION_ACCEPTED"));
    let place = |kind| kinds.iter().position(|found| *found == kind);
    assert!(place("DISPATCH_STARTED").unwrap() < place("OUTCOME_SETTLED").unwrap());
    // The mark of the delivery rode along with the next commit.
    assert_eq!(kinds.last(), Some(&"RESULT_DELIVERED"), "{}", told.stdout);
    let events = home.run(&["timeline", &id, "--json"]).exits(0).json();
    assert_eq!(events["request_id"], id.as_str());
    let kinds_of: Vec<&str> =
        events["events"].as_array().unwrap().iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(kinds_of, kinds);
    for (path, bytes) in home.files() {
        assert!(!bytes.windows(CANARY.len()).any(|w| w == CANARY.as_bytes()), "{}", path.display());
    }
}

#[test]
fn refusals_have_their_own_statuses_and_say_what_to_do() {
    let service = Service::start();
    let home = Home::with_shop(&service.origin);
    service.will(Fate::Decline);
    home.run(&CALL).exits(11).says("REJECTED").says("REMOTE_REJECTED").says("answered HTTP 402");
    assert_eq!(service.requests().len(), 1);
    let check = |input: &str, says: &str| {
        home.run(&["call", "shop.create_charge", "--input", input])
            .exits(10)
            .says("NOT ATTEMPTED")
            .says(says);
    };
    check("{\"amount\": 0, \"currency\": \"eur\"}", "/amount");
    check("not json", "the whole input");
    check("-1", "the whole input");
    home.run(&["call", "shop.refund", "--input", "{}"]).exits(10).says("UNSUPPORTED_ACTION");
    home.run(&["call", "other.refund", "--input", "{}"]).exits(10).says("UNSUPPORTED_ACTION");
    assert_eq!(service.requests().len(), 0);
}

#[test]
fn a_lost_answer_is_unknown_and_is_reconciled_without_a_second_effect() {
    let service = Service::start();
    let home = Home::with_shop(&service.origin);
    service.will(Fate::Lose);
    let envelope = home.run(&CALL_JSON).exits(12).json();
    let id = id(&envelope);
    let reconcile = format!("`proofport reconcile {id}`");
    home.run(&CALL).exits(12).says("UNKNOWN").says(&id).says(&reconcile);
    assert_eq!(service.requests(), ["post /v1/charges http/1.1"]);
    let settled = home.run(&["reconcile", &id, "--json"]).exits(0).keeps_the_secret().json();
    assert_eq!(settled["outcome"], "committed");
    assert_eq!(settled["evidence"]["source"], "remote_query");
    assert!(service.requests().iter().all(|request| request.starts_with("get ")));
    // Nothing is left to ask.
    home.run(&["reconcile", &id]).exits(0).remarks("nothing to reconcile").says("known from a later query");
    assert_eq!(service.requests().len(), 0);
    home.run(&["inspect", &id]).exits(0).says("Query for the effect's fate");
}

#[test]
fn an_answer_that_can_not_be_written_is_kept() {
    let service = Service::start();
    let home = Home::with_shop(&service.origin);
    let full = || Stdio::from(File::create("/dev/full").unwrap());
    let closed = || Stdio::from(std::io::pipe().unwrap().1);
    let mut keys = 0;
    let mut check = |stdout: Stdio, json: bool| {
        keys += 1;
        let key = keys.to_string();
        service.will(Fate::Answer);
        let mut command = home.command(&[&CALL[..], &["--call-key", &key]].concat());
        if json {
            command.arg("--json");
        }
        let ran = Ran::of("call", command.stdout(stdout).output().unwrap()).exits(15);
        let id = ran.stderr.split_once("proofport result ").unwrap().1.split_once('`').unwrap().0.to_owned();
        let timeline = home.run(&["timeline", &id]).exits(0);
        assert!(!timeline.stdout.contains("RESULT_DELIVERED"), "{}", timeline.stdout);
        let fetched = home.run(&["result", &id, "--json"]).exits(0).json();
        assert_eq!(fetched["result"]["amount"], 1000);
        assert_eq!(service.requests().len(), 1);
    };
    check(full(), false);
    check(full(), true);
    check(closed(), false);
    check(closed(), true);
}

#[test]
fn a_home_is_used_by_one_process_at_a_time() {
    let service = Service::start();
    let home = Home::with_shop(&service.origin);
    let (answer, told) = channel();
    service.will(Fate::Wait(told));
    let first = home.command(&CALL_JSON).spawn().unwrap();
    service.seen.recv().unwrap();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", first.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    let soft_and_hard: Vec<&str> = core.split_whitespace().skip(4).take(2).collect();
    assert_eq!(soft_and_hard, ["0", "0"], "{core}");
    home.run(&["secret", "list"]).exits(1).remarks("in use");
    let second = home.run(&CALL_JSON).exits(1).remarks("in use");
    assert_eq!(second.stdout, "");
    answer.send(()).unwrap();
    let first = Ran::of("first", first.wait_with_output().unwrap()).exits(0);
    assert_eq!(first.json()["ok"], true);
    assert_eq!(home.run(&CALL_JSON).exits(0).json()["request_id"], first.json()["request_id"]);
    assert_eq!(service.requests().len(), 0);
}

#[test]
fn the_first_interrupt_ends_nothing() {
    let service = Service::start();
    let home = Home::with_shop(&service.origin);
    let (answer, told) = channel();
    service.will(Fate::Wait(told));
    let mut first = home.command(&CALL_JSON).spawn().unwrap();
    service.seen.recv().unwrap();
    let pid = rustix::process::Pid::from_child(&first);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    // It is answered only after the interrupt was seen.
    let mut remark = [0; 10];
    std::io::Read::read_exact(first.stderr.as_mut().unwrap(), &mut remark).unwrap();
    answer.send(()).unwrap();
    Ran::of("first", first.wait_with_output().unwrap()).exits(0);

    let (answer, told) = channel();
    service.will(Fate::Wait(told));
    let args = [&CALL_JSON[..], &["--call-key", "left"]].concat();
    let mut second = home.command(&args).spawn().unwrap();
    service.seen.recv().unwrap();
    let pid = rustix::process::Pid::from_child(&second);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    std::io::Read::read_exact(second.stderr.as_mut().unwrap(), &mut remark).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let left = Ran::of("second", second.wait_with_output().unwrap()).exits(12).remarks("left");
    assert_eq!(left.stdout, "");
    answer.send(()).unwrap();
    let met = home.run(&args).exits(12).json();
    assert_eq!((&met["repeated"], &met["code"]), (&Value::Bool(true), &Value::from("OUTCOME_UNKNOWN")));
}

#[test]
fn the_log_holds_no_secret() {
    let service = Service::start();
    let home = Home::with_shop(&service.origin);
    service.will(Fate::Answer);
    let mut command = home.command(&CALL_JSON);
    let ran = Ran::of("call", command.env("PROOFPORT_LOG", "trace").output().unwrap());
    ran.exits(0).remarks("ACTION_ACCEPTED").keeps_the_secret();
}
