//! Stops, in the core's closed words.

use proofport_core::code::Code;
use proofport_core::contract::{Phase, Stage};
use proofport_core::decide::Input;
use proofport_core::envelope::FieldPointer;
use proofport_core::event::{CredentialRefusal, Stop, StopDetail};
use proofport_core::evidence::Cause;
use proofport_core::id::Name;
use proofport_egress::SetupFailure;
use proofport_sandbox::{Breach, Fault};
use proofport_vault::CredentialError;

/// A stop with this code in the code's own phase.
pub(crate) fn stop(code: Code, detail: StopDetail) -> Stop {
    let phase = match code.row().phase {
        proofport_core::code::PhaseRule::Is(phase) => phase,
        proofport_core::code::PhaseRule::LastBoundary => Phase::Validation,
    };
    Stop { phase, code, invalid_fields: Vec::new(), detail }
}

pub(crate) fn refused(code: Code, detail: StopDetail) -> Input {
    Input::Refused(stop(code, detail))
}

pub(crate) fn invalid_input(invalid_fields: Vec<FieldPointer>) -> Input {
    Input::Refused(Stop { invalid_fields, ..stop(Code::InvalidInput, StopDetail::None) })
}

/// A connector's fault before its effect.
pub(crate) fn fault(fault: &Fault) -> Input {
    let code = match fault {
        Fault::Breach(Breach::UnlistedOrigin | Breach::UnlistedHost | Breach::InvalidPath) => {
            Code::InvalidTarget
        }
        Fault::Breach(
            Breach::UndeclaredOperation
            | Breach::HostOwnedHeader
            | Breach::InvalidHeader
            | Breach::InvalidMethod
            | Breach::NotAQuery
            | Breach::EffectInRead
            | Breach::EffectInReconcile
            | Breach::SecondEffect
            | Breach::RefuseAfterSend
            | Breach::UnknownSlot
            | Breach::InvalidCommand
            | Breach::RawCommand
            | Breach::InvalidSummary
            | Breach::InvalidField
            | Breach::InvalidJson(_)
            | Breach::InvalidJob
            | Breach::InvalidManifest(_),
        )
        | Fault::Trap { .. }
        | Fault::OutOfFuel
        | Fault::DeadlinePassed
        | Fault::MemoryLimit
        | Fault::OutputLimit
        | Fault::Unavailable => Code::ConnectorFault,
    };
    refused(code, StopDetail::Connector { fault: fault.to_string() })
}

/// The connector did something that this host's rules for a call forbid.
pub(crate) fn breach(what: &str) -> Input {
    refused(Code::ConnectorFault, StopDetail::Connector { fault: what.to_owned() })
}

pub(crate) fn credential(slot: Option<Name>, secret: Option<Name>, refusal: CredentialRefusal) -> Input {
    refused(Code::CredentialUnavailable, StopDetail::Credential { slot, secret, refusal })
}

pub(crate) fn vault(slot: Option<Name>, secret: Option<Name>, error: CredentialError) -> Input {
    let refusal = match error {
        CredentialError::Locked => return refused(Code::VaultLocked, StopDetail::None),
        CredentialError::Absent => CredentialRefusal::Absent,
        CredentialError::ModeNotPermitted => CredentialRefusal::ModeNotPermitted,
        CredentialError::DestinationNotPermitted => CredentialRefusal::DestinationNotPermitted,
        CredentialError::Undecryptable => CredentialRefusal::Undecryptable,
    };
    credential(slot, secret, refusal)
}

/// No connection.
pub(crate) fn setup(failure: &SetupFailure) -> Input {
    let code = match (failure.cause, failure.stage) {
        // The account may not do what the command needs, and won't later.
        (Cause::EnvironmentRefused, _) => Code::LoginFailed,
        (Cause::AddressDenied, _) => Code::EgressDenied,
        (Cause::CertificateInvalid | Cause::PinMismatch, _) => Code::PeerUnverified,
        (Cause::ProxyAuthentication, _) => Code::LoginFailed,
        (_, Stage::IdentityVerified | Stage::HostVerified) => Code::PeerUnverified,
        (Cause::LoginRefused | Cause::CredentialExpired | Cause::CredentialNotYetValid, Stage::UserAuth) => {
            Code::LoginFailed
        }
        (
            _,
            Stage::AddressCheck
            | Stage::Pool
            | Stage::Dns
            | Stage::TcpConnect
            | Stage::ProxyTunnel
            | Stage::TlsHandshake
            | Stage::HttpHandshake
            | Stage::Transport
            // The connection was lost while logging in.
            | Stage::UserAuth
            | Stage::ChannelOpen
            | Stage::Env,
        ) => Code::ConnectFailed,
    };
    refused(code, StopDetail::Setup { cause: failure.cause })
}

/// Nobody waits for it any more, and no effect was sent.
pub(crate) fn cancelled(phase: Phase) -> Input {
    Input::Refused(Stop { phase, ..stop(Code::CallerCancelled, StopDetail::None) })
}
