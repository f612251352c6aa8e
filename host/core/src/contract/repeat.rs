use crate::closed::closed_enum;
use serde::{Deserialize, Serialize};

closed_enum! {
    /// The kind of a repeat contract, as callers see it in `evidence.contract.repeat`.
    pub enum RepeatKind {
        /// A second arrival may be a second effect.
        None = "none",
        /// Any number of identical requests has the effect of one.
        Idempotent = "idempotent",
        /// A precondition that the remote enforces refuses a second arrival.
        Conditional = "conditional",
        /// The remote deduplicates by a key.
        Keyed = "keyed",
    }
}

/// What the remote promises about the same effect arriving twice. There is no default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Repeat {
    /// See [`RepeatKind::None`].
    None,
    /// See [`RepeatKind::Idempotent`].
    Idempotent,
    /// See [`RepeatKind::Conditional`].
    Conditional,
    /// See [`RepeatKind::Keyed`].
    Keyed(KeyedContract),
}

impl Repeat {
    /// The kind alone.
    #[must_use]
    pub const fn kind(&self) -> RepeatKind {
        match self {
            Self::None => RepeatKind::None,
            Self::Idempotent => RepeatKind::Idempotent,
            Self::Conditional => RepeatKind::Conditional,
            Self::Keyed(_) => RepeatKind::Keyed,
        }
    }

    /// Whether the table's first retry column applies, that is whether the same bytes may go out
    /// again under the contract. A keyed contract also needs its window to be open.
    #[must_use]
    pub const fn is_repeatable(&self) -> bool {
        match self {
            Self::Idempotent | Self::Keyed(_) => true,
            Self::None | Self::Conditional => false,
        }
    }
}

/// The terms under which a remote deduplicates by key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyedContract {
    /// Where the key travels.
    pub place: KeyPlace,
    /// What the remote scopes a key to, in its documentation's words.
    pub scope: String,
    /// How long the remote promises to remember a key, in seconds.
    pub retention_seconds: Option<u64>,
    /// Whether the remote refuses a known key that comes with another payload.
    pub compares_payload: bool,
    /// The HTTP status that means "the first is still running".
    pub running_status: Option<u16>,
    /// The response header that marks the first request's answer, in lower case. An answer with it to a later
    /// attempt settles the earlier ones.
    pub replay_header: Option<String>,
}

/// Where an idempotency key travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyPlace {
    /// In this request header, written by the host.
    Header(String),
    /// Wherever the connector puts it.
    Connector,
}
