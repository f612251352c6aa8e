//! What stops a call before anything is sent: its own input, people, the vault, the connector.

use crate::case::{Case, Recorded, Told, told};
use crate::host::{Answer, Door, Host};
use crate::secret::{CANARY, nowhere_below, nowhere_in};
use crate::site::{BEARER, CHARGES, Connection, home};
use proofport_tests::mcp::Revision;
use proofport_tests::peer::{Peer, Scripts};

const INPUT: &str = r#"{"a":1}"#;

const INVALID: Told = told("INVALID_INPUT", "repair_input", "not_attempted");
const UNSUPPORTED: Told = told("UNSUPPORTED_ACTION", "repair_input", "not_attempted");
const FAULT: Told = told("CONNECTOR_FAULT", "stop_and_report", "not_attempted");
const TARGET: Told = told("INVALID_TARGET", "repair_input", "not_attempted");
const UNAVAILABLE: Told = told("CREDENTIAL_UNAVAILABLE", "stop_and_report", "not_attempted");
const LOCKED: Told = told("VAULT_LOCKED", "stop_and_report", "not_attempted");
const PENDING: Told = told("APPROVAL_PENDING", "request_approval", "not_attempted");
const EXPIRED: Told = told("APPROVAL_EXPIRED", "stop_and_report", "not_attempted");
const DENIED: Told = told("USER_DENIED", "stop_and_report", "not_attempted");

const fn recorded(because: &'static str, reached: &'static str) -> Option<Recorded> {
    Some(Recorded { because, reached })
}

/// A host, and the remote that no call of these reaches.
struct Desk {
    host: Host,
    peer: Peer,
}

impl Desk {
    fn check(&mut self, what: &str, told: Told, recorded: Option<Recorded>, answer: &Answer) {
        let private = vec![format!(":{}", self.peer.port()), "s-".to_owned()];
        let case = Case { what: what.to_owned(), told, recorded, secrets: &[CANARY], private };
        case.check(&mut self.host, answer);
    }

    /// The same call at every door.
    fn call(&mut self, operation: &str, input: &str, told: Told, recorded: Option<Recorded>) {
        // A tool's arguments are an object.
        let takes = |door: &Door| matches!(door, Door::Http | Door::Socket) || input.starts_with('{');
        for door in Door::ALL.into_iter().filter(takes) {
            let answer = self.host.call(door, operation, input);
            self.check(operation, told, recorded, &answer);
        }
    }
}

#[test]
fn what_stops_a_call_before_it_is_sent_says_no_more_than_that() {
    let peer = Peer::http(Scripts { each: Default::default(), default: None });
    let plain = |name: &str, guest| Connection::new(name, guest, peer.origin().to_string(), BEARER);
    let connections = [
        plain("plain", "courier"),
        plain("asks", "courier").asks(),
        plain("briefly", "courier").asks_briefly(),
        plain("moved", "courier"),
        plain("gone", "courier"),
        plain("charges", CHARGES),
        plain("panics", "panics"),
        plain("stranger", "unlisted-origin"),
    ];
    let mut desk = Desk { host: Host::start(home(&connections)), peer };

    desk.call("plain.act", "[]", INVALID, recorded("INVALID_INPUT", ""));
    desk.call("charges.create_charge", r#"{"amount":0}"#, INVALID, recorded("INVALID_INPUT", ""));
    desk.call("plain.nothing", INPUT, UNSUPPORTED, recorded("unknown_operation", ""));
    desk.call("nobody.act", INPUT, UNSUPPORTED, recorded("unknown_connection", ""));
    desk.call("panics.act", INPUT, FAULT, recorded("connector", ""));
    desk.call("stranger.act", INPUT, TARGET, recorded("connector", ""));

    // People.
    let asked = desk.host.call(Door::Http, "asks.act", INPUT);
    desk.check("asked", PENDING, recorded("each", "credential_selected"), &asked);
    desk.host.operator(&["deny", &asked.id()], &[10]);
    let denied = desk.host.ask(Door::Http, &format!("GET /v1/invocations/{}", asked.id()), "");
    desk.check("denied", DENIED, recorded("USER_DENIED", "credential_selected"), &denied);

    // Nobody answers, which is no denial.
    let briefly = desk.host.call(Door::Mcp(Revision::New), "briefly.act", INPUT);
    desk.check("asked briefly", PENDING, recorded("each", "credential_selected"), &briefly);
    let over = loop {
        let waited = desk.host.ask(Door::Http, &format!("POST /v1/invocations/{}/wait", briefly.id()), "{}");
        if waited.body["code"] != "APPROVAL_PENDING" {
            break waited;
        }
    };
    desk.check("nobody answered", EXPIRED, recorded("APPROVAL_EXPIRED", "credential_selected"), &over);

    // The vault.
    let elsewhere =
        ["secret", "set", "s-moved", "--for", "https://elsewhere.example", "--mode", "http_bearer"];
    desk.host.operator(&["secret", "remove", "s-moved"], &[0]);
    desk.host.given(&elsewhere, CANARY, &[0]);
    desk.call("moved.act", INPUT, UNAVAILABLE, recorded("destination_not_permitted", "input_validated"));
    desk.host.operator(&["secret", "remove", "s-gone"], &[0]);
    desk.call("gone.act", INPUT, UNAVAILABLE, recorded("absent", "input_validated"));
    desk.host.operator(&["vault", "lock"], &[0]);
    for operation in ["plain.act", "nobody.act", "plain.nothing"] {
        desk.call(operation, INPUT, LOCKED, None);
    }
    let listed = desk.host.ask(Door::Http, "GET /v1/operations", "");
    desk.check("operations of a locked home", LOCKED, None, &listed);
    desk.host.operator(&["vault", "unlock"], &[0]);

    // Who is not let in any more.
    let sessions = desk.host.operator(&["session", "list", "--json"], &[0]);
    let session = sessions["sessions"][0]["id"].as_str().unwrap_or_else(|| panic!("{sessions}")).to_owned();
    desk.host.operator(&["session", "end", &session], &[0]);
    let ended = desk.host.call(Door::Http, "plain.act", INPUT);
    assert!(matches!(ended.status, 401 | 403), "{}", ended.body);
    nowhere_in(CANARY, "the answer to somebody whose session ended", &ended.bytes);

    assert_eq!(desk.peer.accepted(), 0, "nothing was sent");
    let (home, said) = desk.host.stop();
    nowhere_in(CANARY, "what the host and its operators' commands said", &said);
    nowhere_below(CANARY, &home.path());
}
