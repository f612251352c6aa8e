//! Amounts: whole numbers of the currency's smallest unit, never a fraction.

use proofport_sdk::{Value, json};
use std::fmt;

/// The schema of an amount that is asked for; Stripe takes at most eight digits.
pub(crate) fn amount() -> Value {
    json!({
        "type": "integer",
        "minimum": 1,
        "maximum": 99_999_999,
        "description": "In the currency's smallest unit: 1000 is 10.00 EUR, or 1000 JPY.",
    })
}

/// The schema of an amount that Stripe reports.
pub(crate) fn reported_amount() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

/// The schema of a currency.
pub(crate) fn currency() -> Value {
    json!({
        "type": "string",
        "pattern": "^[a-z]{3}$",
        "description": "The ISO 4217 code in lower case.",
    })
}

/// An amount for the person who approves it. How many decimals a currency has is not guessed: a wrong
/// guess would show a hundredth or a hundredfold of what is sent.
pub(crate) struct Amount<'a>(pub(crate) u64, pub(crate) &'a str);

impl fmt::Display for Amount<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} in its smallest unit", self.0, self.1.to_ascii_uppercase())
    }
}
