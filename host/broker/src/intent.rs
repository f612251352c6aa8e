//! Which calls are the same intent (design: calling again).

use proofport_core::digest::Digest;
use proofport_core::id::OperationName;

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The agent's token, or uid and executable; opaque.
    pub principal: String,
    /// The agent's process.
    pub session: String,
}

/// Where an intent is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IntentKeys {
    /// Under this a call with this very key, or without one, is found again.
    pub(crate) exact: Digest,
    /// Under this a call without a key finds the newest with the same input.
    pub(crate) keyless: Digest,
    /// Under this the caller's key finds whatever input it was used with.
    pub(crate) call_key: Option<Digest>,
}

impl IntentKeys {
    /// The keys of one call. Operations with `repeat: none` are remembered for the principal, others
    /// for the session.
    pub(crate) fn of(
        caller: &Caller,
        whole_principal: bool,
        operation: &OperationName,
        canonical: &str,
        call_key: Option<&str>,
    ) -> Self {
        let session = if whole_principal { "" } else { caller.session.as_str() };
        let name = operation.to_string();
        let who: [&[u8]; 3] = [caller.principal.as_bytes(), session.as_bytes(), name.as_bytes()];
        let keyless = Digest::of_parts("proofport.intent/1", &[who[0], who[1], who[2], canonical.as_bytes()]);
        let call_key_digest = call_key
            .map(|key| Digest::of_parts("proofport.call-key/1", &[who[0], who[1], who[2], key.as_bytes()]));
        let exact = match call_key {
            None => keyless,
            Some(key) => Digest::of_parts(
                "proofport.intent-with-key/1",
                &[who[0], who[1], who[2], canonical.as_bytes(), key.as_bytes()],
            ),
        };
        Self { exact, keyless, call_key: call_key_digest }
    }

    /// Every key under which this call is remembered.
    pub(crate) fn all(&self) -> Vec<Digest> {
        let mut keys = vec![self.exact];
        if self.keyless != self.exact {
            keys.push(self.keyless);
        }
        keys.extend(self.call_key);
        keys
    }
}
