//! Why an invocation ended without an effect.

use crate::closed::closed_enum;
use crate::code::Code;
use crate::contract::Phase;
use crate::envelope::FieldPointer;
use crate::evidence::Cause;
use crate::id::Name;
use serde::{Deserialize, Serialize};

/// Why an invocation ended without an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// Where.
    pub phase: Phase,
    /// Why.
    pub code: Code,
    /// Pointers into the input schema.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid_fields: Vec<FieldPointer>,
    /// For operators: which decision stopped it.
    pub detail: StopDetail,
}

/// The decision that stopped an invocation, for operators. Closed: no free text can carry a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum StopDetail {
    /// The code says it all.
    None,
    /// The connection is not declared.
    UnknownConnection,
    /// The connector has no such operation.
    UnknownOperation,
    /// The connection's connector is not approved or its module is missing.
    ConnectorNotApproved,
    /// The session that called was ended.
    SessionEnded,
    /// The input, or the request made of it, is over the limit in bytes.
    OverLimit {
        /// The limit.
        limit: u64,
    },
    /// The connector did something that it may not, or could not go on.
    Connector {
        /// Which rule or limit: a name from the sandbox's closed list.
        fault: String,
    },
    /// The credential could not be used.
    Credential {
        /// The slot.
        slot: Option<Name>,
        /// The secret.
        secret: Option<Name>,
        /// Why.
        refusal: CredentialRefusal,
    },
    /// A connection could not be made.
    Setup {
        /// What broke.
        cause: Cause,
    },
    /// A query before the effect did not answer well.
    Query {
        /// What broke here, if anything did.
        cause: Option<Cause>,
        /// The status, if a complete answer came.
        status: Option<u16>,
    },
}

closed_enum! {
    /// Why a credential could not be used. Operators see it; callers see one code for all.
    pub enum CredentialRefusal {
        /// No such secret.
        Absent = "absent",
        /// The secret may not be used in this mode.
        ModeNotPermitted = "mode_not_permitted",
        /// The secret may not be used at this destination.
        DestinationNotPermitted = "destination_not_permitted",
        /// It can't be decrypted.
        Undecryptable = "undecryptable",
        /// The connection binds nothing to the slot.
        SlotUnbound = "slot_unbound",
        /// Its bytes can't stand where the mode puts them.
        Unusable = "unusable",
        /// It is a private key that can't be read, or of a kind that is not supported.
        UnreadableKey = "unreadable_key",
        /// It is an encrypted private key, and its passphrase is not there or is another one.
        WrongPassphrase = "wrong_passphrase",
        /// The user certificate can't be read, is one for hosts, or belongs to another key.
        WrongCertificate = "wrong_certificate",
        /// The user certificate's time is over or has not begun, by this host's clock.
        CertificateTime = "certificate_time",
    }
}
