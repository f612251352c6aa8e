//! What stops a connector's function.

/// Why a connector can't give a step. It carries no text: what callers see is the host's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The input can't be carried out: JSON Pointers (RFC 6901) to the fields that are wrong. An
    /// empty pointer is the whole input.
    Input(Vec<String>),
    /// A complete answer that is not what the service documents.
    Unreadable,
}

impl Fault {
    /// One field of the input is wrong.
    #[must_use]
    pub fn field(pointer: &str) -> Self {
        Self::Input(vec![pointer.to_owned()])
    }

    /// The call names an operation that the connector does not have. The host never lets one
    /// through; the connector still has to answer.
    #[must_use]
    pub fn no_such_operation() -> Self {
        Self::field("")
    }
}
