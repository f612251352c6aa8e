//! Policies for operations that are not there.

use super::Findings;
use crate::config::ConnectionConfig;
use proofport_core::manifest::Manifest;

/// Whoever misspells an operation believes that it is asked about.
pub(super) fn judge(findings: &mut Findings<'_>, connection: &ConnectionConfig, manifest: &Manifest) {
    for named in &connection.approvals.named {
        if manifest.operation(&named.value).is_none() {
            let known: Vec<_> = manifest.operations.iter().map(|operation| operation.name.as_str()).collect();
            let what = "is no operation of this connection's connector";
            let todo = format!("write one of these, or remove it: {}", known.join(", "));
            findings.at(
                connection,
                named.place,
                &format!("approvals.operations.{}", named.value),
                what,
                todo,
            );
        }
    }
}
