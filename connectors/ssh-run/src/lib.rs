//! Commands that an admin declared in the connection's configuration, and nothing else.
//!
//! [`config`] reads the declarations, [`argument`] checks what a caller gives for their places, and
//! [`answer`] says how a command ended. There is one operation and it is a write: a read's exchanges
//! have to match command templates of the manifest, which the admin reviews with the module and which
//! may not depend on the configuration.

mod answer;
mod argument;
mod config;
mod run;

use proofport_sdk::ssh::run_once;
use proofport_sdk::{
    Call, Connector, Evidence, Exchange, Fault, InjectionMode, Manifest, ReconcileStep, Slot, Step,
};

/// The slot of the login.
pub(crate) const SLOT: &str = "login";

/// The connector.
pub struct SshRun;

proofport_sdk::export!(SshRun);

impl Connector for SshRun {
    fn describe(_config: &str) -> Manifest {
        let manifest = Manifest::new(
            "ssh-run",
            env!("CARGO_PKG_VERSION"),
            "Commands on an SSH host that the connection's configuration declares.",
        )
        .config(&config::schema())
        .slot(Slot::new(
            SLOT,
            "The account that the commands run under.",
            &[InjectionMode::SshKey, InjectionMode::SshPassword, InjectionMode::SshKeyboardInteractive],
        ))
        .operation(run::declare());
        run_once::queries(manifest)
    }

    fn next(call: &Call, history: &[Exchange]) -> Result<Step, Fault> {
        let answer = history.last().map(Exchange::ssh).transpose()?;
        match call.operation.as_str() {
            "run" => run::carry_out(call, answer),
            _ => Err(Fault::no_such_operation()),
        }
    }

    fn reconcile(call: &Call, _evidence: &Evidence, history: &[Exchange]) -> Result<ReconcileStep, Fault> {
        let answer = history.last().map(Exchange::ssh).transpose()?;
        match call.operation.as_str() {
            "run" => run::find(call, answer),
            _ => Err(Fault::no_such_operation()),
        }
    }
}
