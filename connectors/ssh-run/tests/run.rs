//! What the connector sends for a call, and what it makes of the answers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

use proofport_connector_ssh_run::SshRun;
use proofport_sdk::ssh::run_once::{MARKER, RunOnce};
use proofport_sdk::{
    Call, Connector, Evidence, Exchange, Fault, Outcome, Reason, ReconcileStep, Request, Response, Role,
    SshCommand, SshExit, SshRequest, SshResponse, Step, Verdict,
};
use serde_json::{Value, json};

fn config() -> Value {
    json!({ "commands": {
        "restart": {
            "argv": ["systemctl", "restart", "--", { "argument": "unit" }],
            "arguments": { "unit": { "type": "one_of", "values": ["web", "queue worker"] } },
            "run_once": true,
        },
        "tail": {
            "argv": ["tail", { "prefix": "--lines=", "argument": "lines" }, "/var/log/app.log"],
            "arguments": { "lines": { "type": "integer", "minimum": 1, "maximum": 100 } },
            "run_once": false,
        },
        "greet": {
            "argv": ["echo", { "argument": "who" }],
            "arguments": { "who": { "type": "word", "longest": 20 } },
            "run_once": false,
        },
        "broken": { "argv": ["echo", { "argument": "nobody" }], "run_once": false },
    } })
}

fn call(input: &Value) -> Call {
    Call {
        operation: "run".to_owned(),
        input: input.to_string(),
        config: config().to_string(),
        reference: "ppcase".to_owned(),
        idempotency_key: None,
        accepted_at: 0,
    }
}

fn sent(call: &Call) -> SshRequest {
    let Ok(Step::Send(send)) = SshRun::next(call, &[]) else { panic!("it sends nothing") };
    let Request::Ssh(request) = send.request else { panic!("not SSH") };
    assert_eq!((send.role, request.credential.as_deref()), (Role::Effect, Some("login")));
    request
}

#[test]
fn a_declared_command_is_sent_as_declared() {
    let check = |input: Value, expected: &[&str]| {
        let SshCommand::Argv(argv) = sent(&call(&input)).command else { panic!("not an argument vector") };
        assert_eq!(argv, expected);
    };
    let tail = |lines: i64| json!({ "command": "tail", "arguments": { "lines": lines } });
    check(tail(1), &["tail", "--lines=1", "/var/log/app.log"]);
    check(tail(100), &["tail", "--lines=100", "/var/log/app.log"]);
    check(json!({ "command": "greet", "arguments": { "who": "a.b" } }), &["echo", "a.b"]);
    let restart = call(&json!({ "command": "restart", "arguments": { "unit": "queue worker" } }));
    let once = RunOnce::of(&restart).run(["systemctl", "restart", "--", "queue worker"]);
    assert_eq!(sent(&restart).command, once.command);
}

#[test]
fn nothing_else_can_be_run() {
    let check = |input: Value, field: &str| {
        assert_eq!(SshRun::next(&call(&input), &[]), Err(Fault::field(field)), "{input}");
    };
    let tail = |lines: Value| json!({ "command": "tail", "arguments": { "lines": lines } });
    check(json!({ "command": "rm" }), "/command");
    check(json!({ "command": "tail" }), "/arguments");
    check(tail(json!(0)), "/arguments/lines");
    check(tail(json!(101)), "/arguments/lines");
    check(tail(json!("1")), "/arguments/lines");
    check(tail(json!(1.5)), "/arguments/lines");
    check(json!({ "command": "tail", "arguments": { "lines": 1, "more": 1 } }), "/arguments/more");
    check(json!({ "command": "restart", "arguments": { "unit": "ssh" } }), "/arguments/unit");
    check(json!({ "command": "greet", "arguments": { "who": "--help" } }), "/arguments/who");
    check(json!({ "command": "greet", "arguments": { "who": "a;b" } }), "/arguments/who");
    check(json!({ "command": "broken" }), "");
}

#[test]
fn the_configuration_is_held_to_its_schema() {
    let schema: Value = serde_json::from_str(&SshRun::describe("{}").config_schema).unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    assert!(schema.is_valid(&config()));
    let check = |command: Value| {
        assert!(!schema.is_valid(&json!({ "commands": { "x": command } })), "{command}");
    };
    check(json!({ "argv": [], "run_once": true }));
    check(json!({ "argv": ["x"] }));
    check(json!({ "argv": [{ "argument": "program" }], "run_once": true }));
    check(json!({ "argv": [""], "run_once": true }));
    check(json!({ "argv": ["x"], "run_once": true, "shell": true }));
    check(json!({ "argv": ["x"], "run_once": true, "arguments": { "a": { "type": "text" } } }));
    check(json!({ "argv": ["x"], "run_once": true, "arguments": { "a": { "type": "word" } } }));
}

fn exchange(request: SshRequest, exit: SshExit, stdout: &str, stderr: &str) -> Exchange {
    let response = SshResponse { exit, stdout: stdout.into(), stderr: stderr.into(), stored: None };
    Exchange { role: Role::Effect, request: Request::Ssh(request), response: Response::Ssh(response) }
}

fn expect(verdict: &Verdict, outcome: Outcome, reason: Reason, output: &Value) {
    let have = verdict.output.as_deref().map_or(Value::Null, |text| serde_json::from_str(text).unwrap());
    assert_eq!((verdict.outcome, verdict.reason, &have), (outcome, reason, output));
    let operation = &SshRun::describe("{}").operations[0];
    let schema =
        if verdict.success { Some(&operation.output_schema) } else { operation.failure_schema.as_ref() };
    let schema: Value = serde_json::from_str(schema.unwrap()).unwrap();
    assert!(have.is_null() || jsonschema::draft202012::new(&schema).unwrap().is_valid(&have), "{have}");
}

#[test]
fn an_answer_says_how_the_command_ended() {
    use Outcome::{Committed, Rejected, Unknown};
    let check = |command: &str, exit: SshExit, stderr: &str, outcome, reason, output: Value| {
        let (name, value) = if command == "tail" { ("lines", json!(1)) } else { ("unit", json!("web")) };
        let call = call(&json!({ "command": command, "arguments": { name: value } }));
        let step = SshRun::next(&call, &[exchange(sent(&call), exit, "out", stderr)]);
        let Ok(Step::Settle(verdict)) = step else { panic!("{step:?}") };
        expect(&verdict, outcome, reason, &output);
    };
    let status = SshExit::Status;
    let out = json!({ "exit_status": 0, "stdout": "out", "stdout_bytes": 3 });
    check("tail", status(0), "", Committed, Reason::Done, out.clone());
    check("tail", status(255), "", Committed, Reason::RemoteFailed, json!({ "exit_status": 255 }));
    check("tail", SshExit::Signal("KILL".to_owned()), "", Committed, Reason::RemoteFailed, Value::Null);
    let end = |status: u8| format!("{MARKER}ppcase {status}\n");
    check("restart", status(0), &end(0), Committed, Reason::Done, out.clone());
    check("restart", SshExit::Marker, &end(0), Committed, Reason::Done, out);
    check("restart", status(3), &end(3), Committed, Reason::RemoteFailed, json!({ "exit_status": 3 }));
    let refused = |word: &str| format!("proofport-refused:ppcase {word}\n");
    check(
        "restart",
        status(122),
        &refused("state"),
        Rejected,
        Reason::Unavailable,
        json!({ "why": "state" }),
    );
    check("restart", status(121), &refused("used"), Unknown, Reason::Conflict, json!({ "why": "used" }));
    check("restart", status(0), "", Unknown, Reason::Unreadable, Value::Null);
}

#[test]
fn a_reconciliation_says_what_the_remote_knows() {
    use Outcome::{Committed, Rejected, Unknown};
    let call = call(&json!({ "command": "restart", "arguments": { "unit": "web" } }));
    let request = Request::Ssh(sent(&call));
    let evidence = Evidence { first_dispatched_at: 0, last_dispatched_at: 0, now: 0, attempts: 1, request };
    let Ok(ReconcileStep::Send(send)) = SshRun::reconcile(&call, &evidence, &[]) else {
        panic!("no question")
    };
    let Request::Ssh(query) = send.request else { panic!("not SSH") };
    assert_eq!((send.role, &query.command), (Role::Query, &RunOnce::of(&call).status().command));
    let check = |stdout: &str, outcome, reason, output: Value| {
        let history = [exchange(query.clone(), SshExit::Status(0), stdout, "")];
        let step = SshRun::reconcile(&call, &evidence, &history);
        let Ok(ReconcileStep::Settle(verdict)) = step else { panic!("{step:?}") };
        expect(&verdict, outcome, reason, &output);
    };
    check("absent\n", Rejected, Reason::Absent, Value::Null);
    check("running\n", Unknown, Reason::StillRunning, Value::Null);
    check("lost\n", Unknown, Reason::Unavailable, json!({ "why": "lost" }));
    check("finished 3\nstdout 0 -\n", Committed, Reason::RemoteFailed, json!({ "exit_status": 3 }));
    check("signalled 9\nstdout - -\n", Committed, Reason::RemoteFailed, json!({ "signal": 9 }));
    let sha256 = "0a".repeat(32);
    let found = json!({ "exit_status": 0, "stdout_bytes": 5, "stdout_sha256": sha256 });
    check(&format!("finished 0\nstdout 5 {sha256}\n"), Committed, Reason::Present, found);
    let plain = unremembered();
    let step = SshRun::reconcile(&plain, &evidence, &[]);
    assert_eq!(step, Ok(Verdict::unknown(Reason::Unavailable).into()), "nothing remembers it");
}

fn unremembered() -> Call {
    call(&json!({ "command": "greet", "arguments": { "who": "x" } }))
}

#[test]
fn the_manifest_does_not_depend_on_the_configuration() {
    assert_eq!(SshRun::describe("{}"), SshRun::describe(&config().to_string()));
}
