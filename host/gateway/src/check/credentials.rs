//! A connection's credentials: every slot bound, and every use permitted by slot and secret both.

use super::Findings;
use crate::config::{At, Binding, ConnectionConfig, Placement, ProxyCredential};
use proofport_core::contract::{InjectionMode, KeyPlace, Repeat};
use proofport_core::id::Name;
use proofport_core::manifest::{CredentialSlot, Manifest};
use proofport_core::origin::{Origin, Scheme};
use proofport_vault::{Destination, SecretInfo};

/// Judges what can be judged: slots need the manifest, secrets the vault's list.
pub(super) fn judge(
    findings: &mut Findings<'_>,
    connection: &ConnectionConfig,
    manifest: Option<&Manifest>,
    secrets: Option<&[SecretInfo]>,
) {
    if let Some(manifest) = manifest {
        for slot in &manifest.credential_slots {
            match connection.credentials.get(&slot.name) {
                Some(binding) => judge_slot(findings, connection, slot, binding, manifest),
                None => unbound(findings, connection, slot),
            }
        }
    }
    for (slot, binding) in &connection.credentials {
        if let Some(manifest) = manifest
            && manifest.slot(slot).is_none()
        {
            let known: Vec<&str> = manifest.credential_slots.iter().map(|slot| slot.name.as_str()).collect();
            let todo = match known.is_empty() {
                true => "remove it: the connector takes no credential".to_owned(),
                false => format!("remove it, or rename it; the connector's slots: {}", known.join(", ")),
            };
            let field = format!("credentials.{slot}");
            findings.at(connection, binding.place, &field, "is not a slot of the connector", todo);
        }
        judge_transport(findings, connection, slot, binding);
        if let Some(secrets) = secrets {
            let origins = connection.origins.iter().map(|origin| &origin.value).collect();
            let (field, mode) = (format!("credentials.{slot}.secret"), binding.placement.value.mode());
            let wanted = Wanted { secret: &binding.secret, field, mode, whose: "connection", origins };
            judge_secret(findings, connection, &wanted, secrets);
        }
    }
    if let (Some(proxy), Some(secrets)) = (&connection.proxy, secrets)
        && let Some(credential) = &proxy.credential
    {
        let (field, mode) = ("proxy.secret".to_owned(), ProxyCredential::MODE);
        let origins = vec![&proxy.origin.value];
        let wanted = Wanted { secret: &credential.secret, field, mode, whose: "proxy", origins };
        judge_secret(findings, connection, &wanted, secrets);
    }
}

/// A use of a secret, as the file asks for it.
struct Wanted<'c> {
    secret: &'c At<Name>,
    /// The field in which the secret is named.
    field: String,
    mode: InjectionMode,
    /// Whose the origins are.
    whose: &'static str,
    origins: Vec<&'c Origin>,
}

/// A client certificate needs TLS, also on this host, where other credentials may do without.
fn judge_transport(
    findings: &mut Findings<'_>,
    connection: &ConnectionConfig,
    slot: &Name,
    binding: &Binding,
) {
    let needs_tls = match &binding.placement.value {
        Placement::TlsClientCertificate => true,
        Placement::HttpBearer
        | Placement::HttpBasic { .. }
        | Placement::HttpHeader { .. }
        | Placement::HttpQuery { .. }
        | Placement::AwsSigv4 { .. } => false,
    };
    for origin in connection.origins.iter().filter(|origin| origin.value.scheme() == Scheme::Http) {
        if needs_tls {
            let field = format!("credentials.{slot}.mode");
            let what = format!("a client certificate is shown in TLS, which {} does not use", origin.value);
            let todo = "use `https://`, or another mode";
            findings.at(connection, binding.placement.place, &field, what, todo);
        }
    }
}

fn unbound(findings: &mut Findings<'_>, connection: &ConnectionConfig, slot: &CredentialSlot) {
    let field = format!("credentials.{}", slot.name);
    let todo = format!(
        "add a table `[connections.{}.credentials.{}]` with `secret` and `mode`; the slot takes {}",
        connection.name,
        slot.name,
        listed(&slot.modes)
    );
    findings.at(
        connection,
        connection.place,
        &field,
        "is a slot of the connector and bound to no secret",
        todo,
    );
}

fn judge_slot(
    findings: &mut Findings<'_>,
    connection: &ConnectionConfig,
    slot: &CredentialSlot,
    binding: &Binding,
    manifest: &Manifest,
) {
    let mode = binding.placement.value.mode();
    let field = format!("credentials.{}.mode", slot.name);
    if !slot.modes.contains(&mode) {
        let what = format!("the connector's slot does not take {mode}");
        let todo = format!("write a mode that it takes: {}", listed(&slot.modes));
        findings.at(connection, binding.placement.place, &field, what, todo);
    }
    if let Placement::HttpHeader { header } = &binding.placement.value
        && manifest.operations.iter().any(|operation| carries_key(&operation.contract.repeat, header))
    {
        let field = format!("credentials.{}.header", slot.name);
        let what = "is the header in which the connector's operations carry their idempotency key";
        let todo = "write the header that the service documents for its key";
        findings.at(connection, binding.placement.place, &field, what, todo);
    }
}

fn carries_key(repeat: &Repeat, header: &str) -> bool {
    match repeat {
        Repeat::Keyed(contract) => match &contract.place {
            KeyPlace::Header(name) => name.eq_ignore_ascii_case(header),
            KeyPlace::Connector => false,
        },
        Repeat::None | Repeat::Idempotent | Repeat::Conditional => false,
    }
}

fn judge_secret(
    findings: &mut Findings<'_>,
    connection: &ConnectionConfig,
    wanted: &Wanted<'_>,
    secrets: &[SecretInfo],
) {
    let Wanted { secret: At { value: name, place }, field, mode, whose, origins } = wanted;
    let (place, mode) = (*place, *mode);
    let Some(secret) = secrets.iter().find(|secret| secret.name == *name) else {
        // The name is not repeated: what stands there may be a secret that looks like a name.
        let what = "the vault has no secret of this name";
        let origins: String = origins.iter().map(|origin| format!(" --for {origin}")).collect();
        let todo = format!("run `proofport secret set NAME{origins} --mode {mode}`, or correct the name");
        findings.at(connection, place, field, what, todo);
        return;
    };
    if !secret.uses.modes.contains(&mode) {
        let what = format!("the secret does not permit the mode {mode}");
        let todo = format!(
            "choose one that it permits ({}), or set it anew with that `--mode`",
            listed(&secret.uses.modes)
        );
        findings.at(connection, place, field, what, todo);
    }
    for origin in origins {
        if !secret.uses.destinations.contains(&Destination::Origin((*origin).clone())) {
            let what = format!("the secret does not permit the {whose}'s origin {origin}");
            let todo = format!("take the origin off, or set the secret anew with `--for {origin}`");
            findings.at(connection, place, field, what, todo);
        }
    }
}

fn listed(modes: &[InjectionMode]) -> String {
    modes.iter().map(|mode| mode.as_str()).collect::<Vec<_>>().join(", ")
}
