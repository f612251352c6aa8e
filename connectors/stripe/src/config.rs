//! What an admin says about the account.

use crate::api;
use proofport_sdk::{Call, Fault, Value, json};
use serde::Deserialize;

/// A connection's `config`.
#[derive(Deserialize)]
pub(crate) struct Config {
    /// Whether a customer that no list shows was never created.
    #[serde(default)]
    pub(crate) customers_never_deleted: bool,
}

/// The connection's.
///
/// # Errors
/// [`Fault::Input`] where it is none: nothing can be carried out.
pub(crate) fn read(call: &Call) -> Result<Config, Fault> {
    call.config()
}

/// The schema of a connection's config.
pub(crate) fn schema() -> Value {
    let never_deleted = json!({
        "type": "boolean",
        "description": "Nobody deletes customers of this account, so that one that is not listed was never \
                        created. A create whose answer was lost can then be found not to have happened.",
    });
    api::object(json!({ "customers_never_deleted": never_deleted }), &[])
}
