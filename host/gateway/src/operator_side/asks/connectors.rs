//! Which modules may run.

use crate::operator::review;
use crate::operator_side::ask::{Ask, Desk};
use crate::operator_side::failure::Failure;
use crate::operator_side::wire::Base64;
use crate::registry::Approved;
use proofport_core::digest::Digest;
use serde::{Deserialize, Serialize};

/// Approves exactly this module. Whoever asks has reviewed it, and a host that serves takes it up when it
/// starts next.
#[derive(Serialize, Deserialize)]
pub struct InstallConnector {
    /// The digest of what was reviewed.
    pub digest: Digest,
    /// The module.
    pub module: Base64,
}

/// The approved modules.
#[derive(Serialize, Deserialize)]
pub struct Connectors {}

/// Takes a module's approval back: no call through it begins, or is dispatched, from here on.
#[derive(Serialize, Deserialize)]
pub struct RevokeConnector {
    /// The module's digest.
    pub digest: Digest,
}

impl Ask for RevokeConnector {
    const PATH: &'static str = "/v1/connectors/revoke";
    type Answer = Approved;

    async fn carry_out(self, desk: &Desk) -> Result<Approved, Failure> {
        Ok(desk.host().revoke_connector(&self.digest).await?)
    }
}

impl Ask for InstallConnector {
    const PATH: &'static str = "/v1/connectors/install";
    /// More than the largest module that is taken: that has its own message.
    const MOST_BYTES: usize = 96 * 1024 * 1024;
    type Answer = ();

    async fn carry_out(self, desk: &Desk) -> Result<(), Failure> {
        let Self { digest, module } = self;
        if Digest::of_bytes(&module.0) != digest {
            return Err(Failure::OtherModule);
        }
        // What it declares is put on the list, so it is asked here and not believed.
        let reviewed = review(module.0).await.map_err(|error| Failure::refused(&error))?;
        Ok(desk.host().approve_connector(&reviewed).await?)
    }
}

impl Ask for Connectors {
    const PATH: &'static str = "/v1/connectors";
    type Answer = Vec<Approved>;

    async fn carry_out(self, desk: &Desk) -> Result<Vec<Approved>, Failure> {
        Ok(desk.host().connectors()?)
    }
}
