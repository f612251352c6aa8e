//! How the program ends: statuses, and what is said when it fails.

use proofport_gateway::config::Problem;
use proofport_gateway::host::HostError;
use proofport_gateway::operator_side::Failure;
use std::any::Any;
use std::io::Write as _;
use std::panic::PanicHookInfo;

/// Everything was done.
pub(crate) const OK: u8 = 0;
/// An operator's command that could not be carried out.
pub(crate) const FAILED: u8 = 1;
/// The command line, a file named on it, or the configuration is wrong. Nothing was taken on.
pub(crate) const USAGE: u8 = 2;
/// It waits for a person or is still under way.
pub(crate) const RUNNING: u8 = 14;
/// A settled answer that could not be handed over.
pub(crate) const UNDELIVERED: u8 = 15;
/// The program itself failed.
pub(crate) const INTERNAL: u8 = 70;

/// Something that was given to the program is wrong, and nothing was taken on.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// Says on standard error why a command failed, and with which status that ends.
pub(crate) fn explain(error: &anyhow::Error, json: bool) -> u8 {
    let problems: &[Problem] = match error.downcast_ref::<HostError>() {
        Some(HostError::Config(problems)) => problems,
        Some(
            HostError::Home(_)
            | HostError::Vault(_)
            | HostError::AuditIdentity(_)
            | HostError::Journal(_)
            | HostError::Start(_)
            | HostError::Registry(_)
            | HostError::Sandbox(_)
            | HostError::Bind { .. },
        )
        | None => match error.downcast_ref::<Failure>() {
            Some(Failure::Config { problems }) => problems,
            Some(
                Failure::NotProved
                | Failure::WrongPassphrase
                | Failure::Busy
                | Failure::NotUnderstood
                | Failure::VaultLocked
                | Failure::NoSuchSession { .. }
                | Failure::SessionGone { .. }
                | Failure::SessionEnded { .. }
                | Failure::AgentHasToken { .. }
                | Failure::OtherModule
                | Failure::Refused { .. }
                | Failure::Internal { .. },
            )
            | None => &[],
        },
    };
    let text = text_of(error);
    let said = if json {
        let problems: Vec<_> = problems.iter().collect();
        let body = serde_json::json!({ "error": text, "problems": problems });
        format!("{body}\n")
    } else {
        let lines: String = problems.iter().map(|problem| format!("  {problem}\n")).collect();
        format!("proofport: {text}\n{lines}")
    };
    // There is nobody left to tell if this fails.
    let _ = anstream::stderr().write_all(said.as_bytes());
    if error.is::<Usage>() || !problems.is_empty() { USAGE } else { FAILED }
}

/// An error with its causes. Many of ours name their cause already; it isn't said twice.
fn text_of(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
    }
    text
}

/// A panic says where it happened and nothing else: its message may hold what was being worked on.
pub(crate) fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic: &PanicHookInfo<'_>| {
        let place = panic.location().map(|place| format!("{}:{}", place.file(), place.line()));
        let place = place.unwrap_or_else(|| "an unknown place".to_owned());
        let _ = writeln!(std::io::stderr(), "proofport: internal error at {place}");
    }));
}

/// The status after a panic of the main thread. A panic elsewhere is the broker's to judge: it
/// answers by what is proved.
pub(crate) fn after_panic(_payload: Box<dyn Any + Send>) -> u8 {
    INTERNAL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the outer thing failed: {source}")]
    struct Outer {
        source: std::io::Error,
    }

    #[test]
    fn a_cause_is_said_once() {
        let source = std::io::Error::other("the inner thing");
        let error = anyhow::Error::from(Outer { source }).context("could not do it");
        assert_eq!(text_of(&error), "could not do it: the outer thing failed: the inner thing");
    }
}
