//! Judges the connections against approved connectors and the vault, before anything is dialled.
//!
//! Every connection is judged in full: no problem hides another. What can be judged from the file
//! alone has been, by [`config`](crate::config).

mod approvals;
mod credentials;
mod retries;
mod schema;
mod sessions;
mod ssh;
#[cfg(test)]
mod tests;

use crate::config::{At, Config, ConnectionConfig, Place, Problem, ProxyConfig, is_ssh};
use crate::registry::{Registry, RegistryError};
use proofport_core::manifest::Manifest;
use proofport_core::origin::{Host, Origin, Scheme};
use proofport_vault::{SecretInfo, Vault};
use std::path::Path;

/// Everything that would keep these connections from working as declared, in the file's order.
/// Without a vault, secrets are not judged.
#[must_use]
pub fn check(config: &Config, registry: &Registry, vault: Option<&Vault>) -> Vec<Problem> {
    let mut findings = Findings { file: &config.file, problems: Vec::new() };
    let secrets = match vault.map(Vault::list) {
        None => None,
        Some(Ok(secrets)) => Some(secrets),
        // Listing needs nothing but the key.
        Some(Err(_)) => {
            findings.whole("secrets can't be checked: the vault is locked", "run `proofport vault unlock`");
            None
        }
    };
    for connection in config.connections.values() {
        judge(&mut findings, connection, registry, secrets.as_deref());
    }
    sessions::judge(&mut findings, config);
    findings.problems.sort();
    findings.problems
}

fn judge(
    findings: &mut Findings<'_>,
    connection: &ConnectionConfig,
    registry: &Registry,
    secrets: Option<&[SecretInfo]>,
) {
    for (index, origin) in connection.origins.iter().enumerate() {
        judge_origin(findings, connection, index, origin);
    }
    for (index, origin) in connection.redirect_origins.iter().enumerate() {
        judge_address(findings, connection, &format!("redirect_origins[{index}]"), origin);
    }
    if let Some(declared) = &connection.ssh {
        ssh::judge(findings, connection, declared);
    }
    if let Some(file) = &connection.ca_file
        && let Err(error) = connection.trust()
    {
        let todo = "name a PEM file of certificate authorities that this user can read";
        findings.at(connection, file.place, "ca_file", error.to_string(), todo);
    }
    let manifest = approved_manifest(findings, connection, registry);
    if let Some(manifest) = manifest {
        schema::judge(findings, connection, &manifest.config_schema);
        retries::judge(findings, connection, manifest);
        approvals::judge(findings, connection, manifest);
    }
    credentials::judge(findings, connection, manifest, secrets);
}

fn judge_origin(
    findings: &mut Findings<'_>,
    connection: &ConnectionConfig,
    index: usize,
    origin: &At<Origin>,
) {
    let field = format!("origins[{index}]");
    judge_address(findings, connection, &field, origin);
    // Behind a proxy elsewhere, a loopback address is that proxy's own.
    let unproxied = connection.proxy.as_ref().is_none_or(ProxyConfig::is_on_this_host);
    let on_this_host = unproxied
        && match origin.value.host() {
            Host::Address(address) => address.is_loopback(),
            Host::Name(_) => false,
        };
    let in_clear = origin.value.scheme() == Scheme::Http && !on_this_host;
    let attached = connection.credentials.values().any(|bound| !is_ssh(bound.placement.value.mode()));
    if in_clear && attached {
        let what = "a credential would travel unencrypted";
        findings.at(
            connection,
            origin.place,
            &field,
            what,
            "use `https://`; only a loopback address may do without",
        );
    }
}

/// A literal address must be one that may be dialled.
fn judge_address(
    findings: &mut Findings<'_>,
    connection: &ConnectionConfig,
    field: &str,
    origin: &At<Origin>,
) {
    if let Host::Address(address) = origin.value.host()
        && let Err(denied) = connection.address_policy().check(*address)
    {
        let todo = "add it to the connection's `addresses` if that is meant";
        findings.at(connection, origin.place, field, denied.to_string(), todo);
    }
}

fn approved_manifest<'r>(
    findings: &mut Findings<'_>,
    connection: &ConnectionConfig,
    registry: &'r Registry,
) -> Option<&'r Manifest> {
    let At { value: digest, place } = &connection.connector;
    let Some(approved) = registry.find(digest) else {
        let known: Vec<String> = registry
            .list()
            .iter()
            .map(|approved| {
                format!("{} {} is {}", approved.manifest.name, approved.manifest.version, approved.digest)
            })
            .collect();
        let todo = match known.is_empty() {
            true => "approve one with `proofport connector install FILE`".to_owned(),
            false => {
                format!(
                    "approve it with `proofport connector install FILE`, or use one that is: {}",
                    known.join("; ")
                )
            }
        };
        findings.at(connection, *place, "connector", "no connector with this digest is approved", todo);
        return None;
    };
    if let Err(error) = registry.module(digest) {
        let todo = match &error {
            RegistryError::DigestMismatch { .. } => {
                "find out who changed it, then install the right module again"
            }
            RegistryError::ModuleMissing { .. }
            | RegistryError::Tampered { .. }
            | RegistryError::UnknownForm { .. }
            | RegistryError::NotApproved { .. }
            | RegistryError::TooLarge { .. }
            | RegistryError::Folder(_)
            | RegistryError::Io { .. } => "run `proofport connector install FILE` again",
        };
        findings.at(connection, *place, "connector", error.to_string(), todo);
    }
    Some(&approved.manifest)
}

/// Collects problems of one file.
struct Findings<'f> {
    file: &'f Path,
    problems: Vec<Problem>,
}

impl Findings<'_> {
    /// A problem of a field of a connection; `field` is the path within it.
    fn at(
        &mut self,
        connection: &ConnectionConfig,
        place: Place,
        field: &str,
        what: impl Into<String>,
        todo: impl Into<String>,
    ) {
        let field = format!("connections.{}.{field}", connection.name);
        let (what, todo) = (what.into(), todo.into());
        self.problems.push(Problem { file: self.file.to_owned(), place: Some(place), field, what, todo });
    }

    fn whole(&mut self, what: impl Into<String>, todo: impl Into<String>) {
        let (field, what, todo) = (String::new(), what.into(), todo.into());
        self.problems.push(Problem { file: self.file.to_owned(), place: None, field, what, todo });
    }
}
