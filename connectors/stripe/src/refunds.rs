//! Refunds (`/v1/refunds`).

use crate::api;
use crate::money;
use crate::search::{Found, Metadata, Search};
use proofport_sdk::{
    Call, Exchange, Fault, HttpRequest, HttpResponse, Operation, ReconcileStep, Step, Value, json,
};
use serde::{Deserialize, Serialize};

const PATH: &str = "/v1/refunds";

#[derive(Deserialize)]
struct Create {
    payment_intent: String,
    amount: Option<u64>,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Retrieve {
    refund: String,
}

/// The part of a refund that is passed on, and the mark by which it is found.
#[derive(Deserialize, Serialize)]
struct Refund {
    id: String,
    amount: u64,
    currency: String,
    status: Option<Status>,
    payment_intent: Option<String>,
    created: u64,
    #[serde(default, skip_serializing)]
    metadata: Metadata,
}

/// How far a refund has come.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    RequiresAction,
    Succeeded,
    Failed,
    Canceled,
}

impl Found for Refund {
    fn id(&self) -> &str {
        &self.id
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

pub(crate) fn declare_create() -> Operation {
    let input = json!({
        "payment_intent": api::id("pi"),
        "amount": money::amount(),
        "reason": { "enum": ["duplicate", "fraudulent", "requested_by_customer"] },
    });
    api::write("create_refund")
        .summary("Refund a payment intent: the amount given, or all that is left of it.")
        .input(&api::object(input, &["payment_intent"]))
        .output(&schema())
}

pub(crate) fn declare_retrieve() -> Operation {
    api::read("retrieve_refund")
        .summary("Look up a refund by its id.")
        .input(&api::object(json!({ "refund": api::id("(re|pyr)") }), &["refund"]))
        .output(&schema())
}

fn schema() -> Value {
    let properties = json!({
        "id": api::id("(re|pyr)"),
        "amount": money::reported_amount(),
        "currency": money::currency(),
        "status": { "enum": ["pending", "requires_action", "succeeded", "failed", "canceled", null] },
        "payment_intent": api::nullable(api::id("pi")),
        "created": api::time(),
    });
    api::object(properties, &["id", "amount", "currency", "status", "payment_intent", "created"])
}

pub(crate) fn create(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    if let Some(response) = answer {
        return Ok(api::read_answer::<Refund>(response)?.into());
    }
    let Create { payment_intent, amount, reason } = call.input()?;
    let summary = match amount {
        Some(amount) => format!("Refund {amount} of {payment_intent} in its currency's smallest unit"),
        None => format!("Refund all that is left of {payment_intent}"),
    };
    let mut fields = vec![("payment_intent", payment_intent)];
    let given = [("amount", amount.map(|amount| amount.to_string())), ("reason", reason)];
    fields.extend(given.into_iter().filter_map(|(field, value)| Some((field, value?))));
    let request = HttpRequest::post(PATH).form(&api::marked(call, fields));
    Ok(api::authenticated(request).as_effect(summary))
}

pub(crate) fn retrieve(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    if let Some(response) = answer {
        return Ok(api::read_answer::<Refund>(response)?.into());
    }
    let Retrieve { refund } = call.input()?;
    let request = HttpRequest::get(PATH).segment(&refund)?;
    Ok(api::authenticated(request).as_query("Look up one refund"))
}

/// A payment's refunds are few, and all of them are listed: no bound by time is needed.
pub(crate) fn find_created(call: &Call, history: &[Exchange]) -> Result<ReconcileStep, Fault> {
    let Create { payment_intent, .. } = call.input()?;
    let search = Search {
        path: PATH,
        filters: vec![("payment_intent", payment_intent)],
        shows_all: true,
        what: "the refund",
    };
    search.step::<Refund>(call, history)
}
