//! What `proofport.toml` declares.

use crate::config::Problem;
use crate::operator_side::ask::{Ask, Desk};
use crate::operator_side::failure::Failure;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Every mistake in `proofport.toml` as it is now, against approved connectors and the vault.
#[derive(Serialize, Deserialize)]
pub struct CheckConnections {}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// The file that was read.
    pub file: PathBuf,
    /// How many connections it declares.
    pub connections: usize,
    /// The mistakes.
    pub problems: Vec<Problem>,
}

impl Ask for CheckConnections {
    const PATH: &'static str = "/v1/connections/check";
    type Answer = Checked;

    async fn carry_out(self, desk: &Desk) -> Result<Checked, Failure> {
        let host = desk.host();
        let (connections, problems) = host.check_connections().map_err(|error| Failure::refused(&error))?;
        Ok(Checked { file: host.home().config(), connections, problems })
    }
}
