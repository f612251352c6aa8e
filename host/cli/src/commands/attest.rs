//! `attest`: an operator settles what nothing else has. The answer is the envelope as it is afterwards.

use super::App;
use super::call::{Latch, deliver, open, operator, proved, refuse};
use crate::args::{Act, Attest};
use crate::exit;
use proofport_core::code::Code;
use proofport_gateway::AttestError;
use proofport_gateway::host::Connections;

pub(super) async fn run(app: &App, args: Attest) -> anyhow::Result<u8> {
    let Attest { act: Act { id }, child, outcome, reason } = args;
    let Some((home, passphrase)) = proved(app, Latch::Refuses)? else {
        return refuse(app, Code::VaultLocked, None);
    };
    let Some(host) = open(app, home, &passphrase, Connections::None).await? else {
        return refuse(app, Code::VaultLocked, None);
    };
    let attested = match &child {
        Some(child) => host.attest_child(&id, child, outcome, reason).await,
        None => host.attest(&id, outcome, reason).await,
    };
    let delivery = match attested {
        Ok(delivery) => delivery,
        Err(AttestError::NoSuchInvocation) => {
            host.close()?;
            return refuse(app, Code::NoSuchInvocation, None);
        }
        Err(AttestError::VaultLocked) => {
            host.close()?;
            return refuse(app, Code::VaultLocked, None);
        }
        Err(
            error @ (AttestError::NotUnknown(_)
            | AttestError::NoBatch
            | AttestError::NoSingleChild(_)
            | AttestError::Atomic
            | AttestError::ChildCommitted
            | AttestError::NothingDispatched
            | AttestError::UnderWay),
        ) => {
            // Nothing changed: the answer is the record as it stands.
            app.out.remark(&error.to_string());
            host.broker().result(&id, &operator())
        }
        Err(
            error @ (AttestError::Read(_)
            | AttestError::Journal(_)
            | AttestError::Illegal(_)
            | AttestError::Stopping
            | AttestError::Internal),
        ) => {
            exit::explain(&error.into(), app.out.json);
            return Ok(exit::INTERNAL);
        }
    };
    Ok(deliver(app, host, delivery))
}
