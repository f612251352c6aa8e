//! Stripe's errors. Codes are passed on, by closed lists; messages never are.

use proofport_sdk::{HttpResponse, Outcome, Reason, Value, Verdict, json};
use serde::Deserialize;

/// Stripe's documented error types.
const TYPES: &[&str] = &["api_error", "card_error", "idempotency_error", "invalid_request_error"];

/// Stripe's documented error codes, as far as they concern these operations. Another one is left out
/// of the output; what its status means does not change.
const CODES: &[&str] = &[
    "amount_too_large",
    "amount_too_small",
    "authentication_required",
    "balance_insufficient",
    "card_declined",
    "charge_already_refunded",
    "charge_disputed",
    "customer_max_payment_methods",
    "email_invalid",
    "expired_card",
    "idempotency_key_in_use",
    "incorrect_address",
    "incorrect_cvc",
    "incorrect_number",
    "incorrect_zip",
    "insufficient_funds",
    "invalid_charge_amount",
    "invalid_cvc",
    "invalid_expiry_month",
    "invalid_expiry_year",
    "invalid_number",
    "livemode_mismatch",
    "lock_timeout",
    "parameter_invalid_empty",
    "parameter_invalid_integer",
    "parameter_invalid_string_blank",
    "parameter_invalid_string_empty",
    "parameter_missing",
    "parameter_unknown",
    "parameters_exclusive",
    "payment_intent_authentication_failure",
    "payment_intent_incompatible_payment_method",
    "payment_intent_invalid_parameter",
    "payment_intent_payment_attempt_failed",
    "payment_intent_unexpected_state",
    "payment_method_invalid_parameter",
    "payment_method_unactivated",
    "payment_method_unexpected_state",
    "processing_error",
    "rate_limit",
    "refund_disputed_payment",
    "resource_already_exists",
    "resource_missing",
    "secret_key_required",
    "testmode_charges_only",
    "url_invalid",
];

/// Stripe's documented decline codes.
const DECLINE_CODES: &[&str] = &[
    "approve_with_id",
    "authentication_required",
    "call_issuer",
    "card_not_supported",
    "card_velocity_exceeded",
    "currency_not_supported",
    "do_not_honor",
    "do_not_try_again",
    "duplicate_transaction",
    "expired_card",
    "fraudulent",
    "generic_decline",
    "incorrect_cvc",
    "incorrect_number",
    "incorrect_pin",
    "incorrect_zip",
    "insufficient_funds",
    "invalid_account",
    "invalid_amount",
    "invalid_cvc",
    "invalid_expiry_month",
    "invalid_expiry_year",
    "invalid_number",
    "invalid_pin",
    "issuer_not_available",
    "lost_card",
    "merchant_blacklist",
    "new_account_information_available",
    "no_action_taken",
    "not_permitted",
    "offline_pin_required",
    "online_or_offline_pin_required",
    "pickup_card",
    "pin_try_exceeded",
    "processing_error",
    "reenter_transaction",
    "restricted_card",
    "revocation_of_all_authorizations",
    "revocation_of_authorization",
    "security_violation",
    "service_not_allowed",
    "stolen_card",
    "stop_payment_order",
    "testmode_decline",
    "transaction_not_allowed",
    "try_again_later",
    "withdrawal_count_limit_exceeded",
];

/// The parameters that these operations send.
const PARAMS: &[&str] = &[
    "amount",
    "currency",
    "customer",
    "description",
    "email",
    "name",
    "payment_intent",
    "payment_method",
    "payment_method_types",
    "phone",
    "reason",
    "return_url",
];

#[derive(Default, Deserialize)]
struct Envelope {
    #[serde(default)]
    error: StripeError,
}

#[derive(Default, Deserialize)]
struct StripeError {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    decline_code: Option<String>,
    #[serde(default)]
    param: Option<String>,
}

/// The schema of a failure's output: every text in it comes from a list above.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "type": { "enum": TYPES },
            "code": { "enum": CODES },
            "decline_code": { "enum": DECLINE_CODES },
            "param": { "enum": PARAMS },
        },
        "additionalProperties": false,
    })
}

/// Adds to a verdict by status what the error's type and code say. The outcome stays as it is.
pub(crate) fn refine(verdict: Verdict, response: &HttpResponse) -> Verdict {
    let Envelope { error } = response.json().unwrap_or_default();
    let reason = match verdict.outcome {
        Outcome::Rejected => refusal(&error).unwrap_or(verdict.reason),
        Outcome::Committed | Outcome::Unknown => verdict.reason,
    };
    let output = listed(&error).map(|fields| fields.to_string());
    Verdict { reason, output, ..verdict }
}

/// Why a request was refused, where type and code say more than the status.
fn refusal(error: &StripeError) -> Option<Reason> {
    if error.kind.as_deref() == Some("idempotency_error") {
        return Some(Reason::PayloadMismatch);
    }
    Some(match error.code.as_deref()? {
        // The caller can name a sound card or fill the field in.
        "expired_card"
        | "incorrect_address"
        | "incorrect_cvc"
        | "incorrect_number"
        | "incorrect_zip"
        | "invalid_cvc"
        | "invalid_expiry_month"
        | "invalid_expiry_year"
        | "invalid_number" => Reason::InvalidInput,
        // The input is sound and the answer is no. Trying one card after another, or the same payment
        // again, is not for an agent to decide.
        "authentication_required"
        | "balance_insufficient"
        | "card_declined"
        | "charge_already_refunded"
        | "charge_disputed"
        | "insufficient_funds"
        | "payment_intent_unexpected_state"
        | "payment_method_unexpected_state"
        | "refund_disputed_payment"
        | "resource_already_exists" => Reason::Conflict,
        "resource_missing" => Reason::NotFound,
        "secret_key_required" => Reason::Forbidden,
        _ => return None,
    })
}

/// The error's fields, as far as they are on a list; none where none is.
fn listed(error: &StripeError) -> Option<Value> {
    let fields = [
        ("type", &error.kind, TYPES),
        ("code", &error.code, CODES),
        ("decline_code", &error.decline_code, DECLINE_CODES),
        ("param", &error.param, PARAMS),
    ];
    let known: Vec<_> = fields
        .into_iter()
        .filter_map(|(name, value, list)| {
            let value = list.iter().find(|listed| Some(**listed) == value.as_deref())?;
            Some((name.to_owned(), json!(value)))
        })
        .collect();
    (!known.is_empty()).then(|| Value::Object(known.into_iter().collect()))
}
