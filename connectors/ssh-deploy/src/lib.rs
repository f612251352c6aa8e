//! Releases of an application on an SSH host: uploaded whole, made current by one rename, and put back.
//!
//! Everything at the remote is one script, `deploy.sh`, which travels with each command. What it says
//! is read in [`answer`]; there is one file per operation.

mod answer;
mod current;
mod release;
mod remote;
mod rollback;

use proofport_sdk::{
    Call, Connector, Evidence, Exchange, Fault, InjectionMode, Manifest, ReconcileStep, Slot, Step,
};

/// The connector.
pub struct SshDeploy;

proofport_sdk::export!(SshDeploy);

impl Connector for SshDeploy {
    fn describe(_config: &str) -> Manifest {
        let manifest = Manifest::new(
            "ssh-deploy",
            env!("CARGO_PKG_VERSION"),
            "Releases of an application on an SSH host, of which one is current.",
        )
        .config(&remote::config())
        .slot(Slot::new(
            remote::SLOT,
            "The account that owns the folder of releases.",
            &[InjectionMode::SshKey, InjectionMode::SshPassword, InjectionMode::SshKeyboardInteractive],
        ))
        .operation(release::declare())
        .operation(rollback::declare())
        .operation(current::declare());
        remote::queries().into_iter().fold(manifest, Manifest::ssh_query)
    }

    fn next(call: &Call, history: &[Exchange]) -> Result<Step, Fault> {
        let answer = history.last().map(Exchange::ssh).transpose()?;
        match call.operation.as_str() {
            "release" => release::carry_out(call, answer),
            "rollback" => rollback::carry_out(call, answer),
            "current" => current::look(call, answer),
            _ => Err(Fault::no_such_operation()),
        }
    }

    fn reconcile(call: &Call, _evidence: &Evidence, history: &[Exchange]) -> Result<ReconcileStep, Fault> {
        let answer = history.last().map(Exchange::ssh).transpose()?;
        match call.operation.as_str() {
            "release" => release::find(call, answer),
            "rollback" => rollback::find(call, answer),
            _ => Err(Fault::no_such_operation()),
        }
    }
}
