//! What agents send holds secrets that are not this host's: credentials in addresses, in fields, in names. It
//! is theirs, and is still repeated nowhere: not in an answer, a log, a counter or a name.

use crate::host::{Answer, Door, Host};
use crate::secret::{CARELESS, nowhere_below, nowhere_in};
use crate::site::{BEARER, CHARGES, Connection, home};
use proofport_tests::mcp::Revision;
use proofport_tests::peer::{Peer, Script, Scripts};
use serde_json::json;

/// What a door or an operation makes of one request.
fn check(host: &mut Host, what: &str, answer: &Answer, code: &str) {
    let seen = (answer.body["ok"].as_bool(), answer.body["code"].as_str());
    assert_eq!(seen, (Some(false), Some(code)), "{what}: {}", answer.body);
    nowhere_in(CARELESS, &format!("{what}: the answer"), &answer.bytes);
    nowhere_in(CARELESS, &format!("{what}: the metrics"), &host.metrics());
    // This connector words what it does by the path, query included, for the person who is asked.
    let worded = what.starts_with("plain.aim");
    if let Some(id) = answer.body["request_id"].as_str().filter(|_| !worded) {
        for command in ["inspect", "timeline"] {
            let record = host.operator(&[command, id, "--json"], &[0]);
            assert!(record.is_object(), "{what}: {command}");
            nowhere_in(CARELESS, &format!("{what}: {command}"), record.to_string().as_bytes());
        }
    }
}

#[test]
fn what_an_agent_sends_is_repeated_nowhere() {
    let refuses = Script::answer("HTTP/1.1 400 X\r\ncontent-length: 0\r\n\r\n");
    let peer = Peer::http(Scripts { each: Default::default(), default: Some(refuses) });
    let plain = |name: &str, guest| Connection::new(name, guest, peer.origin().to_string(), BEARER);
    let connections = [plain("plain", "courier"), plain("charges", CHARGES)];
    let mut host = Host::start(home(&connections));
    let encoded = "Gl4ss%26H0use%252F%3Dsk_live_77aXc9%2B%2FZzQ";
    let nested = json!({ "a": [{ "authorization": CARELESS, CARELESS: { "x": [CARELESS] } }] });

    // As input of an operation.
    let aim = |origin: &str, path: &str| json!({ "at": [origin, path] });
    let inputs = [
        (
            "charges.create_charge",
            json!({ CARELESS: 1, "amount": CARELESS, "currency": nested }),
            "INVALID_INPUT",
        ),
        (
            "charges.get_charge",
            json!({ "id": format!("Authorization: Bearer {CARELESS}\r\n") }),
            "INVALID_INPUT",
        ),
        ("plain.act", json!([CARELESS]), "INVALID_INPUT"),
        ("plain.act", nested.clone(), "REMOTE_REJECTED"),
        ("plain.aim", aim(&format!("https://{CARELESS}:x@elsewhere.example"), "/"), "INVALID_TARGET"),
        ("plain.aim", aim("", &format!("/x?sig={encoded}")), "REMOTE_REJECTED"),
        ("plain.aim", aim("", &format!("//{CARELESS}@elsewhere.example/\r\nx: y")), "INVALID_TARGET"),
    ];
    for (operation, input, code) in inputs {
        // A tool's arguments are an object.
        for door in Door::ALL.into_iter().filter(|door| input.is_object() || !matches!(door, Door::Mcp(_))) {
            let answer = host.call(door, operation, &input.to_string());
            check(&mut host, &format!("{operation} {input}"), &answer, code);
        }
    }

    // As anything else of a frame.
    for revision in Revision::BOTH {
        for (method, params) in [
            ("tools/call", json!({ "name": CARELESS, "arguments": {} })),
            ("tools/call", json!({ "name": "plain__act", "arguments": [CARELESS] })),
            ("tools/call", json!({ "name": "plain__act", "arguments": { "call_key": nested } })),
            ("tools/call", json!({ "name": "wait", "arguments": { "request_id": CARELESS } })),
            ("tools/call", json!({ "name": "fetch_result", "arguments": { CARELESS: 1 } })),
            ("tools/call", json!({ CARELESS: CARELESS })),
            ("tasks/get", json!({ "taskId": CARELESS })),
            ("prompts/get", json!({ "name": CARELESS })),
            ("resources/read", json!({ "uri": format!("https://{CARELESS}@elsewhere.example/") })),
            ("logging/setLevel", json!({ "level": CARELESS })),
            (CARELESS, json!({ CARELESS: nested })),
        ] {
            let answer = host.frame(revision, method, params.clone());
            nowhere_in(CARELESS, &format!("{revision:?} {method} {params}"), &answer.bytes);
            // It came as far as the protocol, which answered with an error or an envelope, and did nothing.
            let said = String::from_utf8_lossy(&answer.bytes);
            assert!(said.contains("\"jsonrpc\""), "{revision:?} {method} {params}: {said}");
            assert!(answer.body["ok"] != true, "{revision:?} {method} {params}: {}", answer.body);
        }
    }

    // As anything else of a request.
    let call = |operation: &str, input: &str, more: &str| {
        format!(r#"{{"operation":"{operation}","input":{input}{more}}}"#)
    };
    let text = json!(CARELESS).to_string();
    let bodies = [
        (call(CARELESS, "{}", ""), "INVALID_INPUT"),
        (call("plain.act", "{}", &format!(",{text}:1")), "INVALID_INPUT"),
        (call("plain.act", "{}", &format!(",\"call_key\":{nested}")), "INVALID_INPUT"),
        (format!("{{\"operation\":{text}"), "INVALID_INPUT"),
        (text.clone(), "INVALID_INPUT"),
    ];
    for (body, code) in bodies {
        let answer = host.ask(Door::Http, "POST /v1/call", &body);
        check(&mut host, &body, &answer, code);
    }
    for (line, code) in [
        (format!("GET /v1/invocations/{encoded}"), "NO_SUCH_INVOCATION"),
        (format!("GET /v1/{encoded}?api_key={encoded}"), "UNSUPPORTED_ACTION"),
        (format!("DELETE /v1/call?api_key={encoded}"), "UNSUPPORTED_ACTION"),
    ] {
        let answer = host.ask(Door::Http, &line, "");
        check(&mut host, &line, &answer, code);
    }
    let strange = [
        format!("authorization: Bearer {CARELESS}\r\n"),
        format!("AuthoriZation: Basic {CARELESS}\r\nauthorization: {CARELESS}\r\n"),
        format!("x-api-key: {CARELESS}\r\nX-API-KEY: {CARELESS}\r\ncookie: a={CARELESS}\r\n"),
    ];
    for fields in strange {
        let answer = host.ask_with(Door::Http, "GET /v1/operations", &fields, "");
        check(&mut host, &fields, &answer, "USER_DENIED");
    }
    // What is no HTTP, and what names another host.
    for bytes in [
        format!("{CARELESS}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{CARELESS}\r\n\r\n"),
        format!(
            "GET http://{encoded}@elsewhere.example/ HTTP/1.1\r\nhost: elsewhere.example\r\nconnection: close\r\n\r\n"
        ),
    ] {
        let answer = host.raw(Door::Http, bytes.as_bytes());
        assert!((400..404).contains(&answer.status), "{bytes}");
        nowhere_in(CARELESS, &bytes, &answer.bytes);
    }

    let (home, said) = host.stop();
    nowhere_in(CARELESS, "what the host and its operators' commands said", &said);
    nowhere_below(CARELESS, &home.path());
}
