//! Nothing is wrong with this one: each operation writes under another contract, and every answer is read
//! by the default table of the SDK alone. The content is as long as the input's `bytes` says.

use proofport_sdk::{
    Call, Connector, Evidence, Exchange, Fault, HttpRequest, KeyedContract, Manifest, Operation, Reason,
    ReconcileStep, Repeat, Step, Terms, Verdict, json, key_in_header,
};
use serde::Deserialize;

struct Contracts;

proofport_sdk::export!(Contracts);

/// What `lists` says to be sent before any work; of 303, 502 and 504 nobody can say so.
const BEFORE_WORK: &[u16] = &[303, 307, 403, 408, 500, 502, 503, 504];

/// What `keyed` and `expired` say to mean "the first request is still running".
const RUNNING: u16 = 409;

#[derive(Deserialize)]
struct Input {
    #[serde(default = "few")]
    bytes: usize,
}

const fn few() -> usize {
    8
}

impl Connector for Contracts {
    fn describe(_config: &str) -> Manifest {
        let keyed = |seconds: u64| {
            let contract = KeyedContract::new(key_in_header("idempotency-key"), "account");
            Repeat::Keyed(contract.retention_seconds(seconds).running_status(RUNNING))
        };
        Manifest::new("contracts", "0.1.0", "Writes under every contract.")
            // Nothing is promised.
            .operation(write("plain", Repeat::None))
            // The same, and what became of it can be asked for.
            .operation(write("looks", Repeat::None).reconcile(Some(0), false))
            .operation(write("lists", Repeat::None).statuses_before_work(BEFORE_WORK))
            .operation(write("idempotent", Repeat::Idempotent))
            .operation(write("keyed", keyed(86_400)))
            // The key is forgotten before any second attempt could arrive.
            .operation(write("expired", keyed(1)))
            .operation(write("conditional", Repeat::Conditional))
            // A 202 names a job.
            .operation(write("job", Repeat::None))
    }

    fn next(call: &Call, history: &[Exchange]) -> Result<Step, Fault> {
        let operation = call.operation.as_str();
        let Some(exchange) = history.last() else {
            let Input { bytes } = call.input()?;
            let request = match operation {
                "idempotent" => HttpRequest::put("/act"),
                "conditional" => HttpRequest::put("/act").header("if-match", "\"1\""),
                _ => HttpRequest::post("/act"),
            };
            let request = HttpRequest { body: Some(vec![b'a'; bytes]), ..request };
            return Ok(request.as_effect("Write"));
        };
        let response = exchange.http()?;
        let terms = match operation {
            "lists" => Terms { before_work: BEFORE_WORK, ..Terms::NONE },
            "keyed" | "expired" => Terms { running: Some(RUNNING), ..Terms::NONE },
            _ => Terms::NONE,
        };
        let verdict = response.verdict(terms);
        Ok(match (verdict.success, response.status) {
            (true, 202) if operation == "job" => Verdict::accepted("job-1", json!({})),
            (true, _) => verdict.output(json!({})),
            (false, _) => verdict,
        }
        .into())
    }

    fn reconcile(_: &Call, _: &Evidence, _: &[Exchange]) -> Result<ReconcileStep, Fault> {
        Ok(Verdict::unknown(Reason::Unreadable).into())
    }
}

fn write(name: &str, repeat: Repeat) -> Operation {
    Operation::write(name, repeat).summary("Change something.").input(&json!({ "type": "object" }))
}
