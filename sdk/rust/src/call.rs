//! Reading a call.

use crate::{Call, Evidence, Fault};
use serde::de::DeserializeOwned;

impl Call {
    /// The input as a type. The host has checked it against the operation's input schema, so that
    /// this fails only where type and schema disagree.
    ///
    /// # Errors
    /// [`Fault::Input`] for the whole input.
    pub fn input<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        serde_json::from_str(&self.input).map_err(|_| Fault::field(""))
    }

    /// The connection's configuration as a type, checked against the manifest's config schema.
    ///
    /// # Errors
    /// [`Fault::Input`] for the whole input: nothing can be carried out under this configuration.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        serde_json::from_str(&self.config).map_err(|_| Fault::field(""))
    }
}

impl Evidence {
    /// The Unix time, in whole seconds, that lies `margin_seconds` before the first dispatch: the
    /// lower bound of a search by creation time. The margin covers two clocks that disagree.
    #[must_use]
    pub const fn searched_since(&self, margin_seconds: u64) -> u64 {
        (self.first_dispatched_at / 1000).saturating_sub(margin_seconds)
    }
}
