//! Nothing is wrong with this one: it runs what its input says over SSH, as an argument vector or as a text
//! for the remote shell, with an environment and with input. Standard input of `bytes` bytes counts from 0
//! to 250 over and over.

use proofport_sdk::{
    Call, Connector, Evidence, Exchange, Fault, InjectionMode, Manifest, Operation, Reason, ReconcileStep,
    Repeat, Slot, SshCommand, SshRequest, Step, Verdict, json,
};
use serde::Deserialize;

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
            .operation(
                Operation::write("exec", Repeat::None)
                    .summary("Run something.")
                    .input(&json!({ "type": "object" }))
                    .output(&json!({ "type": "object" })),
            )
    }

    fn next(call: &Call, history: &[Exchange]) -> Result<Step, Fault> {
        if let Some(exchange) = history.last() {
            let response = exchange.ssh()?;
            let output = json!({ "stdout_bytes": response.stdout.len() });
            let verdict = response.verdict();
            return Ok(if verdict.success { verdict.output(output) } else { verdict }.into());
        }
        let input: Input = call.input()?;
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
