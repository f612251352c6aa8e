//! What a client of other people's makes of an approval, a denial and a lost answer, over every way there is.

use crate::inspector::{Form, Inspector};
use crate::official::{Answer, Official, Over, Target};
use crate::sdk::Sdk;
use crate::{Place, done, lost, official, says_yes};
use proofport_core::digest::Digest;
use proofport_tests::mcp::Revision;
use proofport_tests::serving::Serving;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;

const TOOL: &str = "c__once";

/// The host's own tools, which are all that somebody sees whom nobody has let in.
const OWN: [&str; 5] = ["fetch_result", "wait", "inspect_outcome", "retry", "cancel"];

/// A client that nobody has let in sees nothing and does nothing. Lets it in.
pub(crate) fn let_in(host: &Serving, client: &mut dyn Official) {
    assert_eq!(client.tools(), OWN);
    let refused = client.call("fetch_result", &json!({ "request_id": format!("act_{}", "a".repeat(26)) }));
    refused.says(Some("APPROVAL_PENDING"), Some("not_attempted"));
    let (_, listed) = host.operator(&["session", "list"]);
    let [session] = listed["sessions"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!((&session["standing"], &session["kind"]), (&json!("waiting"), &json!("process")), "{listed}");
    let (status, allowed) = host.operator(&["session", "allow", session["id"].as_str().unwrap()]);
    assert_eq!((status, &allowed["sessions"][0]["standing"]), (0, &json!("allowed")), "{allowed}");
}

/// Asks for a write, and has a person say `word` about it while the client waits for what becomes of it.
fn asked(host: &Serving, client: &mut dyn Official, arguments: &Value, word: &[&str]) -> Answer {
    let id = if client.takes_tasks() {
        // It is told of a task, and looks at that until it is over.
        client.begin(TOOL, arguments);
        only_question(host)
    } else {
        let pending = client.call(TOOL, arguments);
        let id = pending.says(Some("APPROVAL_PENDING"), Some("not_attempted")).id();
        assert_eq!(only_question(host), id);
        let about = json!({ "request_id": id, "seconds": 0 });
        client.call("wait", &about).says(Some("APPROVAL_PENDING"), Some("not_attempted"));
        client.begin("wait", &json!({ "request_id": id, "seconds": 40 }));
        client.received();
        id
    };
    let said = host.run(&[&word[..1], &[id.as_str()], &word[1..]].concat());
    assert!(matches!(said.status.code(), Some(0 | 10 | 12 | 14)), "{said:?}");
    let answer = Answer::of(&client.finish());
    assert_eq!(answer.id(), id);
    answer
}

/// The id of the only call that waits for a person, once there is one.
fn only_question(host: &Serving) -> String {
    loop {
        let (status, listed) = host.operator(&["approvals"]);
        assert_eq!(status, 0, "{listed}");
        match listed["approvals"].as_array().unwrap().as_slice() {
            [] => {}
            [one] => return one["card"]["request_id"].as_str().unwrap().to_owned(),
            more => panic!("{more:?}"),
        }
    }
}

/// The whole story. What the service received is exactly what the client was told.
fn check(place: &Place, host: &Serving, client: &mut dyn Official) {
    let tools = client.tools();
    assert!(OWN.iter().chain([&TOOL]).all(|tool| tools.iter().any(|name| name == tool)), "{tools:?}");
    let yes = ["approve", "--yes"];
    let committed = asked(host, client, &json!({ "n": 1 }), &yes);
    committed.says(None, Some("committed"));
    assert_eq!(place.received(), (1, 0));

    let denied = asked(host, client, &json!({ "n": 2 }), &["deny"]);
    denied.says(Some("USER_DENIED"), Some("not_attempted"));
    assert_eq!(place.received(), (1, 0), "nothing of it was sent");

    let unknown = asked(host, client, &json!({ "n": 3 }), &yes);
    unknown.says(Some("OUTCOME_UNKNOWN"), Some("unknown"));
    assert_eq!(unknown.envelope["action"], "inspect_outcome");
    assert_eq!(place.received(), (2, 0));
    // A client that asks for the same again is told of the first.
    let again = client.call(TOOL, &json!({ "n": 3 }));
    again.says(Some("OUTCOME_UNKNOWN"), Some("unknown"));
    assert_eq!((&again.envelope["repeated"], again.id()), (&json!(true), unknown.id()));

    let about = json!({ "request_id": unknown.id() });
    let settled = client.call("inspect_outcome", &about);
    settled.says(None, Some("committed"));
    let fetched = client.call("fetch_result", &about);
    fetched.says(None, Some("committed"));
    assert_eq!((settled.id(), fetched.id()), (unknown.id(), unknown.id()));
    assert_eq!((place.received(), place.peer.effects()), ((2, 1), 2), "two writes, and one question");
    assert_eq!(place.peer.accepted(), 3);
}

/// A place where all that is to happen will.
fn place() -> Place {
    Place::new(vec![done(), lost(), says_yes()])
}

/// Tells the story over this way, with the client that `start` makes of the target and a folder of its own.
fn tell(
    place: &Place,
    target: (Over, Revision, &Path),
    start: impl FnOnce(Target, &Path) -> Box<dyn Official>,
) {
    let (over, revision, carrier) = target;
    println!("{over:?} {revision:?}");
    let host = Serving::start(&place.home());
    let target = Target::of(&host, over, revision, carrier);
    let mut client = start(target, place.dir.path());
    if over == Over::Lines && carrier == official::carrier() {
        let_in(&host, client.as_mut());
    }
    check(place, &host, client.as_mut());
    drop(client);
    assert_eq!(host.stop(), Some(0));
}

fn sdk(sdk: Sdk) {
    for revision in Revision::BOTH {
        for over in Over::BOTH {
            let way = (over, revision, official::carrier());
            tell(&place(), way, |target, home| Box::new(sdk.start(&target, home)));
        }
    }
}

#[test]
fn the_python_sdk_waits_for_a_person_and_has_an_unknown_settled() {
    sdk(Sdk::Python);
}

#[test]
fn the_typescript_sdk_waits_for_a_person_and_has_an_unknown_settled() {
    sdk(Sdk::TypeScript);
}

fn inspector(form: Form, over: Over) {
    for revision in Revision::BOTH {
        let way = (over, revision, official::carrier());
        tell(&place(), way, |target, home| Box::new(Inspector::start(form, target, home)));
    }
}

#[test]
fn the_inspector_waits_for_a_person_and_has_an_unknown_settled() {
    inspector(Form::Cli, Over::Http);
}

#[test]
fn the_inspector_that_stays_connected_does_so_over_lines() {
    inspector(Form::Mcpdo, Over::Lines);
}

/// The inspector starts a carrier for each of its requests, so that nobody could let each of them in. What the
/// policy lets in is an executable, and not the program's own: the carrier is one of another digest.
#[test]
fn the_inspector_does_so_over_lines_whose_carrier_is_let_in_by_policy() {
    let folder = tempfile::tempdir().unwrap();
    let carrier = folder.path().join("carrier");
    std::fs::copy(official::carrier(), &carrier).unwrap();
    // What stands behind an executable's own parts is not run.
    let mut file = std::fs::OpenOptions::new().append(true).open(&carrier).unwrap();
    file.write_all(b"another").unwrap();
    drop(file);
    let digest = Digest::of_bytes(&std::fs::read(&carrier).unwrap());
    for revision in Revision::BOTH {
        let place = place();
        place.configure(&format!("[sessions]\nallow = [\"{digest}\"]\n"));
        let way = (Over::Lines, revision, carrier.as_path());
        tell(&place, way, |target, home| Box::new(Inspector::start(Form::Cli, target, home)));
    }
}
