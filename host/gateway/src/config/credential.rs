//! A connector's credential slot bound to a secret of the vault.

use super::problem::{At, Place};
use super::reader::{Field, Reader, Section};
use proofport_core::contract::InjectionMode;
use proofport_core::exchange::host_owns_header;
use proofport_core::id::Name;
use proofport_core::secret::Secret;
use proofport_egress::Injection;
use serde::Serialize;

/// One slot's secret, and how it is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Where the slot is bound.
    pub place: Place,
    /// The name of the secret in the vault.
    pub secret: At<Name>,
    /// How it is attached.
    pub placement: At<Placement>,
}

/// How a secret is attached to a request, without the secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Placement {
    /// [`InjectionMode::HttpBearer`].
    HttpBearer,
    /// [`InjectionMode::HttpBasic`]; the secret is the password.
    HttpBasic {
        /// The user name; not secret.
        user: String,
    },
    /// [`InjectionMode::HttpHeader`]; the secret is the whole value.
    HttpHeader {
        /// The field's name in lower case.
        header: String,
    },
    /// [`InjectionMode::HttpQuery`].
    HttpQuery {
        /// The parameter's name.
        query: String,
    },
}

impl Placement {
    /// The mode that slot and secret must permit.
    #[must_use]
    pub const fn mode(&self) -> InjectionMode {
        match self {
            Self::HttpBearer => InjectionMode::HttpBearer,
            Self::HttpBasic { .. } => InjectionMode::HttpBasic,
            Self::HttpHeader { .. } => InjectionMode::HttpHeader,
            Self::HttpQuery { .. } => InjectionMode::HttpQuery,
        }
    }

    /// The injection of this secret.
    #[must_use]
    pub fn injection(&self, secret: Secret) -> Injection {
        match self {
            Self::HttpBearer => Injection::Bearer(secret),
            Self::HttpBasic { user } => Injection::Basic { user: user.clone(), password: secret },
            Self::HttpHeader { header } => Injection::Header { name: header.clone(), secret },
            Self::HttpQuery { query } => Injection::Query { name: query.clone(), secret },
        }
    }
}

/// The modes that can be carried out, for advice.
const USABLE: &str = "http_bearer, http_basic, http_header or http_query";

/// Reads one binding; none if anything in it is wrong.
pub(super) fn read<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<Binding> {
    reader.only(section, &["secret", "mode", "user", "header", "query"]);
    let secret = secret(reader, section);
    let placement = placement(reader, section);
    Some(Binding { place: section.place, secret: secret?, placement: placement? })
}

fn secret<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<At<Name>> {
    let Some(field) = reader.field(section, "secret") else {
        reader.missing(section, "secret", "write the name of a secret of the vault: `secret = \"NAME\"`");
        return None;
    };
    match Name::parse(reader.text(&field)?) {
        Ok(value) => Some(At { value, place: field.place }),
        Err(_) => {
            // The usual mistake is the secret itself, so the advice is about that.
            let what = "is not the name of a secret";
            let todo = "never write a secret here: store it with `proofport secret set NAME` and write that name \
                        (lower-case letters, digits, `-` and `_`)";
            reader.report(field.place, &field.path, what, todo);
            None
        }
    }
}

fn placement<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<At<Placement>> {
    let Some(field) = reader.field(section, "mode") else {
        reader.missing(section, "mode", format!("write how the secret is attached: {USABLE}"));
        return None;
    };
    let place = field.place;
    let Some(mode) = InjectionMode::parse(reader.text(&field)?) else {
        reader.report(place, &field.path, "is not an injection mode", format!("write {USABLE}"));
        return None;
    };
    let companion = match mode {
        InjectionMode::HttpBearer => None,
        InjectionMode::HttpBasic => Some("user"),
        InjectionMode::HttpHeader => Some("header"),
        InjectionMode::HttpQuery => Some("query"),
        InjectionMode::AwsSigv4
        | InjectionMode::TlsClientCertificate
        | InjectionMode::SshKey
        | InjectionMode::SshPassword
        | InjectionMode::SshKeyboardInteractive => {
            let what = format!("names the mode {mode}, which this version can't carry out");
            reader.report(place, &field.path, what, format!("write {USABLE}"));
            return None;
        }
    };
    let mut stray = false;
    for key in ["user", "header", "query"] {
        if let Some(extra) = reader.field(section, key).filter(|_| companion != Some(key)) {
            let todo = "remove it, or choose the mode that it belongs to";
            reader.report(extra.key_place, &extra.path, format!("has no meaning with the mode {mode}"), todo);
            stray = true;
        }
    }
    let value = match companion {
        None => Some(Placement::HttpBearer),
        Some(key) => named(reader, section, key, mode),
    };
    value.filter(|_| !stray).map(|value| At { value, place })
}

/// The placement of a mode that needs a name beside the secret.
fn named<'a>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    key: &str,
    mode: InjectionMode,
) -> Option<Placement> {
    let Some(field) = reader.field(section, key) else {
        reader.missing(section, key, format!("add `{key} = \"…\"`, which the mode {mode} needs"));
        return None;
    };
    let text = reader.text(&field)?;
    match key {
        "user" => user(reader, &field, text),
        "header" => header(reader, &field, text),
        _ => query(reader, &field, text),
    }
}

fn user(reader: &mut Reader<'_>, field: &Field<'_>, text: &str) -> Option<Placement> {
    if text.contains(':') || text.bytes().any(|b| b.is_ascii_control()) || text.len() > 256 {
        let what = "is not a user name of HTTP Basic (RFC 7617)";
        reader.report(
            field.place,
            &field.path,
            what,
            "leave out colons and control characters, and stay under 256 bytes",
        );
        return None;
    }
    Some(Placement::HttpBasic { user: text.to_owned() })
}

fn header(reader: &mut Reader<'_>, field: &Field<'_>, text: &str) -> Option<Placement> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if text.is_empty() || text.len() > 64 || !text.bytes().all(token) {
        let what = "is not the name of a header (RFC 9110 section 5.1)";
        reader.report(field.place, &field.path, what, "write the name alone, without colon or value");
        return None;
    }
    let header = text.to_ascii_lowercase();
    // The two that carry credentials are the admin's to choose; the others frame or route a request,
    // or are written by the host for reasons of its own.
    let carries = matches!(header.as_str(), "authorization" | "cookie");
    let written = matches!(
        header.as_str(),
        "accept-encoding" | "content-encoding" | "content-type" | "idempotency-key" | "user-agent" | "range"
    );
    if (host_owns_header(&header) && !carries) || written {
        let what = "names a header that can't carry a credential";
        reader.report(
            field.place,
            &field.path,
            what,
            "write the header that the service documents for its key",
        );
        return None;
    }
    Some(Placement::HttpHeader { header })
}

fn query(reader: &mut Reader<'_>, field: &Field<'_>, text: &str) -> Option<Placement> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~[]".contains(&b);
    if text.is_empty() || text.len() > 64 || !text.bytes().all(plain) {
        let what = "is not the name of a query parameter";
        reader.report(field.place, &field.path, what, "write the name alone: letters, digits, `-._~[]`");
        return None;
    }
    Some(Placement::HttpQuery { query: text.to_owned() })
}
