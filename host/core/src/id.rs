//! Identifiers. Randomness is an argument.

use crate::digest::Digest;
use serde::{Deserialize, Serialize};
use std::fmt;

const ALPHABET: data_encoding::Encoding = data_encoding::BASE32_NOPAD;

/// The opaque, random name of an invocation: `act_` and 26 characters. It encodes nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId([u8; 16]);

impl RequestId {
    /// An id from 16 random bytes.
    #[must_use]
    pub const fn from_random(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes, for storage keys.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Reads the wire form.
    ///
    /// # Errors
    /// When the text is not `act_` and 26 characters of lower-case base32.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let rest = text.strip_prefix("act_").ok_or(InvalidId)?;
        if rest.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(InvalidId);
        }
        let bytes = ALPHABET.decode(rest.to_ascii_uppercase().as_bytes()).map_err(|_| InvalidId)?;
        bytes.try_into().map(Self).map_err(|_| InvalidId)
    }

    /// The public reference that a connector may embed at the remote as a natural key: stable, at
    /// most 40 characters, lower-case letters and digits, and not the id itself, so that a remote
    /// which shows it gives nobody a handle on the record.
    #[must_use]
    pub fn reference(&self) -> Reference {
        let digest = Digest::of_parts("proofport.reference/1", &[&self.0]);
        let text = ALPHABET.encode(&digest.as_bytes()[..20]).to_ascii_lowercase();
        Reference(format!("pp{text}"))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "act_{}", ALPHABET.encode(&self.0).to_ascii_lowercase())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for RequestId {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// The text is not an invocation's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an invocation id: it is `act_` and 26 lower-case letters and digits")]
pub struct InvalidId;

/// See [`RequestId::reference`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reference(String);

impl Reference {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An idempotency key, minted by the host. For operators only, since it can double as access
/// material in some systems.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// A key from 16 random bytes.
    #[must_use]
    pub fn from_random(bytes: [u8; 16]) -> Self {
        Self(format!("ppk-{}", ALPHABET.encode(&bytes).to_ascii_lowercase()))
    }

    /// The text, to be placed where the contract says.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdempotencyKey(..)")
    }
}

/// A name as admins, connectors and callers spell it: 1 to 64 lower-case letters, digits, `-` and
/// `_`, beginning with a letter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

impl Name {
    /// Reads a name.
    ///
    /// # Errors
    /// When the text is not a name. The text itself is not repeated.
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        let starts = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
        let rest = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
        if starts && text.len() <= 64 && text.bytes().all(rest) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidName)
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for Name {
    type Error = InvalidName;
    fn try_from(text: String) -> Result<Self, InvalidName> {
        Self::parse(&text)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

/// The text is not a [`Name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a name: 1 to 64 lower-case letters, digits, `-` and `_`, beginning with a letter")]
pub struct InvalidName;

/// `connection.operation`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OperationName {
    /// The admin's binding.
    pub connection: Name,
    /// The connector's operation.
    pub operation: Name,
}

impl OperationName {
    /// Reads `connection.operation`.
    ///
    /// # Errors
    /// When the text is not two names with a dot between.
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        let (connection, operation) = text.split_once('.').ok_or(InvalidName)?;
        Ok(Self { connection: Name::parse(connection)?, operation: Name::parse(operation)? })
    }
}

impl fmt::Display for OperationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.connection, self.operation)
    }
}

impl TryFrom<String> for OperationName {
    type Error = InvalidName;
    fn try_from(text: String) -> Result<Self, InvalidName> {
        Self::parse(&text)
    }
}

impl From<OperationName> for String {
    fn from(name: OperationName) -> Self {
        name.to_string()
    }
}
