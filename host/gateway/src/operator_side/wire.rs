//! Bytes in JSON.

use proofport_core::secret::Secret;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use zeroize::Zeroizing;

/// Bytes that are no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base64(pub Vec<u8>);

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&data_encoding::BASE64.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        decode(d).map(Self)
    }
}

/// A secret on its way over the operator socket, which no other user can open. It is sent by whoever typed it
/// or is to be shown it, and nothing else makes text of it.
pub struct Sent(pub Secret);

impl Serialize for Sent {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let text = Zeroizing::new(data_encoding::BASE64.encode(self.0.expose()));
        s.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Sent {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        decode(d).map(|bytes| Self(Secret::new(bytes)))
    }
}

fn decode<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
    let text = Cow::<'de, str>::deserialize(d)?;
    // The text itself is not repeated: it may be a secret.
    data_encoding::BASE64.decode(text.as_bytes()).map_err(|_| serde::de::Error::custom("not base64"))
}
