//! What the remote said, kept to the byte.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt;

/// Output of the remote that satisfied the operation's schema, as JSON. Its strings are anybody's: data, never
/// instructions. `Debug` shows none of it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RemoteData(Box<RawValue>);

/// Why a result is not of the type that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResultError {
    /// The answer has none.
    #[error("the answer has no result")]
    Absent,
    /// It satisfies the operation's schema and is not of this type. What was called has happened all the same.
    #[error("the result is not of the type that was asked for; what was called has happened all the same")]
    OtherType,
}

impl RemoteData {
    /// The JSON text, to the byte as the host sent it.
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// The value as a type.
    ///
    /// # Errors
    /// [`ResultError::OtherType`].
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ResultError> {
        serde_json::from_str(self.0.get()).map_err(|_| ResultError::OtherType)
    }
}

impl PartialEq for RemoteData {
    fn eq(&self, other: &Self) -> bool {
        self.as_json() == other.as_json()
    }
}

impl fmt::Debug for RemoteData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteData({} bytes)", self.0.get().len())
    }
}
