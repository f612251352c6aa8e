//! What is asked of the host.

use crate::id::{InvalidName, OperationName, RequestId};
use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

/// The longest call key, in bytes.
const LONGEST_KEY: usize = 256;

/// One intent: an operation, its input and, where the caller gives it one, its own name. It is written out once,
/// so that making it again sends the very same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub(crate) operation: OperationName,
    pub(crate) key: Option<CallKey>,
    input: Bytes,
}

/// The caller's own name for an intent, such as the number of an order.
///
/// A write without a key *is* an earlier one of its session with the same input: the host answers with that one
/// and sends nothing. So a program that is run again, or that calls again because it lost the answer, does nothing
/// twice. A key says that this is another intent although the input is the same. Take it from what is done (the
/// order's number), never from the try: a counter, a time or a random number makes every try an intent of its
/// own, and the host can't hold them together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct CallKey(String);

/// Why there is no such call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCall {
    /// The operation has no such name.
    #[error(transparent)]
    Operation(#[from] InvalidName),
    /// The input can't be written as JSON.
    #[error("the input can't be written as JSON")]
    Input,
    /// A call key is 1 to 256 bytes.
    #[error("a call key is 1 to 256 bytes long")]
    Key,
}

/// The body of `POST /v1/call`.
#[derive(Serialize)]
struct Body<'a> {
    operation: &'a OperationName,
    input: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_key: Option<&'a CallKey>,
}

impl CallKey {
    /// A key of this text.
    ///
    /// # Errors
    /// When it is empty or longer than 256 bytes.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidCall> {
        let text = text.into();
        if text.is_empty() || text.len() > LONGEST_KEY { Err(InvalidCall::Key) } else { Ok(Self(text)) }
    }

    /// The key of what is done once more after this invocation: the same each time, so that one acceptance can't
    /// do it more than once.
    pub(crate) fn twice(first: &RequestId) -> Self {
        Self(format!("twice {first}"))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Call {
    /// A call of `connection.operation` with this input.
    ///
    /// # Errors
    /// When there can be no operation of this name, or the input can't be written as JSON.
    pub fn new(operation: &str, input: &impl Serialize) -> Result<Self, InvalidCall> {
        let operation = OperationName::parse(operation)?;
        let input = serde_json::to_vec(input).map_err(|_| InvalidCall::Input)?;
        Ok(Self { operation, key: None, input: input.into() })
    }

    /// The same with the caller's own name for it; see [`CallKey`] for what that means.
    ///
    /// # Errors
    /// When the key is empty or longer than 256 bytes.
    pub fn named(self, key: impl Into<String>) -> Result<Self, InvalidCall> {
        Ok(self.under(CallKey::new(key)?))
    }

    pub(crate) fn under(self, key: CallKey) -> Self {
        Self { key: Some(key), ..self }
    }

    /// What is called.
    #[must_use]
    pub const fn operation(&self) -> &OperationName {
        &self.operation
    }

    /// The caller's own name for it.
    #[must_use]
    pub const fn key(&self) -> Option<&CallKey> {
        self.key.as_ref()
    }

    /// The input as a value, in which the order of members says nothing.
    pub(crate) fn value(&self) -> Option<serde_json::Value> {
        serde_json::from_slice(&self.input).ok()
    }

    /// The body of its request. An input was written by serde_json, so that there always is one.
    pub(crate) fn body(&self) -> Option<Bytes> {
        let input = serde_json::from_slice(&self.input).ok()?;
        let body = Body { operation: &self.operation, input, call_key: self.key.as_ref() };
        serde_json::to_vec(&body).ok().map(Bytes::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_written_as_the_host_reads_it() {
        let check = |call: Call, expected: &str| assert_eq!(call.body().unwrap(), expected.as_bytes());
        let call = Call::new("crm.create", &json!({"n": 18_446_744_073_709_551_615_u64})).unwrap();
        check(call.clone(), r#"{"operation":"crm.create","input":{"n":18446744073709551615}}"#);
        check(
            call.named("order \"7\"").unwrap(),
            r#"{"operation":"crm.create","input":{"n":18446744073709551615},"call_key":"order \"7\""}"#,
        );
    }

    #[test]
    fn what_can_be_no_call_is_none() {
        let check = |made: Result<Call, InvalidCall>, expected: InvalidCall| assert_eq!(made, Err(expected));
        check(Call::new("crm", &json!({})), InvalidCall::Operation(InvalidName));
        let by_tuples = std::collections::BTreeMap::from([((1, 2), 3)]);
        check(Call::new("crm.create", &by_tuples), InvalidCall::Input);
        let call = Call::new("crm.create", &json!({})).unwrap();
        check(call.clone().named(""), InvalidCall::Key);
        check(call.clone().named("k".repeat(257)), InvalidCall::Key);
        assert!(call.named("k".repeat(256)).is_ok());
    }
}
