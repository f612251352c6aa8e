//! Payment intents (`/v1/payment_intents`).

use crate::api;
use crate::money::{self, Amount};
use crate::search::{self, Found, Metadata, Search};
use proofport_sdk::{
    Call, Evidence, Exchange, Fault, HttpRequest, HttpResponse, Operation, Reason, ReconcileStep, Step,
    Value, Verdict, json,
};
use serde::{Deserialize, Serialize, de::IgnoredAny};

const PATH: &str = "/v1/payment_intents";

#[derive(Deserialize)]
struct Create {
    amount: u64,
    currency: String,
    customer: Option<String>,
    payment_method: Option<String>,
    #[serde(default)]
    payment_method_types: Vec<String>,
    description: Option<String>,
}

#[derive(Deserialize)]
struct Confirm {
    payment_intent: String,
    payment_method: Option<String>,
    return_url: Option<String>,
}

#[derive(Deserialize)]
struct Retrieve {
    payment_intent: String,
}

/// The part of a payment intent that is passed on, and the mark by which it is found.
#[derive(Deserialize, Serialize)]
struct PaymentIntent {
    id: String,
    amount: u64,
    currency: String,
    status: Status,
    customer: Option<String>,
    created: u64,
    livemode: bool,
    #[serde(default, skip_serializing)]
    metadata: Metadata,
    #[serde(default, skip_serializing)]
    confirmation_method: ConfirmationMethod,
    #[serde(default, skip_serializing)]
    latest_charge: Option<IgnoredAny>,
    #[serde(default, skip_serializing)]
    last_payment_error: Option<IgnoredAny>,
}

/// Where a payment intent is in its life.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    RequiresPaymentMethod,
    RequiresConfirmation,
    RequiresAction,
    Processing,
    RequiresCapture,
    Canceled,
    Succeeded,
}

/// Who confirms again after the customer has done something.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ConfirmationMethod {
    #[default]
    Automatic,
    Manual,
}

impl PaymentIntent {
    /// Whether Stripe shows no trace of a confirmation: the latest charge is "null until confirmation is
    /// attempted", and an authentication that failed before there was one leaves an error.
    const fn is_untried(&self) -> bool {
        self.latest_charge.is_none() && self.last_payment_error.is_none()
    }
}

impl Found for PaymentIntent {
    fn id(&self) -> &str {
        &self.id
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

pub(crate) fn declare_create() -> Operation {
    let input = json!({
        "amount": money::amount(),
        "currency": money::currency(),
        "customer": api::id("cus"),
        "payment_method": api::id("(pm|src|card)"),
        "payment_method_types": {
            "type": "array",
            "items": { "type": "string", "pattern": "^[a-z0-9_]{1,64}$" },
            "minItems": 1,
            "maxItems": 20,
            "description": "Such as [\"card\"]. Left out, the account's settings decide.",
        },
        "description": api::text(1000),
    });
    api::write("create_payment_intent")
        .summary("Create a payment intent. Nothing is charged until it is confirmed.")
        .input(&api::object(input, &["amount", "currency"]))
        .output(&schema())
}

pub(crate) fn declare_confirm() -> Operation {
    let input = json!({
        "payment_intent": api::id("pi"),
        "payment_method": api::id("(pm|src|card)"),
        "return_url": { "type": "string", "format": "uri", "pattern": "^https?://", "maxLength": 5000 },
    });
    api::write("confirm_payment_intent")
        .summary("Confirm a payment intent: this charges the customer. The status says how far it came.")
        .input(&api::object(input, &["payment_intent"]))
        .output(&schema())
}

pub(crate) fn declare_retrieve() -> Operation {
    api::read("retrieve_payment_intent")
        .summary("Look up a payment intent by its id.")
        .input(&api::object(json!({ "payment_intent": api::id("pi") }), &["payment_intent"]))
        .output(&schema())
}

fn schema() -> Value {
    let properties = json!({
        "id": api::id("pi"),
        "amount": money::reported_amount(),
        "currency": money::currency(),
        "status": {
            "enum": [
                "requires_payment_method", "requires_confirmation", "requires_action", "processing",
                "requires_capture", "canceled", "succeeded",
            ],
        },
        "customer": api::nullable(api::id("cus")),
        "created": api::time(),
        "livemode": { "type": "boolean" },
    });
    api::object(properties, &["id", "amount", "currency", "status", "customer", "created", "livemode"])
}

pub(crate) fn create(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    if let Some(response) = answer {
        return Ok(api::read_answer::<PaymentIntent>(response)?.into());
    }
    let Create { amount, currency, customer, payment_method, payment_method_types, description } =
        call.input()?;
    let summary = format!("Create a payment intent of {}", Amount(amount, &currency));
    let mut fields = vec![("amount", amount.to_string()), ("currency", currency)];
    let given = [("customer", customer), ("payment_method", payment_method), ("description", description)];
    fields.extend(given.into_iter().filter_map(|(field, value)| Some((field, value?))));
    fields.extend(payment_method_types.into_iter().map(|kind| ("payment_method_types[]", kind)));
    let request = HttpRequest::post(PATH).form(&api::marked(call, fields));
    Ok(api::authenticated(request).as_effect(summary))
}

pub(crate) fn confirm(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    if let Some(response) = answer {
        return Ok(api::read_answer::<PaymentIntent>(response)?.into());
    }
    let Confirm { payment_intent, payment_method, return_url } = call.input()?;
    let summary = format!("Confirm {payment_intent}: this charges the customer");
    let given = [("payment_method", payment_method), ("return_url", return_url)];
    let fields: Vec<_> = given.into_iter().filter_map(|(field, value)| Some((field, value?))).collect();
    let request = HttpRequest::post(PATH).segment(&payment_intent)?.segment("confirm")?.form(&fields);
    Ok(api::authenticated(request).as_effect(summary))
}

pub(crate) fn retrieve(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    if let Some(response) = answer {
        return Ok(api::read_answer::<PaymentIntent>(response)?.into());
    }
    let Retrieve { payment_intent } = call.input()?;
    let request = HttpRequest::get(PATH).segment(&payment_intent)?;
    Ok(api::authenticated(request).as_query("Look up one payment intent"))
}

pub(crate) fn find_created(
    call: &Call,
    evidence: &Evidence,
    history: &[Exchange],
) -> Result<ReconcileStep, Fault> {
    let search = Search {
        path: PATH,
        filters: search::created_around(evidence),
        shows_all: true,
        what: "the payment intent",
    };
    search.step::<PaymentIntent>(call, history)
}

/// What became of a confirmation, by the intent's own status.
pub(crate) fn look_at_confirmed(call: &Call, history: &[Exchange]) -> Result<ReconcileStep, Fault> {
    let Some(exchange) = history.last() else {
        let Confirm { payment_intent, .. } = call.input()?;
        let request = HttpRequest::get(PATH).segment(&payment_intent)?;
        return Ok(api::authenticated(request).as_query("Look at the payment intent's status"));
    };
    let response = exchange.http()?;
    if response.status != 200 {
        return Ok(Verdict::unknown(Reason::Unavailable).into());
    }
    let intent: PaymentIntent = response.json()?;
    let untried = intent.is_untried();
    Ok(match (intent.status, intent.confirmation_method) {
        (
            Status::RequiresAction | Status::Processing | Status::RequiresCapture | Status::Succeeded,
            ConfirmationMethod::Automatic | ConfirmationMethod::Manual,
        ) => Verdict::present(json!(intent)),
        (Status::RequiresConfirmation | Status::RequiresPaymentMethod, ConfirmationMethod::Automatic)
            if untried =>
        {
            Verdict::absent()
        }
        // A confirmation was declined, ours or another one. Confirmed by hand, an intent comes back here
        // after the customer has done something, so it may have been confirmed before. One that was
        // canceled may have been confirmed before that.
        (
            Status::RequiresConfirmation | Status::RequiresPaymentMethod | Status::Canceled,
            ConfirmationMethod::Automatic | ConfirmationMethod::Manual,
        ) => Verdict::unknown(Reason::Conflict),
    }
    .into())
}
