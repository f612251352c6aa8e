//! The format of a case.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) about: String,
    pub(crate) operation: String,
    pub(crate) input: Value,
    /// The connection's config, in place of the one that the cases share.
    pub(crate) config: Option<Value>,
    /// Drives `reconcile` in place of `next`.
    #[serde(default)]
    pub(crate) reconcile: bool,
    #[serde(default)]
    pub(crate) exchanges: Vec<Expected>,
    pub(crate) ends: End,
}

/// A request that the connector must send, and what comes back.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    /// `METHOD path`, for a query.
    pub(crate) query: Option<String>,
    /// The same, for the effect.
    pub(crate) effect: Option<String>,
    /// Headers beyond those that every request has; names in lower case.
    #[serde(default)]
    pub(crate) sends: BTreeMap<String, String>,
    /// The body as a form.
    pub(crate) form: Option<String>,
    /// The body as JSON.
    pub(crate) json: Option<Value>,
    /// The body as text.
    pub(crate) text: Option<String>,
    pub(crate) status: u16,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// A text is the body as it is, anything else is JSON. None: an empty body.
    pub(crate) answer: Option<Value>,
    /// The content that the host stored in place of showing it.
    pub(crate) stored: Option<Stored>,
    /// Gives the same answer this many times, each to the next page.
    #[serde(default = "once")]
    pub(crate) times: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stored {
    pub(crate) bytes: u64,
    pub(crate) digest: String,
}

fn once() -> usize {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum End {
    /// With this verdict.
    Settles(Box<Settled>),
    /// The connector finds these fields wrong, before anything is sent.
    Refuses(Vec<String>),
    /// The input does not obey its schema, so that the host refuses it.
    InvalidInput,
    /// The answer is not what the service documents.
    Unreadable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settled {
    pub(crate) outcome: String,
    #[serde(default)]
    pub(crate) success: bool,
    pub(crate) reason: String,
    pub(crate) output: Option<Value>,
    pub(crate) retry_after_seconds: Option<u32>,
    #[serde(default)]
    pub(crate) children: Vec<Child>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Child {
    pub(crate) index: u32,
    pub(crate) id: String,
    pub(crate) outcome: String,
    #[serde(default)]
    pub(crate) success: bool,
    pub(crate) reason: String,
    pub(crate) output: Option<Value>,
}
