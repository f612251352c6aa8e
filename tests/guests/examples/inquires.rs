//! Nothing is wrong with this one: what became of its writes can be asked for, and the host may do so by
//! itself. `prepared` asks something before its write, and `submit` hands over a job that `follow` follows.
//! What the remote says it says in one word.

use proofport_sdk::{
    Call, Connector, Evidence, Exchange, Fault, HttpRequest, HttpResponse, KeyedContract, Manifest, Operation,
    Reason, ReconcileStep, Repeat, Step, Terms, Verdict, json, key_in_header,
};
use serde::Deserialize;

struct Inquires;

proofport_sdk::export!(Inquires);

#[derive(Deserialize)]
struct Follow {
    job: String,
}

impl Connector for Inquires {
    fn describe(_config: &str) -> Manifest {
        let contract = KeyedContract::new(key_in_header("idempotency-key"), "account");
        let keyed = Repeat::Keyed(contract.retention_seconds(86_400));
        let asks = |name: &str, repeat: Repeat| write(name, repeat).reconcile(Some(60), true);
        Manifest::new("inquires", "0.1.0", "Writes whose fate can be asked for.")
            .operation(asks("once", Repeat::None))
            .operation(asks("same", Repeat::Idempotent))
            .operation(asks("keyed", keyed))
            .operation(asks("prepared", Repeat::Idempotent))
            .operation(write("submit", Repeat::None).job_operation("follow"))
            .operation(
                Operation::read("follow")
                    .summary("Follow a job.")
                    .input(&json!({
                        "type": "object",
                        "properties": { "job": { "type": "string" } },
                        "required": ["job"],
                    }))
                    .output(&json!({ "type": "object" })),
            )
    }

    fn next(call: &Call, history: &[Exchange]) -> Result<Step, Fault> {
        let operation = call.operation.as_str();
        let Some(exchange) = history.last() else {
            return Ok(match operation {
                "follow" => {
                    let Follow { job } = call.input()?;
                    HttpRequest::get("/jobs").segment(&job)?.as_query("Look at the job")
                }
                "prepared" => HttpRequest::get("/before").as_query("Look first"),
                _ => effect(),
            });
        };
        let response = exchange.http()?;
        if operation == "prepared" && history.len() == 1 {
            return Ok(effect());
        }
        let verdict = response.verdict(Terms::NONE);
        Ok(match (operation, word(response)) {
            ("follow", "pending") => Verdict::accepted("job-1", json!({})),
            ("follow", "failed") => Verdict::failed(Reason::RemoteFailed),
            ("submit", _) if response.status == 202 => Verdict::accepted("job-1", json!({})),
            _ if verdict.success => verdict.output(json!({})),
            _ => verdict,
        }
        .into())
    }

    fn reconcile(call: &Call, _: &Evidence, history: &[Exchange]) -> Result<ReconcileStep, Fault> {
        let Some(exchange) = history.last() else {
            let request = HttpRequest::get("/found").query("reference", &call.reference);
            return Ok(request.as_query("Look for what was written"));
        };
        Ok(match word(exchange.http()?) {
            "yes" => Verdict::present(json!({})),
            "no" => Verdict::absent(),
            _ => Verdict::unknown(Reason::Unreadable),
        }
        .into())
    }
}

fn word(response: &HttpResponse) -> &str {
    std::str::from_utf8(&response.body).unwrap_or_default().trim()
}

fn effect() -> Step {
    HttpRequest::post("/act").as_effect("Write")
}

fn write(name: &str, repeat: Repeat) -> Operation {
    Operation::write(name, repeat).summary("Change something.").input(&json!({ "type": "object" }))
}
