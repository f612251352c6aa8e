//! Repeats that no contract permits, and looks at jobs that nobody submits.

use super::Findings;
use crate::config::ConnectionConfig;
use proofport_core::contract::Effect;
use proofport_core::manifest::Manifest;

/// A budget for repeating is of use only where an operation may be repeated: whoever sets one elsewhere
/// believes in something that never happens.
pub(super) fn judge(findings: &mut Findings<'_>, connection: &ConnectionConfig, manifest: &Manifest) {
    let submits = manifest.operations.iter().any(|operation| operation.contract.job_operation.is_some());
    if let Some(following) = connection.following.as_ref().filter(|_| !submits) {
        let what = "no operation of this connection submits a job that another one follows";
        findings.at(connection, following.place, "following", what, "remove it");
    }
    let Some(retries) = &connection.retries else { return };
    let contracts = manifest.operations.iter().map(|operation| connection.contract(&operation.contract));
    let mut writes = contracts.filter(|contract| contract.effect == Effect::Write);
    if writes.any(|contract| contract.repeat.is_repeatable()) {
        return;
    }
    let what = "no operation of this connection may be repeated: none is idempotent or keyed by its contract";
    let todo = "remove it; a status or an error never makes a repeat safe";
    findings.at(connection, retries.place, "retries", what, todo);
}
