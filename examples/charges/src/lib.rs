//! The smallest complete connector: it creates and looks up charges at a toy payment service.
//!
//! Read it from top to bottom; it is all there is. A connector performs no input or output. The host
//! calls [`next`](Connector::next) with everything that has happened so far and carries out the
//! answer: send this, or settle on that. Should an effect's answer get lost, the host calls
//! [`reconcile`](Connector::reconcile) to find out what became of it.
//!
//! The service, in full:
//!
//! | request | answer |
//! | --- | --- |
//! | `POST /v1/charges` with `{amount, currency, reference}` | 201 and the charge, or 402 `{"error":{"code":"card_declined"}}` |
//! | `GET /v1/charges/{id}` | 200 and the charge, or 404 |
//! | `GET /v1/charges?reference=…` | 200 `{"data":[…]}` |
//!
//! A charge is `{id, amount, currency, status, reference}`. A key that the service does not know is a 401.

use proofport_sdk::{
    Call, Connector, Evidence, Exchange, Fault, HttpRequest, HttpResponse, InjectionMode, Manifest,
    Operation, Reason, ReconcileStep, Repeat, Slot, Step, Terms, Value, Verdict, json,
};
use serde::{Deserialize, Serialize};

/// The connector.
pub struct Charges;

// Makes `Charges` the one that this crate's component exports.
proofport_sdk::export!(Charges);

/// The slot that the admin binds a secret to. The connector names the slot and never sees the secret.
const KEY: &str = "api_key";

/// Input of `create_charge`. `input_schema` below says which values the host lets through.
#[derive(Deserialize)]
struct CreateCharge {
    /// In the currency's smallest unit: 1000 is 10.00 EUR. Money is never a fraction.
    amount: u64,
    currency: String,
}

/// Input of `get_charge`.
#[derive(Deserialize)]
struct GetCharge {
    id: String,
}

/// A charge as the service shows it, and the output of both operations. Fields that the service may
/// add later are not passed on: an output is what the schema declares.
#[derive(Deserialize, Serialize)]
struct Charge {
    id: String,
    amount: u64,
    currency: String,
    status: String,
    reference: String,
}

/// A list of charges.
#[derive(Deserialize)]
struct ChargeList {
    data: Vec<Charge>,
}

impl Connector for Charges {
    /// What an admin reviews before approving this module, and what agents see of it.
    fn describe(_config: &str) -> Manifest {
        Manifest::new("charges", env!("CARGO_PKG_VERSION"), "Charges at a toy payment service.")
            .slot(Slot::new(KEY, "The service's secret API key.", &[InjectionMode::HttpBearer]))
            .operation(
                // The service deduplicates nothing: a second POST is a second charge. Saying so here
                // is what keeps the host from ever repeating one on its own.
                Operation::write("create_charge", Repeat::None)
                    .summary("Charge an amount, given in the currency's smallest unit.")
                    .input(&json!({
                        "type": "object",
                        "properties": {
                            "amount": { "type": "integer", "minimum": 1, "maximum": 99_999_999 },
                            "currency": { "type": "string", "pattern": "^[a-z]{3}$" },
                        },
                        "required": ["amount", "currency"],
                        "additionalProperties": false,
                    }))
                    .output(&charge_schema())
                    // The service keeps our reference with the charge, so a lost answer can be looked
                    // up. It writes and reads one table: 30 seconds after the request, a charge that
                    // is not there is not coming. The host asks only when somebody wants to know.
                    .reconcile(Some(30), false),
            )
            .operation(
                Operation::read("get_charge")
                    .summary("Look up a charge by its id.")
                    .input(&json!({
                        "type": "object",
                        "properties": { "id": { "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" } },
                        "required": ["id"],
                        "additionalProperties": false,
                    }))
                    .output(&charge_schema()),
            )
    }

    /// The first time there is no history: say what to send. The second time the answer is in it: say
    /// what that means.
    fn next(call: &Call, history: &[Exchange]) -> Result<Step, Fault> {
        if let Some(exchange) = history.last() {
            return Ok(read_answer(exchange.http()?)?.into());
        }
        match call.operation.as_str() {
            "create_charge" => {
                let CreateCharge { amount, currency } = call.input()?;
                let summary = format!("Charge {amount} in the smallest unit of {currency}");
                let body = json!({ "amount": amount, "currency": currency, "reference": call.reference });
                Ok(HttpRequest::post("/v1/charges").json(&body).credential(KEY).as_effect(summary))
            }
            "get_charge" => {
                let GetCharge { id } = call.input()?;
                // `segment` escapes: no id can reach another path.
                let request = HttpRequest::get("/v1/charges").segment(&id)?;
                Ok(request.credential(KEY).as_query("Look up one charge"))
            }
            _ => Err(Fault::no_such_operation()),
        }
    }

    /// The answer to `create_charge` got lost. Ask for charges with our reference.
    fn reconcile(call: &Call, _: &Evidence, history: &[Exchange]) -> Result<ReconcileStep, Fault> {
        let Some(exchange) = history.last() else {
            let request = HttpRequest::get("/v1/charges").query("reference", &call.reference);
            return Ok(request.credential(KEY).as_query("Look for the charge by its reference"));
        };
        let response = exchange.http()?;
        if response.status != 200 {
            // Not being able to ask says nothing about the charge.
            return Ok(Verdict::unknown(Reason::Unavailable).into());
        }
        let list: ChargeList = response.json()?;
        // Compared here too: a service that ignores the filter must not hand us another's charge.
        let ours = list.data.into_iter().find(|charge| charge.reference == call.reference);
        Ok(match ours {
            Some(charge) => Verdict::present(json!(charge)),
            None => Verdict::absent(),
        }
        .into())
    }
}

/// What an answer to either operation means. The status alone decides by the common table; only a
/// success has a body worth reading.
fn read_answer(response: &HttpResponse) -> Result<Verdict, Fault> {
    let verdict = response.verdict(Terms::NONE);
    if !verdict.success {
        return Ok(verdict);
    }
    // Where this fails, the host reports that it happened and that the answer could not be read.
    let charge: Charge = response.json()?;
    Ok(verdict.output(json!(charge)))
}

fn charge_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": { "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" },
            "amount": { "type": "integer", "minimum": 0 },
            "currency": { "type": "string", "pattern": "^[a-z]{3}$" },
            "status": { "enum": ["succeeded", "pending", "failed"] },
            "reference": { "type": "string", "pattern": "^[a-z0-9]{0,40}$" },
        },
        "required": ["id", "amount", "currency", "status", "reference"],
        "additionalProperties": false,
    })
}
