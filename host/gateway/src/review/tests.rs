use super::*;
use crate::testing::manifest;
use proofport_core::contract::{KeyPlace, KeyedContract, Repeat};
use proofport_core::manifest::{Batch, BatchMode, Contract, Reconcile};

fn inspection() -> Inspection {
    Inspection {
        digest: Digest::of_bytes(b"module"),
        imports: vec!["wasi:io/error@0.2.6".to_owned()],
        exports: vec!["proofport:connector/connector@0.1.0".to_owned()],
        world_version: "0.1.0".to_owned(),
        size: 6,
    }
}

#[test]
fn everything_that_an_approval_rests_on_is_shown() {
    let text = Review::of(&inspection(), &manifest()).to_string();
    let expected = format!(
        "shop 1.2.3 — A shop.
  digest   {}
  size     6 bytes, for version 0.1.0 of the connector world
  imports  1 interfaces, all inert: no network, files, environment or real clock
           wasi:io/error@0.2.6
  config   account (required), deep, level
  slot     api_key (http_bearer or http_header): The secret key.
  query    POST /search   — counts as changing nothing: check that it does

  charge — Charges.
    effect write, repeat keyed
    While the outcome is unknown, the same bytes may be sent again with the same key (in the header `x-request-key`), \
for 24 hours from its first use, less margins: the remote is said to deduplicate per account; it refuses a known key \
with other content.
    The host can ask the remote what happened, when asked to; finding nothing counts as proof that nothing happened 1 \
minute after the last dispatch.
    A complete 429 is taken as proof that nothing was done.
    Response headers kept: x-request-id.
",
        Digest::of_bytes(b"module")
    );
    assert_eq!(text, expected);
}

#[test]
fn a_content_that_is_stored_is_said_to_be() {
    let check = |stores_content: bool| {
        let mut manifest = manifest();
        manifest.operations[0].stores_content = stores_content;
        let review = Review::of(&inspection(), &manifest);
        assert_eq!(review.to_string().contains("content of answers is stored, not read"), stores_content);
        assert_eq!(review.operations[0].stores_content, stores_content);
    };
    check(true);
    check(false);
}

#[test]
fn raw_commands_are_told_of() {
    for raw_commands in [true, false] {
        let mut manifest = manifest();
        manifest.operations[0].raw_commands = raw_commands;
        let review = Review::of(&inspection(), &manifest);
        assert_eq!(review.to_string().contains("May send raw commands"), raw_commands);
        assert_eq!(review.operations[0].raw_commands, raw_commands);
    }
}

#[test]
fn contracts_in_sentences() {
    let check = |effect: Effect, repeat: Repeat, reconcile: Option<Reconcile>, expected: &[&str]| {
        let contract = Contract {
            effect,
            repeat,
            statuses_before_work: vec![],
            reconcile,
            batch: None,
            job_operation: None,
            completion_marker: None,
            stop_grace_seconds: None,
        };
        let promises = words::promises(&contract);
        assert_eq!(promises.len(), expected.len(), "{promises:?}");
        for (promise, part) in promises.iter().zip(expected) {
            assert!(promise.contains(part), "{promise}");
        }
    };
    let keyed = |retention_seconds| {
        Repeat::Keyed(KeyedContract {
            place: KeyPlace::Connector,
            scope: "account".to_owned(),
            retention_seconds,
            compares_payload: false,
            running_status: None,
            replay_header: None,
        })
    };
    let (write, person) = (Effect::Write, "waits for a person");
    check(Effect::Read, Repeat::None, None, &["Changes nothing"]);
    check(write, Repeat::None, None, &["nothing is sent again", person]);
    check(write, Repeat::Idempotent, None, &["the same request may be sent again", person]);
    check(write, Repeat::Conditional, None, &["by a precondition", person]);
    check(write, keyed(Some(7 * 86_400)), None, &["7 days", person]);
    check(write, keyed(Some(1)), None, &["for 1 second from", person]);
    check(write, keyed(None), None, &["key_window_seconds", person]);
    let Repeat::Keyed(plain) = keyed(None) else { unreachable!() };
    let marking = KeyedContract { replay_header: Some("x-replay".to_owned()), ..plain };
    check(write, Repeat::Keyed(marking), None, &["`x-replay` is taken for the first request's", person]);
    let never = Reconcile { absence_settles_after_seconds: None, automatic: true };
    check(
        write,
        Repeat::None,
        Some(never),
        &["nothing is sent again", "by itself; finding nothing proves nothing"],
    );
    let contract = Contract {
        effect: write,
        repeat: Repeat::None,
        statuses_before_work: vec![105, 429, 503],
        reconcile: None,
        batch: Some(Batch {
            items: "/items".into(),
            child_id: "/id".into(),
            mode: BatchMode::Atomic,
            max: 5,
        }),
        job_operation: Some(crate::testing::name("follow")),
        completion_marker: Some("DONE\u{1b}[2J".to_owned()),
        stop_grace_seconds: Some(15),
    };
    let all = words::promises(&contract).join("\n");
    for part in [
        "A complete 429 or 503 is",
        "Exit status 105 is",
        "asked to stop (SIGTERM), and waited for up to 15 seconds",
        "up to 5 children, which stand or fall together",
        "`follow` follows",
        "DONE\\u{1b}[2J",
    ] {
        assert!(all.contains(part), "{all}");
    }
}

#[test]
fn a_batch_is_told_with_what_may_be_sent_again() {
    let check = |mode: BatchMode, place: KeyPlace, alone: bool, own_keys: bool| {
        let mut contract = manifest().operations.swap_remove(0).contract;
        if let Repeat::Keyed(keyed) = &mut contract.repeat {
            keyed.place = place.clone();
        }
        contract.batch = Some(Batch { items: "/items".into(), child_id: "/id".into(), mode, max: 5 });
        let all = words::promises(&contract).join("\n");
        assert_eq!(all.contains("a retry sends those alone"), alone, "{all}");
        assert_eq!(all.contains("a key of its own"), own_keys, "{all}");
    };
    let header = || KeyPlace::Header("x-key".into());
    check(BatchMode::Independent, KeyPlace::Connector, true, true);
    check(BatchMode::Independent, header(), true, false);
    check(BatchMode::Atomic, KeyPlace::Connector, false, false);
}

#[test]
fn a_script_is_shown_once_and_whole() {
    let script = (0..400).map(|n| format!("echo {n}\n")).collect::<String>() + "rm\u{1b} -rf \"$HOME\"";
    let template =
        |verb: &str| QueryTemplate::Ssh(["sh", "-c", &script, verb, "{}"].map(str::to_owned).to_vec());
    let mut manifest = manifest();
    manifest.query_templates = vec![template("status"), template("it is")];
    let review = Review::of(&inspection(), &manifest);
    let digest = Digest::of_bytes(script.as_bytes());
    assert_eq!(review.query_templates[1], format!("ssh: `sh` `-c` [{digest}] `it is` `{{}}`"));
    assert_eq!((review.scripts.len(), review.scripts[0].lines.len()), (1, 401));
    assert_eq!(review.scripts[0].lines[400], "rm\\u{1b} -rf \"$HOME\"");
    assert!(review.to_string().contains("           | echo 399\n"));
}

#[test]
fn a_strangers_text_moves_no_cursor() {
    let check = |text: &str, expected: &str| assert_eq!(plain(text), expected);
    check("Größe 5 € — ok", "Größe 5 € — ok");
    check("a\u{1b}[2Kb\r\nc\u{7}", "a\\u{1b}[2Kb\\u{d}\\u{a}c\\u{7}");
    check("abc\u{202e}fed", "abc\\u{202e}fed");
    check("a\u{200b}b\u{feff}\u{e0041}", "a\\u{200b}b\\u{feff}\\u{e0041}");
    check("\u{9b}31m", "\\u{9b}31m");
    assert_eq!(plain(&"x".repeat(10_000)).chars().count(), 301);

    let mut hostile = manifest();
    let evil = "\u{1b}]0;x\u{7}\nfine";
    hostile.version = evil.to_owned();
    hostile.summary = evil.to_owned();
    hostile.credential_slots[0].purpose = evil.to_owned();
    hostile.operations[0].summary = evil.to_owned();
    hostile.operations[0].kept_headers = vec![evil.to_owned()];
    hostile.query_templates = vec![QueryTemplate::Ssh(vec![evil.to_owned()])];
    hostile.config_schema = serde_json::json!({ "properties": { evil: {} }, "required": [evil] });
    if let Repeat::Keyed(contract) = &mut hostile.operations[0].contract.repeat {
        contract.scope = evil.to_owned();
        contract.place = KeyPlace::Header(evil.to_owned());
    }
    let mut inspection = inspection();
    inspection.imports = vec![evil.to_owned()];
    inspection.world_version = evil.to_owned();
    let review = Review::of(&inspection, &hostile);
    let text = review.to_string() + &serde_json::to_string(&review).unwrap();
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}') && !text.contains("\nfine"), "{text}");
}
