//! A connection's SSH hosts: reachable addresses, and keys to know each by.

use super::Findings;
use crate::config::{At, ConnectionConfig, HostKeyConfig, HostKeyError, SshConfig};
use proofport_core::origin::Host;
use proofport_core::ssh::SshHost;
use proofport_egress::AddressPolicy;

/// Judges what can be judged without connecting.
pub(super) fn judge(findings: &mut Findings<'_>, connection: &ConnectionConfig, ssh: &SshConfig) {
    for (index, host) in ssh.hosts.iter().enumerate() {
        let field = format!("ssh.hosts[{index}]");
        // Behind a jump host that resolves, its network decides.
        if ssh.jump.as_ref().is_none_or(|jump| !jump.resolves) {
            judge_address(findings, connection, &field, host, &connection.address_policy());
        }
        judge_keys(findings, connection, (&field, "ssh.known_hosts"), host, &ssh.keys);
    }
    if let Some(jump) = &ssh.jump {
        judge_address(findings, connection, "ssh.jump.host", &jump.host, &jump.address_policy());
        judge_keys(findings, connection, ("ssh.jump.host", "ssh.jump.known_hosts"), &jump.host, &jump.keys);
    }
}

fn judge_address(
    findings: &mut Findings<'_>,
    connection: &ConnectionConfig,
    field: &str,
    host: &At<SshHost>,
    policy: &AddressPolicy,
) {
    if let Host::Address(address) = host.value.host()
        && let Err(denied) = policy.check(*address)
    {
        let todo = "add it to the connection's `addresses` if that is meant";
        findings.at(connection, host.place, field, denied.to_string(), todo);
    }
}

fn judge_keys(
    findings: &mut Findings<'_>,
    connection: &ConnectionConfig,
    (field, file): (&str, &str),
    host: &At<SshHost>,
    keys: &HostKeyConfig,
) {
    match keys.of(&host.value) {
        Ok(known) if known.is_empty() => {
            let what = "no key of this host is known, and none is learnt by connecting";
            let todo = "ask whoever runs the host for its fingerprint and list it under `host_keys`, or name a \
                        `known_hosts` file that has it";
            findings.at(connection, host.place, field, what, todo);
        }
        Ok(_) => {}
        Err(error) => {
            let place = keys.known_hosts.as_ref().map_or(host.place, |file| file.place);
            let todo = match error {
                HostKeyError::Unreadable(_) => "name a known_hosts file that this user can read",
                HostKeyError::Invalid(_) => "mend or remove that line",
            };
            findings.at(connection, place, file, error.to_string(), todo);
        }
    }
}
