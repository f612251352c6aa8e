//! Secrets, of which none is ever answered.

use crate::operator_side::ask::{Ask, Desk};
use crate::operator_side::failure::Failure;
use crate::operator_side::wire::Sent;
use proofport_core::id::Name;
use proofport_vault::{SecretInfo, Uses};
use serde::{Deserialize, Serialize};

/// Stores a new secret.
#[derive(Serialize, Deserialize)]
pub struct SetSecret {
    /// Its name.
    pub name: Name,
    /// Its value.
    pub value: Sent,
    /// Where and how it may be used.
    pub uses: Uses,
}

/// Stores a newer version of a secret.
#[derive(Serialize, Deserialize)]
pub struct RotateSecret {
    /// Its name.
    pub name: Name,
    /// Its new value.
    pub value: Sent,
}

/// Removes a secret in all its versions.
#[derive(Serialize, Deserialize)]
pub struct RemoveSecret {
    /// Its name.
    pub name: Name,
}

/// The secrets without their values.
#[derive(Serialize, Deserialize)]
pub struct Secrets {}

/// The version that a secret has now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Counted from 1.
    pub version: u32,
}

impl Ask for SetSecret {
    const PATH: &'static str = "/v1/secrets/set";
    type Answer = Version;

    async fn carry_out(self, desk: &Desk) -> Result<Version, Failure> {
        let Self { name, value, uses } = self;
        Ok(Version { version: desk.host().set_secret(&name, value.0, uses).await? })
    }
}

impl Ask for RotateSecret {
    const PATH: &'static str = "/v1/secrets/rotate";
    type Answer = Version;

    async fn carry_out(self, desk: &Desk) -> Result<Version, Failure> {
        Ok(Version { version: desk.host().rotate_secret(&self.name, self.value.0).await? })
    }
}

impl Ask for RemoveSecret {
    const PATH: &'static str = "/v1/secrets/remove";
    type Answer = ();

    async fn carry_out(self, desk: &Desk) -> Result<(), Failure> {
        Ok(desk.host().remove_secret(&self.name).await?)
    }
}

impl Ask for Secrets {
    const PATH: &'static str = "/v1/secrets";
    type Answer = Vec<SecretInfo>;

    async fn carry_out(self, desk: &Desk) -> Result<Vec<SecretInfo>, Failure> {
        Ok(desk.host().secrets()?)
    }
}
