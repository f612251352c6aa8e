//! Manifests.

use super::is_plain_text;
use super::operation::operation;
use super::request::is_method;
use super::schema;
use crate::fault::{Breach, FieldPlace, ManifestProblem};
use crate::world::proofport::connector::types as wit;
use proofport_core::contract::InjectionMode;
use proofport_core::id::Name;
use proofport_core::manifest::{CredentialSlot, Manifest, Operation, QueryTemplate};
use proofport_core::origin::OriginForm;

/// Reads a manifest.
pub(crate) fn manifest(manifest: wit::Manifest) -> Result<Manifest, Breach> {
    let name = name(&manifest.name)?;
    if !is_version(&manifest.version) {
        return Err(ManifestProblem::InvalidVersion.into());
    }
    let config_schema = schema::object(&manifest.config_schema, &name, FieldPlace::ConfigSchema)?;
    let credential_slots = slots(manifest.credential_slots)?;
    let operations = operations(manifest.operations)?;
    let query_templates =
        manifest.query_templates.into_iter().map(template).collect::<Result<_, ManifestProblem>>()?;
    Ok(Manifest {
        name,
        version: manifest.version,
        summary: text(manifest.summary)?,
        config_schema,
        credential_slots,
        operations,
        query_templates,
    })
}

pub(super) fn name(text: &str) -> Result<Name, ManifestProblem> {
    Name::parse(text).map_err(|_| ManifestProblem::InvalidName)
}

pub(super) fn text(text: String) -> Result<String, ManifestProblem> {
    if is_plain_text(&text) { Ok(text) } else { Err(ManifestProblem::InvalidText) }
}

/// Three numbers, and a pre-release or build behind them.
fn is_version(text: &str) -> bool {
    let (numbers, rest) = match text.find(['-', '+']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let number = |part: &str| {
        let plain = part == "0" || !part.starts_with('0');
        !part.is_empty() && plain && part.bytes().all(|b| b.is_ascii_digit())
    };
    let tail = |b: u8| b.is_ascii_alphanumeric() || b"-+.".contains(&b);
    let parts: Vec<&str> = numbers.split('.').collect();
    text.len() <= 64
        && parts.len() == 3
        && parts.into_iter().all(number)
        && rest.len() != 1
        && rest.bytes().all(tail)
}

fn slots(slots: Vec<wit::CredentialSlot>) -> Result<Vec<CredentialSlot>, ManifestProblem> {
    let mut read: Vec<CredentialSlot> = Vec::with_capacity(slots.len());
    for slot in slots {
        let name = name(&slot.name)?;
        if read.iter().any(|earlier| earlier.name == name) {
            return Err(ManifestProblem::DuplicateSlot(name));
        }
        if slot.modes.is_empty() {
            return Err(ManifestProblem::SlotWithoutMode(name));
        }
        let modes = slot.modes.into_iter().map(mode).collect();
        read.push(CredentialSlot { name, purpose: text(slot.purpose)?, modes });
    }
    Ok(read)
}

const fn mode(mode: wit::InjectionMode) -> InjectionMode {
    match mode {
        wit::InjectionMode::HttpBearer => InjectionMode::HttpBearer,
        wit::InjectionMode::HttpBasic => InjectionMode::HttpBasic,
        wit::InjectionMode::HttpHeader => InjectionMode::HttpHeader,
        wit::InjectionMode::HttpQuery => InjectionMode::HttpQuery,
        wit::InjectionMode::AwsSigv4 => InjectionMode::AwsSigv4,
        wit::InjectionMode::TlsClientCertificate => InjectionMode::TlsClientCertificate,
        wit::InjectionMode::SshKey => InjectionMode::SshKey,
        wit::InjectionMode::SshPassword => InjectionMode::SshPassword,
        wit::InjectionMode::SshKeyboardInteractive => InjectionMode::SshKeyboardInteractive,
    }
}

fn operations(operations: Vec<wit::Operation>) -> Result<Vec<Operation>, Breach> {
    let mut read: Vec<Operation> = Vec::with_capacity(operations.len());
    for next in operations {
        let next = operation(next)?;
        if read.iter().any(|earlier| earlier.name == next.name) {
            return Err(ManifestProblem::DuplicateOperation(next.name).into());
        }
        read.push(next);
    }
    if read.is_empty() {
        return Err(ManifestProblem::NoOperation.into());
    }
    for operation in &read {
        let Some(follower) = &operation.contract.job_operation else { continue };
        let follows = |other: &Operation| {
            other.name == *follower
                && other.name != operation.name
                && other.contract.effect == proofport_core::contract::Effect::Read
        };
        let other = read.iter().any(follows);
        if !other {
            return Err(ManifestProblem::JobOperation(operation.name.clone()).into());
        }
    }
    Ok(read)
}

fn template(template: wit::QueryTemplate) -> Result<QueryTemplate, ManifestProblem> {
    match template {
        wit::QueryTemplate::Http(http) => {
            // A place holder may not stand in a path as it is; a letter may.
            let example: Vec<&str> =
                http.path.split('/').map(|segment| if segment == "{}" { "x" } else { segment }).collect();
            let path = OriginForm::parse(&example.join("/")).is_ok() && !http.path.contains('?');
            if !is_method(&http.method) || !path {
                return Err(ManifestProblem::QueryTemplate);
            }
            Ok(QueryTemplate::Http { method: http.method, path: http.path })
        }
        wit::QueryTemplate::Ssh(argv) => {
            let fixed = argv.first().is_some_and(|program| !program.is_empty() && program != "{}");
            if !fixed || argv.iter().any(|argument| argument.contains('\0')) {
                return Err(ManifestProblem::QueryTemplate);
            }
            Ok(QueryTemplate::Ssh(argv))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_semantic() {
        let check = |text: &str, expected: bool| assert_eq!(is_version(text), expected, "{text:?}");
        for good in ["0.1.0", "1.2.3", "10.20.30", "1.0.0-alpha.1", "1.0.0+build"] {
            check(good, true);
        }
        for bad in ["", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.x", "v1.2.3", "1.2.3-", "1.2.3-a b", "1..3"] {
            check(bad, false);
        }
    }
}
