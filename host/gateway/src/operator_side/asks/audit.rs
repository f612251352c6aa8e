//! The audit log: verified where it is, and handed out in parts.

use crate::operator_side::ask::{Ask, Desk};
use crate::operator_side::failure::Failure;
use crate::operator_side::wire::Base64;
use proofport_journal::{Expected, Export, Head, Held, PublicKey, Removed, Report, Then};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

/// Verifies the log that the journal holds.
#[derive(Serialize, Deserialize)]
pub struct VerifyAudit {
    /// Blocks that must be in it.
    pub heads: Vec<Head>,
    /// A key that must sign in it.
    pub key: Option<PublicKey>,
}

/// Where the log ends.
#[derive(Serialize, Deserialize)]
pub struct AuditHead {}

/// The end of a log, to be noted elsewhere.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ending {
    /// The last block.
    pub head: Head,
    /// The key that signs it.
    pub key: PublicKey,
}

/// The next part of an exported file.
#[derive(Serialize, Deserialize)]
pub struct ExportAudit {
    /// How far the export has come.
    pub from: Export,
}

/// A part of an exported file.
#[derive(Serialize, Deserialize)]
pub struct AuditPart {
    /// Its bytes.
    pub bytes: Base64,
    /// What comes after it.
    pub then: Then,
}

/// Takes out of the journal what an exported file holds. Whoever asks has verified the file.
#[derive(Serialize, Deserialize)]
pub struct RemoveAudit {
    /// What it holds.
    pub held: Held,
}

/// Has another key sign from when the home is opened next.
#[derive(Serialize, Deserialize)]
pub struct RotateAuditKey {}

impl Ask for VerifyAudit {
    const PATH: &'static str = "/v1/audit/verify";
    type Answer = Report;

    async fn carry_out(self, desk: &Desk) -> Result<Report, Failure> {
        let Self { heads, key } = self;
        let journal = desk.host().broker().journal().clone();
        // A long log takes seconds, and calls go on meanwhile.
        let verifying = move || journal.verify_audit(Expected { heads, key });
        Ok(tokio::task::spawn_blocking(verifying).await.map_err(|error| Failure::internal(&error))??)
    }
}

impl Ask for AuditHead {
    const PATH: &'static str = "/v1/audit/head";
    type Answer = Option<Ending>;

    async fn carry_out(self, desk: &Desk) -> Result<Option<Ending>, Failure> {
        let found = desk.host().broker().journal().audit_head()?;
        Ok(found.map(|(head, key)| Ending { head, key }))
    }
}

impl Ask for ExportAudit {
    const PATH: &'static str = "/v1/audit/export";
    type Answer = AuditPart;

    async fn carry_out(self, desk: &Desk) -> Result<AuditPart, Failure> {
        let journal = desk.host().broker().journal().clone();
        // Mebibytes, perhaps of a slow disk.
        let part = tokio::task::spawn_blocking(move || journal.export_audit_part(self.from)).await;
        let part = part.map_err(|error| Failure::internal(&error))?;
        let part = part.map_err(|error| Failure::refused(&error))?;
        Ok(AuditPart { bytes: Base64(part.bytes), then: part.then })
    }
}

impl Ask for RemoveAudit {
    const PATH: &'static str = "/v1/audit/remove";
    type Answer = Removed;

    async fn carry_out(self, desk: &Desk) -> Result<Removed, Failure> {
        let journal = desk.host().broker().journal().clone();
        let here = Handle::current();
        // It reads every block that it takes out.
        let removing = move || here.block_on(journal.remove_exported_audit(self.held));
        let removed =
            tokio::task::spawn_blocking(removing).await.map_err(|error| Failure::internal(&error))?;
        removed.map_err(|error| Failure::refused(&error))
    }
}

impl Ask for RotateAuditKey {
    const PATH: &'static str = "/v1/audit/rotate-key";
    type Answer = u32;

    async fn carry_out(self, desk: &Desk) -> Result<u32, Failure> {
        Ok(desk.host().rotate_audit_key()?)
    }
}
