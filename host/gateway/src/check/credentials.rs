//! A connection's credentials: every slot bound, and every use permitted by slot and secret both.

use super::Findings;
use crate::config::{At, Binding, ConnectionConfig, Placement, ProxyCredential, is_ssh};
use proofport_core::contract::{InjectionMode, KeyPlace, Repeat};
use proofport_core::id::Name;
use proofport_core::manifest::{CredentialSlot, Manifest};
use proofport_core::origin::Scheme;
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
            let mode = binding.placement.value.mode();
            let (whose, destinations) = if is_ssh(mode) {
                ("connection's host", ssh_hosts(connection))
            } else {
                ("connection's origin", origins(connection))
            };
            let field = format!("credentials.{slot}");
            if destinations.is_empty() {
                let (what, todo) = match is_ssh(mode) {
                    true => ("logs in over SSH, and the connection has no SSH hosts", "add a table `ssh`"),
                    false => ("is for HTTP, and the connection has no origins", "add `origins`"),
                };
                let todo = format!("{todo}, or choose another mode");
                findings.at(connection, binding.placement.place, &format!("{field}.mode"), what, todo);
            }
            judge_login(findings, connection, (&field, binding), (whose, destinations), secrets);
        }
    }
    if let (Some(proxy), Some(secrets)) = (&connection.proxy, secrets)
        && let Some(credential) = &proxy.credential
    {
        let (field, mode) = ("proxy.secret".to_owned(), ProxyCredential::MODE);
        let destinations = vec![Destination::Origin(proxy.origin.value.clone())];
        let wanted =
            Wanted { secret: &credential.secret, field, mode, whose: "proxy's origin", destinations };
        judge_secret(findings, connection, &wanted, secrets);
    }
    if let (Some(jump), Some(secrets)) = (connection.ssh.as_ref().and_then(|ssh| ssh.jump.as_ref()), secrets)
    {
        let destinations = vec![Destination::ssh(&jump.host.value)];
        let login = ("ssh.jump", &jump.credential);
        judge_login(findings, connection, login, ("jump host", destinations), secrets);
    }
}

fn origins(connection: &ConnectionConfig) -> Vec<Destination> {
    connection.origins().into_iter().map(Destination::Origin).collect()
}

/// The servers, each once, whatever accounts are used there.
fn ssh_hosts(connection: &ConnectionConfig) -> Vec<Destination> {
    let mut servers: Vec<Destination> = Vec::new();
    for host in connection.ssh.iter().flat_map(|ssh| &ssh.hosts) {
        let server = Destination::ssh(&host.value);
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    servers
}

/// A secret with what belongs to it: its passphrase is a secret, too, and a certificate has to be there.
fn judge_login(
    findings: &mut Findings<'_>,
    connection: &ConnectionConfig,
    (field, binding): (&str, &Binding),
    (whose, destinations): (&'static str, Vec<Destination>),
    secrets: &[SecretInfo],
) {
    let mode = binding.placement.value.mode();
    let wanted = |secret, key: &str| Wanted {
        secret,
        field: format!("{field}.{key}"),
        mode,
        whose,
        destinations: destinations.clone(),
    };
    judge_secret(findings, connection, &wanted(&binding.secret, "secret"), secrets);
    let Placement::SshKey { passphrase, certificate } = &binding.placement.value else { return };
    if let Some(name) = passphrase {
        let secret = At { value: name.clone(), place: binding.placement.place };
        judge_secret(findings, connection, &wanted(&secret, "passphrase"), secrets);
    }
    if let Some(file) = certificate
        && let Err(error) = std::fs::read_to_string(file)
    {
        let (field, todo) =
            (format!("{field}.certificate"), "name a `…-cert.pub` file that this user can read");
        findings.at(connection, binding.placement.place, &field, format!("can't be read: {error}"), todo);
    }
}

/// A use of a secret, as the file asks for it.
struct Wanted<'c> {
    secret: &'c At<Name>,
    /// The field in which the secret is named.
    field: String,
    mode: InjectionMode,
    /// What the destinations are.
    whose: &'static str,
    destinations: Vec<Destination>,
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
        | Placement::AwsSigv4 { .. }
        | Placement::SshKey { .. }
        | Placement::SshPassword
        | Placement::SshKeyboardInteractive => false,
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
    let Wanted { secret: At { value: name, place }, field, mode, whose, destinations } = wanted;
    let (place, mode) = (*place, *mode);
    let Some(secret) = secrets.iter().find(|secret| secret.name == *name) else {
        // The name is not repeated: what stands there may be a secret that looks like a name.
        let what = "the vault has no secret of this name";
        let places: String = destinations.iter().map(|place| format!(" --for {place}")).collect();
        let todo = format!("run `proofport secret set NAME{places} --mode {mode}`, or correct the name");
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
    for destination in destinations {
        if !secret.uses.destinations.contains(destination) {
            let what = format!("the secret does not permit the {whose} {destination}");
            let kind = match destination {
                Destination::Origin(_) => "origin",
                Destination::SshHost(_) => "host",
            };
            let todo = format!("take the {kind} off, or set the secret anew with `--for {destination}`");
            findings.at(connection, place, field, what, todo);
        }
    }
}

fn listed(modes: &[InjectionMode]) -> String {
    modes.iter().map(|mode| mode.as_str()).collect::<Vec<_>>().join(", ")
}
