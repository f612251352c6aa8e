//! One connection.

use super::approvals::{self, ApprovalsConfig};
use super::credential::{self, Binding};
use super::failures;
use super::fresh;
use super::limits::{self, Limits};
use super::list;
use super::problem::{At, Place};
use super::proxy::{self, ProxyConfig};
use super::reader::{Field, Reader, Section};
use super::retries;
use super::settings::{self, Settings};
use super::ssh::{self, SshConfig};
use ipnet::IpNet;
use proofport_broker::Fresh;
use proofport_core::contract::Repeat;
use proofport_core::digest::Digest;
use proofport_core::failures::FailureBudget;
use proofport_core::id::Name;
use proofport_core::manifest::Contract;
use proofport_core::origin::{Origin, Scheme};
use proofport_core::proxy_status::Hop;
use proofport_core::retry::RetryBudget;
use proofport_egress::trust::InvalidTrust;
use proofport_egress::{AddressPolicy, Trust};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// An admin's binding of an approved connector to targets and credentials.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionConfig {
    /// Its name; callers write `name.operation`.
    pub name: Name,
    /// Where it is declared.
    pub place: Place,
    /// The approved module.
    pub connector: At<Digest>,
    /// Where HTTP requests may go; the first is the default. None twice; empty only beside SSH hosts.
    pub origins: Vec<At<Origin>>,
    /// Where commands may run.
    pub ssh: Option<SshConfig>,
    /// Ranges that may be dialled beside public addresses.
    pub addresses: Vec<IpNet>,
    /// A file of certificate authorities that are believed beside the system's.
    pub ca_file: Option<At<PathBuf>>,
    /// SHA-256 of the end-entity certificates of which an origin must show one; empty: none is pinned.
    pub pins: Vec<At<Digest>>,
    /// Origins to which a redirect of an effect (307, 308) may be followed. Being listed under
    /// `origins` does not make one such an origin.
    pub redirect_origins: Vec<At<Origin>>,
    /// The proxy before its origins, if there is one.
    pub proxy: Option<ProxyConfig>,
    /// Intermediaries that tell the truth in `Proxy-Status` and do not retry.
    pub trusted_hops: Vec<At<Hop>>,
    /// Whether the admin vouches that nothing on the way sends a request on more than once.
    pub no_repeating_hops: bool,
    /// Which exchanges get a connection of their own.
    pub fresh_connections: Fresh,
    /// Whether the admin takes every operation's repeat contract away.
    pub repeat_none: bool,
    /// Whose word its operations need.
    pub approvals: ApprovalsConfig,
    /// What the connector is told.
    pub settings: Settings,
    /// Secrets, by the connector's slot.
    pub credentials: BTreeMap<Name, Binding>,
    /// Bounds of its exchanges.
    pub limits: Limits,
    /// How often the host repeats an effect by itself where the contract permits it; none: never.
    pub retries: Option<At<RetryBudget>>,
    /// How often a session may fail at each operation before it is stopped.
    pub failures: FailureBudget,
    /// How often the host asks by itself what became of an effect, where the operation declares that it may;
    /// none: only when it is asked to.
    pub reconciliations: Option<RetryBudget>,
    /// How often the host looks by itself at a job that was submitted; none: only when it is asked to.
    pub following: Option<At<RetryBudget>>,
}

impl ConnectionConfig {
    /// The origins alone, in their order.
    #[must_use]
    pub fn origins(&self) -> Vec<Origin> {
        self.origins.iter().map(|origin| origin.value.clone()).collect()
    }

    /// The redirect origins alone, in their order.
    #[must_use]
    pub fn redirect_origins(&self) -> Vec<Origin> {
        self.redirect_origins.iter().map(|origin| origin.value.clone()).collect()
    }

    /// The pinned certificates alone.
    #[must_use]
    pub fn pins(&self) -> Vec<Digest> {
        self.pins.iter().map(|pin| pin.value).collect()
    }

    /// The trusted hops alone.
    #[must_use]
    pub fn trusted_hops(&self) -> Vec<Hop> {
        self.trusted_hops.iter().map(|hop| hop.value.clone()).collect()
    }

    /// Which addresses may be dialled.
    #[must_use]
    pub fn address_policy(&self) -> AddressPolicy {
        AddressPolicy::new(self.addresses.clone())
    }

    /// Which certificates are believed. Reads the file of authorities, if there is one.
    ///
    /// # Errors
    /// When that file can't be read or holds no usable authorities.
    pub fn trust(&self) -> Result<Trust, TrustError> {
        match &self.ca_file {
            None => Ok(Trust::system()),
            Some(file) => Ok(Trust::with_pem(&std::fs::read(&file.value)?)?),
        }
    }

    /// The contract that decisions about this connection's operation rest on: the declared one, or
    /// less where the admin said so, never more.
    #[must_use]
    pub fn contract(&self, declared: &Contract) -> Contract {
        let mut contract = declared.clone();
        if self.repeat_none {
            contract.repeat = Repeat::None;
        }
        contract
    }
}

/// Why a connection's file of certificate authorities can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// It can't be read.
    #[error("can't be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It holds no usable authorities.
    #[error("can't be used: {0}")]
    Invalid(#[from] InvalidTrust),
}

const KEYS: [&str; 20] = [
    "connector",
    "origins",
    "ssh",
    "addresses",
    "ca_file",
    "pins",
    "redirect_origins",
    "proxy",
    "trusted_hops",
    "repeating_hops",
    "fresh_connections",
    "repeat",
    "approvals",
    "config",
    "credentials",
    "limits",
    "retries",
    "failures",
    "reconciliations",
    "following",
];

/// Reads one connection; none if something that it can't be without is wrong.
pub(super) fn read<'a>(
    reader: &mut Reader<'a>,
    name: &Name,
    section: &Section<'a>,
    folder: &Path,
) -> Option<ConnectionConfig> {
    reader.only(section, &KEYS);
    let connector = connector(reader, section);
    let declared = reader.field(section, "ssh");
    let ssh = declared.as_ref().and_then(|field| reader.section(field));
    let ssh = ssh.and_then(|section| ssh::read(reader, &section, folder));
    let origins = match (reader.field(section, "origins"), &declared) {
        (None, Some(_)) => Some(Vec::new()),
        (Some(_), _) | (None, None) => origins(reader, section),
    };
    let addresses = addresses(reader, section);
    let ca_file = reader.field(section, "ca_file").and_then(|field| ca_file(reader, &field, folder));
    let known: &[At<Origin>] = origins.as_deref().unwrap_or_default();
    let pins = pins(reader, section, known);
    let redirect_origins = redirect_origins(reader, section);
    let proxy = reader.field(section, "proxy").and_then(|field| reader.section(&field));
    let proxy = proxy.and_then(|proxy| proxy::read(reader, &proxy, known));
    let trusted_hops = trusted_hops(reader, section);
    let no_repeating_hops = reader.field(section, "repeating_hops").is_some_and(|field| {
        let todo = "write `repeating_hops = \"none\"` if you know of every intermediary before the service that it \
                    sends no request on twice by itself, or remove it";
        is_none(reader, &field, todo)
    });
    let fresh_connections = reader.field(section, "fresh_connections");
    let fresh_connections = fresh_connections.map(|field| fresh::read(reader, &field)).unwrap_or_default();
    let repeat_none = reader.field(section, "repeat").is_some_and(|field| {
        let todo = "write `repeat = \"none\"` to have nothing repeated here, or remove it; nothing upgrades what \
                    the connector's author declared";
        is_none(reader, &field, todo)
    });
    let approvals = reader.field(section, "approvals").and_then(|field| reader.section(&field));
    let approvals = approvals.map(|section| approvals::read(reader, &section)).unwrap_or_default();
    let settings = match reader.field(section, "config") {
        Some(field) => settings::read(reader, &field),
        None => Settings::none(section.place),
    };
    let mut credentials = BTreeMap::new();
    let slots = reader.field(section, "credentials").and_then(|field| reader.section(&field));
    for (slot, field) in slots.map(|slots| reader.named(&slots)).unwrap_or_default() {
        let Some(section) = reader.section(&field) else { continue };
        if let Some(binding) = credential::read(reader, &section, folder) {
            credentials.insert(slot, binding);
        }
    }
    let bounds = reader.field(section, "limits").and_then(|field| reader.section(&field));
    let limits = bounds.map(|bounds| limits::read(reader, &bounds)).unwrap_or_default();
    let retries = reader.field(section, "retries").and_then(|field| reader.section(&field));
    let retries = retries.map(|section| retries::read(reader, &section, retries::REPEATS));
    let following = reader.field(section, "following").and_then(|field| reader.section(&field));
    let following = following.map(|section| retries::read(reader, &section, retries::LOOKS));
    let questions = reader.field(section, "reconciliations").and_then(|field| reader.section(&field));
    let questions = questions.map(|section| retries::read(reader, &section, retries::QUESTIONS).value);
    let questions = questions.unwrap_or(retries::QUESTIONS.defaults);
    let reconciliations = (questions.attempts > 0).then_some(questions);
    let failures = reader.field(section, "failures").and_then(|field| reader.section(&field));
    let failures = failures.map(|section| failures::read(reader, &section)).unwrap_or_default();
    let (name, place) = (name.clone(), section.place);
    let (connector, origins) = (connector?, origins?);
    if declared.is_some() && ssh.is_none() {
        return None;
    }
    Some(ConnectionConfig {
        name,
        place,
        connector,
        origins,
        ssh,
        addresses,
        ca_file,
        pins,
        redirect_origins,
        proxy,
        trusted_hops,
        no_repeating_hops,
        fresh_connections,
        repeat_none,
        approvals,
        settings,
        credentials,
        limits,
        retries,
        failures,
        reconciliations,
        following,
    })
}

fn connector<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<At<Digest>> {
    let todo =
        "write the digest of an approved connector, `sha256:…`, as `proofport connector list` shows it";
    let Some(field) = reader.field(section, "connector") else {
        reader.missing(section, "connector", todo);
        return None;
    };
    match Digest::parse(reader.text(&field)?) {
        Ok(value) => Some(At { value, place: field.place }),
        Err(error) => {
            // A name would let whoever installs a connector of that name change what runs here.
            reader.report(field.place, &field.path, error.to_string(), todo);
            None
        }
    }
}

fn origins<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<Vec<At<Origin>>> {
    let todo = "list every origin that requests may go to: `origins = [\"https://api.example.com\"]`; SSH hosts \
                stand in a table `ssh`";
    let Some(field) = reader.field(section, "origins") else {
        reader.missing(section, "origins", todo);
        return None;
    };
    let elements = reader.elements(&field)?;
    if elements.is_empty() {
        reader.report(field.place, &field.path, "is empty, so nothing may be reached", todo);
        return None;
    }
    let mut origins: Vec<At<Origin>> = Vec::new();
    for element in elements {
        let Some(text) = reader.text(&element) else { continue };
        match Origin::parse(text) {
            Ok(value) if origins.iter().any(|known| known.value == value) => {
                reader.report(element.place, &element.path, "is listed already", "remove one of the two");
            }
            Ok(value) => origins.push(At { value, place: element.place }),
            Err(error) => {
                let todo = "write scheme, host and, if need be, port: `https://api.example.com:8443`";
                reader.report(element.place, &element.path, error.to_string(), todo);
            }
        }
    }
    Some(origins)
}

/// Ranges of addresses that may be dialled beside public ones.
pub(super) fn addresses<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Vec<IpNet> {
    let Some(field) = reader.field(section, "addresses") else { return Vec::new() };
    let Some(elements) = reader.elements(&field) else { return Vec::new() };
    let mut addresses = Vec::new();
    for element in elements {
        let Some(text) = reader.text(&element) else { continue };
        let net = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        let (what, todo) = match net {
            Ok(net) if net.prefix_len() == 0 => {
                ("is the whole internet and every network behind this host", "list what is meant")
            }
            Ok(net) if net.trunc() != net => {
                ("has bits set behind its prefix", "write the range's first address, or the address alone")
            }
            Ok(net) => {
                addresses.push(net);
                continue;
            }
            Err(_) => {
                ("is neither an address nor a range", "write `127.0.0.1`, `10.1.0.0/16` or `fd00::/8`, say")
            }
        };
        reader.report(element.place, &element.path, what, todo);
    }
    addresses
}

fn pins<'a>(reader: &mut Reader<'a>, section: &Section<'a>, origins: &[At<Origin>]) -> Vec<At<Digest>> {
    let todo = "write `sha256:` and the 64 lower-case hexadecimal digits of the certificate's SHA-256";
    let pins =
        list::read(reader, section, "pins", todo, |text| Digest::parse(text).map_err(|e| e.to_string()));
    let plain = origins.iter().any(|origin| origin.value.scheme() == Scheme::Http);
    if plain && let Some(field) = reader.field(section, "pins") {
        let what = "can't hold for a plain http origin, which shows no certificate";
        let todo = "list only https origins here, or remove the pins";
        reader.report(field.key_place, &field.path, what, todo);
    }
    pins
}

fn redirect_origins<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Vec<At<Origin>> {
    let todo = "write an origin that speaks TLS: `https://other.example.com`";
    list::read(reader, section, "redirect_origins", todo, |text| match Origin::parse(text) {
        Ok(origin) if origin.scheme() == Scheme::Https => Ok(origin),
        Ok(_) => Err("is plain http, and an effect is redirected to https only".to_owned()),
        Err(error) => Err(error.to_string()),
    })
}

fn trusted_hops<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Vec<At<Hop>> {
    let todo = "write the name under which the intermediary stands in `Proxy-Status` (RFC 9209), without quotes \
                of the field's own";
    list::read(reader, section, "trusted_hops", todo, |text| Hop::parse(text).map_err(|e| e.to_string()))
}

fn ca_file<'a>(reader: &mut Reader<'a>, field: &Field<'a>, folder: &Path) -> Option<At<PathBuf>> {
    let text = reader.text(field)?;
    if text.is_empty() || text.contains('\0') {
        let todo = "write the path of a PEM file; a relative one begins at this file's folder";
        reader.report(field.place, &field.path, "is not a path", todo);
        return None;
    }
    Some(At { value: folder.join(text), place: field.place })
}

/// Whether it says "none", which is all that it can say.
fn is_none<'a>(reader: &mut Reader<'a>, field: &Field<'a>, todo: &str) -> bool {
    let none = field.value.as_str() == Some("none");
    if !none {
        reader.report(field.place, &field.path, "can only be \"none\"", todo);
    }
    none
}
