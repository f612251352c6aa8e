//! Names that are read once, so that nothing else gets into a path or a body.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of an invocation: `act_` and 26 characters. It encodes nothing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RequestId(String);

/// It is not `act_` and 26 characters of lower-case base32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id of an invocation is `act_` and 26 characters")]
pub struct InvalidId;

impl RequestId {
    /// Reads the wire form.
    ///
    /// # Errors
    /// When the text is not `act_` and 26 characters of lower-case base32.
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidId> {
        let text = text.into();
        let rest = text.strip_prefix("act_").ok_or(InvalidId)?;
        let base32 = |b: u8| matches!(b, b'a'..=b'z' | b'2'..=b'7');
        if rest.len() == 26 && rest.bytes().all(base32) { Ok(Self(text)) } else { Err(InvalidId) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RequestId {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<Self, InvalidId> {
        Self::parse(text)
    }
}

/// `connection.operation`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct OperationName(String);

/// It is not two names with a dot between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an operation is named `connection.operation`, in lower-case letters, digits, `-` and `_`")]
pub struct InvalidName;

impl OperationName {
    /// Reads the wire form.
    ///
    /// # Errors
    /// When it is not two names with a dot between them, each a lower-case letter and then up to 63 of
    /// lower-case letters, digits, `-` and `_`.
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidName> {
        let text = text.into();
        let (connection, operation) = text.split_once('.').ok_or(InvalidName)?;
        if is_name(connection) && is_name(operation) { Ok(Self(text)) } else { Err(InvalidName) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_name(text: &str) -> bool {
    let begins = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    let goes_on = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    begins && text.len() <= 64 && text.bytes().all(goes_on)
}

impl fmt::Display for OperationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for OperationName {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_what_the_host_writes() {
        let check = |text: &str, expected: bool| {
            assert_eq!(RequestId::parse(text).is_ok(), expected, "{text}");
        };
        check("act_abcdefghijklmnopqrstuvwxyz", true);
        check("act_23456723456723456723456723", true);
        for other in ["", "act_", "act_abcdefghijklmnopqrstuvwxy", "act_abcdefghijklmnopqrstuvwxyzz"] {
            check(other, false);
        }
        for other in ["act_ABCDEFGHIJKLMNOPQRSTUVWXYZ", "act_abcdefghijklmnopqrstuvwxy1", "ACT_x"] {
            check(other, false);
        }
        for other in ["act_abcdefghijklmnopqrstuvwxy/", "act_abcdefghijklmnopqrstuvwx%20", "xact_a"] {
            check(other, false);
        }
    }

    #[test]
    fn an_operation_is_two_names() {
        let check = |text: &str, expected: bool| {
            assert_eq!(OperationName::parse(text).is_ok(), expected, "{text}");
        };
        let long = "a".repeat(64);
        for name in ["a.b", "pay-ments.create_charge2", &format!("{long}.{long}")] {
            check(name, true);
        }
        for name in ["", "a", "a.", ".b", "a.b.c", "A.b", "1a.b", "a.b c", "a.b\n", &format!("{long}a.b")] {
            check(name, false);
        }
    }
}
