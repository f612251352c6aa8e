//! The proxy through which a connection reaches its origins.

use super::connection::addresses;
use super::credential;
use super::problem::{At, Place};
use super::reader::{Field, Reader, Section};
use ipnet::IpNet;
use proofport_core::contract::InjectionMode;
use proofport_core::id::Name;
use proofport_core::origin::{Host, Origin, Scheme};
use proofport_egress::AddressPolicy;
use serde::Serialize;

/// An HTTP proxy between this host and a connection's origins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyConfig {
    /// Where it is declared.
    pub place: Place,
    /// Where it listens; plain HTTP.
    pub origin: At<Origin>,
    /// Who turns the origins' names into addresses. `host` unless set.
    pub resolve: Resolve,
    /// Ranges in which the proxy itself may be, beside public addresses; its own address, where
    /// `url` is one.
    pub addresses: Vec<IpNet>,
    /// What it wants to know before it opens anything.
    pub credential: Option<ProxyCredential>,
}

/// Who turns an origin's name into an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolve {
    /// This host, which checks the address and has the proxy open a tunnel to it.
    Host,
    /// The proxy. The connection's `addresses` are not enforced then: this host never sees one.
    Proxy,
}

/// Basic credentials for the proxy (RFC 9110 section 11.7.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyCredential {
    /// The user name; not secret.
    pub user: String,
    /// The name of the password in the vault.
    pub secret: At<Name>,
}

impl ProxyCredential {
    /// The mode that the secret must permit.
    pub const MODE: InjectionMode = InjectionMode::HttpBasic;
}

impl ProxyConfig {
    /// Which addresses the proxy may have.
    #[must_use]
    pub fn address_policy(&self) -> AddressPolicy {
        AddressPolicy::new(self.addresses.clone())
    }

    /// Whether what goes to the proxy stays on this host.
    #[must_use]
    pub fn is_on_this_host(&self) -> bool {
        match self.origin.value.host() {
            Host::Address(address) => address.is_loopback(),
            Host::Name(_) => false,
        }
    }
}

const KEYS: [&str; 5] = ["url", "resolve", "addresses", "secret", "user"];

/// Reads the section for a connection with these origins; none if something in it is wrong that the
/// proxy can't be without.
pub(super) fn read<'a>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    origins: &[At<Origin>],
) -> Option<ProxyConfig> {
    reader.only(section, &KEYS);
    let origin = url(reader, section);
    let resolve = resolve(reader, section, origins);
    let mut addresses = addresses(reader, section);
    let named = reader.field(section, "secret").is_some() || reader.field(section, "user").is_some();
    let credential = if named { credential(reader, section) } else { None };
    let origin = origin?;
    if let Host::Address(address) = origin.value.host() {
        addresses.push(IpNet::from(*address));
    }
    Some(ProxyConfig { place: section.place, origin, resolve, addresses, credential })
}

fn url<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<At<Origin>> {
    let todo = "write `url = \"http://host:port\"`; a user name and a secret have keys of their own";
    let Some(field) = reader.field(section, "url") else {
        reader.missing(section, "url", todo);
        return None;
    };
    let text = reader.text(&field)?;
    let (what, todo) = match Origin::parse(text) {
        Err(error) => (error.to_string(), todo),
        Ok(origin) if origin.scheme() == Scheme::Https => (
            "asks for TLS with the proxy itself, which this version can't do".to_owned(),
            "write the proxy's `http://host:port`; what goes to an https origin is encrypted all the way through it",
        ),
        Ok(origin) if !text.ends_with(&format!(":{}", origin.port())) => (
            "names no port, and proxies have no usual one".to_owned(),
            "add the port: `http://host:3128`, say",
        ),
        Ok(value) => return Some(At { value, place: field.place }),
    };
    reader.report(field.place, &field.path, what, todo);
    None
}

/// Who resolves; the default where it is wrong, since that is reported.
fn resolve<'a>(reader: &mut Reader<'a>, section: &Section<'a>, origins: &[At<Origin>]) -> Resolve {
    let field = reader.field(section, "resolve");
    let resolve = match &field {
        None => Resolve::Host,
        Some(field) => match word(reader, field) {
            Some(resolve) => resolve,
            None => return Resolve::Host,
        },
    };
    let plain = origins.iter().any(|origin| origin.value.scheme() == Scheme::Http);
    if resolve == Resolve::Host && plain {
        let (place, path) = match field {
            Some(field) => (field.place, field.path),
            None => (section.place, format!("{}.resolve", section.path)),
        };
        reader.report(
            place,
            &path,
            "can't be \"host\" while an origin is plain http: a proxy resolves such an origin's name itself",
            "write `resolve = \"proxy\"` if the proxy may choose the addresses, or list only https origins here",
        );
    }
    resolve
}

fn word<'a>(reader: &mut Reader<'a>, field: &Field<'a>) -> Option<Resolve> {
    match reader.text(field)? {
        "host" => Some(Resolve::Host),
        "proxy" => Some(Resolve::Proxy),
        _ => {
            let todo = "write \"host\", so that this host checks every address, or \"proxy\"";
            reader.report(field.place, &field.path, "is neither \"host\" nor \"proxy\"", todo);
            None
        }
    }
}

fn credential<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<ProxyCredential> {
    let secret = credential::secret(reader, section);
    let user = match reader.field(section, "user") {
        None => {
            reader.missing(section, "user", "add `user = \"…\"`, which belongs to the secret");
            None
        }
        Some(field) => {
            let text = reader.text(&field)?;
            credential::user(reader, &field, text)
        }
    };
    Some(ProxyCredential { user: user?, secret: secret? })
}
