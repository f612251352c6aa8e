//! Nothing is wrong with this one: it runs what its input says over SSH, as an argument vector or as a text
//! for the remote shell, with an environment and with input. Standard input of `bytes` bytes counts from 0
//! to 250 over and over.
//!
//! Its operations promise different things: `exec` nothing, `raw` declares raw commands, `stoppable` may be
//! asked to stop, `stored` has a long output stored, and `look` only reads: it waits for a file whose name
//! begins like its argument.

use proofport_sdk::{
    Call, Connector, Evidence, Exchange, Fault, InjectionMode, Manifest, Operation, Reason, ReconcileStep,
    Repeat, Slot, SshCommand, SshRequest, Step, Verdict, json, ssh::Script,
};
use serde::Deserialize;

/// What `look` runs.
const LOOK: Script =
    Script::new("look", r#": >"$2.began"; while [ ! -e "$2.go" ]; do sleep 0.05; done; printf seen"#);

struct Execs;

proofport_sdk::export!(Execs);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(default)]
    argv: Vec<String>,
    raw: Option<String>,
    #[serde(default)]
    environment: Vec<(String, String)>,
    bytes: Option<usize>,
}

impl Connector for Execs {
    fn describe(_config: &str) -> Manifest {
        let modes =
            [InjectionMode::SshKey, InjectionMode::SshPassword, InjectionMode::SshKeyboardInteractive];
        Manifest::new("execs", "0.1.0", "Runs anything.")
            .slot(Slot::new("login", "The account.", &modes))
            .operation(anything(Operation::write("exec", Repeat::None)))
            .operation(anything(Operation::write("raw", Repeat::None)).raw_commands())
            .operation(anything(Operation::write("stoppable", Repeat::None)).stop(5))
            .operation(anything(Operation::write("stored", Repeat::None)).stores_content())
            .operation(anything(Operation::read("look")))
            .ssh_query(LOOK.query_template("at", &[Script::any()]))
    }

    fn next(call: &Call, history: &[Exchange]) -> Result<Step, Fault> {
        if let Some(exchange) = history.last() {
            let response = exchange.ssh()?;
            let stored = response.stored.as_ref().map(|stored| stored.bytes);
            let output = json!({ "stdout_bytes": stored.unwrap_or(response.stdout.len() as u64) });
            let verdict = response.verdict();
            return Ok(if verdict.success { verdict.output(output) } else { verdict }.into());
        }
        let input: Input = call.input()?;
        if call.operation == "look" {
            let at = input.argv.first().ok_or_else(|| Fault::field("/argv"))?;
            return Ok(LOOK.verb("at").arg(at).credential("login").as_query("Look"));
        }
        let command = match input.raw {
            Some(text) => SshCommand::Raw(text),
            None => SshCommand::Argv(input.argv),
        };
        let stdin = input.bytes.map(|bytes| (0..=250).cycle().take(bytes).collect());
        let request = SshRequest {
            host: None,
            command,
            environment: input.environment,
            stdin,
            credential: Some("login".to_owned()),
        };
        Ok(request.as_effect("Run it"))
    }

    fn reconcile(_: &Call, _: &Evidence, _: &[Exchange]) -> Result<ReconcileStep, Fault> {
        Ok(Verdict::unknown(Reason::Unreadable).into())
    }
}

fn anything(operation: Operation) -> Operation {
    operation
        .summary("Run something.")
        .input(&json!({ "type": "object" }))
        .output(&json!({ "type": "object" }))
}
