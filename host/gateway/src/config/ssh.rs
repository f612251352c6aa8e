//! The SSH hosts of a connection.

use super::connection::addresses;
use super::credential::{self, Binding};
use super::host_keys::{self, HostKeyConfig};
use super::list;
use super::problem::{At, Place};
use super::reader::{Field, Reader, Section};
use ipnet::IpNet;
use proofport_core::origin::Host;
use proofport_core::ssh::SshHost;
use proofport_egress::AddressPolicy;
use std::path::Path;
use std::time::Duration;

/// Where a connection's commands may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshConfig {
    /// Where it is declared.
    pub place: Place,
    /// Accounts, `user@host[:port]`; the first is the default. At least one, none twice.
    pub hosts: Vec<At<SshHost>>,
    /// The keys that each of these hosts may show.
    pub keys: HostKeyConfig,
    /// Whether the connector may send texts for the remote shell. Not unless set.
    pub raw_commands: bool,
    /// Seconds of silence after which a server is asked for a sign of life. 15 unless set.
    pub keepalive_seconds: u64,
    /// What leads there.
    pub jump: Option<JumpConfig>,
}

/// A host that opens the way to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JumpConfig {
    /// The account there.
    pub host: At<SshHost>,
    /// The keys that it may show.
    pub keys: HostKeyConfig,
    /// Ranges in which it may be, beside public addresses; its own address, where `host` has one.
    pub addresses: Vec<IpNet>,
    /// What logs in there.
    pub credential: Binding,
    /// Whether it turns the names of the hosts behind it into addresses. This host does unless set; the
    /// connection's `addresses` are not enforced where the jump host does.
    pub resolves: bool,
}

impl SshConfig {
    /// The hosts alone, in their order.
    #[must_use]
    pub fn hosts(&self) -> Vec<SshHost> {
        self.hosts.iter().map(|host| host.value.clone()).collect()
    }

    /// How long a server may be silent.
    #[must_use]
    pub const fn keepalive(&self) -> Duration {
        Duration::from_secs(self.keepalive_seconds)
    }
}

impl JumpConfig {
    /// Which addresses it may have.
    #[must_use]
    pub fn address_policy(&self) -> AddressPolicy {
        AddressPolicy::new(self.addresses.clone())
    }
}

const KEYS: [&str; 4] = ["hosts", "raw_commands", "keepalive_seconds", "jump"];

const JUMP_KEYS: [&str; 3] = ["host", "addresses", "resolve"];

/// What a host is, for advice.
const HOST: &str = "write user, host and, if need be, port: `deploy@web-1.example.com:2222`";

/// Reads the section; none if something in it is wrong that it can't be without.
pub(super) fn read<'a>(reader: &mut Reader<'a>, section: &Section<'a>, folder: &Path) -> Option<SshConfig> {
    reader.only(section, &[&KEYS[..], &host_keys::KEYS].concat());
    let hosts = hosts(reader, section);
    let keys = host_keys::read(reader, section, folder);
    let raw_commands = reader.field(section, "raw_commands");
    let raw_commands = raw_commands.is_some_and(|field| boolean(reader, &field).unwrap_or_default());
    let keepalive_seconds = reader.field(section, "keepalive_seconds");
    let keepalive_seconds = keepalive_seconds.and_then(|field| reader.number(&field, 1..=600)).unwrap_or(15);
    let declared = reader.field(section, "jump");
    let jump = declared.as_ref().and_then(|field| reader.section(field));
    let jump = jump.and_then(|section| jump_host(reader, &section, folder));
    let hosts = hosts?;
    // A jump host that is wrong is no direct way.
    (jump.is_some() || declared.is_none()).then_some(())?;
    Some(SshConfig { place: section.place, hosts, keys, raw_commands, keepalive_seconds, jump })
}

fn hosts<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<Vec<At<SshHost>>> {
    let Some(field) = reader.field(section, "hosts") else {
        let todo = "list every account that commands may run under: `hosts = [\"deploy@web-1.example.com\"]`";
        reader.missing(section, "hosts", todo);
        return None;
    };
    let elements = reader.elements(&field)?;
    let hosts = list::read(reader, section, "hosts", HOST, |text| {
        SshHost::parse(text).map_err(|error| error.to_string())
    });
    if elements.is_empty() {
        reader.report(field.place, &field.path, "is empty, so nothing may be reached", HOST);
    }
    (!hosts.is_empty()).then_some(hosts)
}

fn jump_host<'a>(reader: &mut Reader<'a>, section: &Section<'a>, folder: &Path) -> Option<JumpConfig> {
    let known = [&JUMP_KEYS[..], &host_keys::KEYS, &["secret", "mode"], &credential::SSH_COMPANIONS].concat();
    reader.only(section, &known);
    let host = match reader.field(section, "host") {
        None => {
            reader.missing(section, "host", HOST);
            None
        }
        Some(field) => reader.text(&field).and_then(|text| match SshHost::parse(text) {
            Ok(value) => Some(At { value, place: field.place }),
            Err(error) => {
                reader.report(field.place, &field.path, error.to_string(), HOST);
                None
            }
        }),
    };
    let keys = host_keys::read(reader, section, folder);
    let mut addresses = addresses(reader, section);
    let resolves = reader.field(section, "resolve").is_some_and(|field| match reader.text(&field) {
        Some("jump") => true,
        Some("host") | None => false,
        Some(_) => {
            let todo = "write \"host\", so that this host checks every address, or \"jump\"";
            reader.report(field.place, &field.path, "is neither \"host\" nor \"jump\"", todo);
            false
        }
    });
    let credential = credential::bound(reader, section, folder);
    if let Some(bound) = &credential
        && !credential::is_ssh(bound.placement.value.mode())
    {
        let what = format!("the mode {} does not log in over SSH", bound.placement.value.mode());
        let todo = "write ssh_key, ssh_password or ssh_keyboard_interactive";
        reader.report(bound.placement.place, &format!("{}.mode", section.path), what, todo);
        return None;
    }
    let host = host?;
    if let Host::Address(address) = host.value.host() {
        addresses.push(IpNet::from(*address));
    }
    Some(JumpConfig { host, keys, addresses, credential: credential?, resolves })
}

fn boolean<'a>(reader: &mut Reader<'a>, field: &Field<'a>) -> Option<bool> {
    let value = field.value.as_bool();
    if value.is_none() {
        reader.wrong_type(field, "true or false");
    }
    value
}
