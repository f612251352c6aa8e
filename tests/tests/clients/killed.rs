//! The host is killed while it carries a client's call, whose effect the service has applied.

use crate::official::{Answer, Official, Over, Target, carrier};
use crate::sdk::Sdk;
use crate::story::let_in;
use crate::{Place, says_yes};
use proofport_tests::mcp::Revision;
use proofport_tests::peer::{Act, Script};
use proofport_tests::serving::Serving;
use serde_json::json;

const AUTO: &str = "[connections.c.approvals]\nreads = \"auto\"\nwrites = \"auto\"\n";

/// Applies the effect, and never answers.
fn held() -> Script {
    Script(vec![Act::ReadRequest, Act::Effect, Act::Hold, Act::Close])
}

/// The client and its carrier live on.
fn check(sdk: Sdk, revision: Revision) {
    println!("{sdk:?} {revision:?}");
    let place = Place::new(vec![held(), says_yes()]);
    place.configure(AUTO);
    let host = Serving::start(&place.home());
    let target = Target::of(&host, Over::Lines, revision, carrier());
    let mut client = sdk.start(&target, place.dir.path());
    let_in(&host, &mut client);
    let same = json!({ "n": 1 });
    client.begin("c__once", &same);
    client.on_record();
    place.peer.wait_effects(1);
    host.kill();
    let unknown = Answer::of(&client.finish());
    unknown.says(Some("OUTCOME_UNKNOWN"), Some("unknown"));
    // Nobody is there: nothing is sent, and that is said.
    client.call("c__once", &same).says(Some("INTERNAL"), Some("not_attempted"));

    let host = Serving::start(&place.home());
    let again = client.call("c__once", &same);
    again.says(Some("OUTCOME_UNKNOWN"), Some("unknown"));
    assert_eq!((again.id(), &again.envelope["repeated"]), (unknown.id(), &json!(true)));
    assert_eq!((place.received(), place.peer.effects()), ((1, 0), 1), "no second effect");
    let settled = client.call("inspect_outcome", &json!({ "request_id": unknown.id() }));
    settled.says(None, Some("committed"));
    assert_eq!(settled.id(), unknown.id());
    let again = client.call("c__once", &same);
    assert_eq!(again.says(None, Some("committed")).id(), unknown.id());
    assert_eq!((place.received(), place.peer.effects()), ((1, 1), 1));
    drop(client);
    assert_eq!(host.stop(), Some(0));
}

#[test]
fn a_call_whose_host_was_killed_is_met_by_the_next_host() {
    for sdk in [Sdk::Python, Sdk::TypeScript] {
        for revision in Revision::BOTH {
            check(sdk, revision);
        }
    }
}
