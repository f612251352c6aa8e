//! Which exchanges get a connection that carried nothing before.

use super::reader::{Field, Reader};
use proofport_core::contract::{RepeatKind, Role};
use serde::Serialize;

/// Which exchanges get a connection of their own, and not one that is kept open from before: on a
/// fresh one, fewer failures leave it unknown whether the remote has read the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FreshConnections {
    /// Effects of operations that may not be repeated. Holds where nothing is set.
    #[default]
    Unrepeatable,
    /// Every effect.
    Effects,
    /// Every exchange.
    Always,
    /// None.
    Never,
}

impl FreshConnections {
    /// Whether an exchange of an operation with this repeat contract gets a fresh connection.
    #[must_use]
    pub const fn wanted(self, role: Role, repeat: RepeatKind) -> bool {
        let is_effect = match role {
            Role::Effect => true,
            Role::Query => false,
        };
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Effects => is_effect,
            Self::Unrepeatable => match repeat {
                RepeatKind::None => is_effect,
                RepeatKind::Idempotent | RepeatKind::Keyed | RepeatKind::Conditional => false,
            },
        }
    }
}

/// The default where it is wrong, since that is reported.
pub(super) fn read<'a>(reader: &mut Reader<'a>, field: &Field<'a>) -> FreshConnections {
    match reader.text(field) {
        Some("effects") => FreshConnections::Effects,
        Some("always") => FreshConnections::Always,
        Some("never") => FreshConnections::Never,
        Some(_) => {
            let what = "is none of \"effects\", \"always\" and \"never\"";
            let todo = "write one of these, or leave it out: effects that may not be repeated get a fresh \
                        connection then";
            reader.report(field.place, &field.path, what, todo);
            FreshConnections::default()
        }
        None => FreshConnections::default(),
    }
}
