//! What operators ask of a host: over its operator socket while it serves, or of a home that this very
//! process opened. Either way it is the same [`Ask`], carried out in the same place, with the same answer.
//!
//! The socket is not the proof: an agent often runs as the operator's own user and can open it. Every ask
//! carries a credential that was given for the passphrase, to this one process, for a few minutes.

mod answered;
mod ask;
mod asks;
mod client;
mod credential;
mod failure;
mod server;
mod wire;

pub use answered::Answered;
pub use ask::{Ask, Desk};
pub use asks::approvals::{Approvals, Approve, Deny, Waiting};
pub use asks::audit::{AuditHead, AuditPart, Ending, ExportAudit, RemoveAudit, RotateAuditKey, VerifyAudit};
pub use asks::calls::{Call, Cancel, Delivered, Fetch, Follow, Reconcile, Retry, Wait};
pub use asks::connections::{CheckConnections, Checked};
pub use asks::connectors::{Connectors, InstallConnector, RevokeConnector};
pub use asks::content::{Chunk, ContentChunk};
pub use asks::records::{Attest, Inspect, Inspected, Timed, Timeline, Unknowns};
pub use asks::secrets::{RemoveSecret, RotateSecret, Secrets, SetSecret, Version};
pub use asks::sessions::{AllowSession, EndSession, ListSessions, MintToken, Minted};
pub use asks::vault::{LockVault, UnlockVault, VaultStanding};
pub use client::{Client, ClientError, Door};
pub use failure::Failure;
pub use server::{OperatorSide, PATHS, StartError, start};
pub use wire::{Base64, Sent};
