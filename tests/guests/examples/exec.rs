//! Nothing is wrong with this one: it runs the input's script over SSH, or a fixed raw text, in operations
//! that promise different things. `run` promises nothing, `stoppable` may be asked to stop, `stored` has a
//! long output stored, `raw` declares raw commands and `undeclared` sends one without. `look` only reads.

use proofport_hostile_guests::{
    Call, Effect, Exchange, Hostile, InjectionMode, Manifest, Operation, Outcome, QueryTemplate, Reason,
    Request, Response, Role, Send, SshCommand, SshExit, SshRequest, Step, StopContract, Verdict, failed, manifest, operation, verdict,
};

/// What `look` runs.
const LOOK: &str = r#": >"$1.began"; while [ ! -e "$1.go" ]; do sleep 0.05; done; printf seen"#;

/// What `raw` and `undeclared` run.
const RAW: &str = "printf one | tr a-z A-Z; printf '%s' \"$PROOFPORT_TEST\" >&2";

struct This;

impl Hostile for This {
    fn describe() -> Manifest {
        let operations = vec![
            exec("run", Effect::Write),
            Operation { stop: Some(StopContract { grace_seconds: 1 }), ..exec("stoppable", Effect::Write) },
            Operation { stores_content: true, ..exec("stored", Effect::Write) },
            Operation { raw_commands: true, ..exec("raw", Effect::Write) },
            exec("undeclared", Effect::Write),
            exec("look", Effect::Read),
        ];
        let mut manifest = Manifest { operations, ..manifest() };
        manifest.credential_slots[0].name = "login".to_owned();
        manifest.credential_slots[0].modes = vec![InjectionMode::SshKey];
        let template = ["sh", "-c", LOOK, "look", "{}"].map(str::to_owned).to_vec();
        manifest.query_templates = vec![QueryTemplate::Ssh(template)];
        manifest
    }

    fn next(call: &Call, history: &[Exchange]) -> Step {
        let Some(script) = script(&call.input) else { return Step::Refuse(vec!["/script".into()]) };
        let Some(last) = history.last() else { return ask(&call.operation, script) };
        Step::Settle(match &last.response {
            Response::Ssh(response) => match (&response.exit, &response.stored) {
                (SshExit::Status(0), None) => {
                    let output = format!(r#"{{"bytes":{}}}"#, response.stdout.len());
                    Verdict { success: true, ..verdict(Outcome::Committed, Reason::Done, Some(&output)) }
                }
                (SshExit::Status(0), Some(stored)) => {
                    let output = format!(r#"{{"bytes":{},"digest":"{}"}}"#, stored.bytes, stored.digest);
                    Verdict { success: true, ..verdict(Outcome::Committed, Reason::Done, Some(&output)) }
                }
                (SshExit::Status(_) | SshExit::Signal(_) | SshExit::Marker, _) => {
                    verdict(Outcome::Committed, Reason::RemoteFailed, None)
                }
            },
            Response::Http(response) => failed(response.status),
        })
    }
}

fn ask(operation: &str, script: &str) -> Step {
    let argv = |argv: &[&str]| SshCommand::Argv(argv.iter().map(|argument| (*argument).to_owned()).collect());
    let (role, command) = match operation {
        "look" => (Role::Query, argv(&["sh", "-c", LOOK, "look", script])),
        "raw" | "undeclared" => (Role::Effect, SshCommand::Raw(RAW.to_owned())),
        _ => (Role::Effect, argv(&["sh", "-c", script])),
    };
    let request = Request::Ssh(SshRequest {
        host: None,
        command,
        environment: Vec::new(),
        stdin: None,
        credential: Some("login".to_owned()),
    });
    Step::Send(Send { role, request, summary: "Run a script".to_owned() })
}

fn exec(name: &str, effect: Effect) -> Operation {
    let input = r#"{"type":"object","properties":{"script":{"type":"string","pattern":"^[^\"\\\\]*$"}},"required":["script"],"additionalProperties":false}"#;
    let output = r#"{"type":"object","properties":{"bytes":{"type":"integer"},"digest":{"type":"string"}},"required":["bytes"],"additionalProperties":false}"#;
    Operation { input_schema: input.into(), output_schema: output.into(), ..operation(name, "Runs a script.", effect) }
}

/// The script in an input that its schema holds to characters which JSON does not escape.
fn script(input: &str) -> Option<&str> {
    input.strip_prefix(r#"{"script":""#)?.strip_suffix(r#""}"#)
}

proofport_hostile_guests::hostile!(This);
