//! A connector's credential slot bound to a secret of the vault.

use super::problem::{At, Place};
use super::reader::{Field, Reader, Section};
use proofport_core::contract::InjectionMode;
use proofport_core::exchange::host_owns_header;
use proofport_core::id::Name;
use serde::Serialize;
use std::path::{Path, PathBuf};

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
    /// [`InjectionMode::AwsSigv4`]; the secret is the secret access key.
    AwsSigv4 {
        /// Names the key; not secret.
        access_key_id: String,
        /// The region that is signed for.
        region: String,
        /// The service that is signed for.
        service: String,
    },
    /// [`InjectionMode::TlsClientCertificate`]; the secret is a PEM text with certificates and their key.
    TlsClientCertificate,
    /// [`InjectionMode::SshKey`]; the secret is a private key in OpenSSH's format.
    SshKey {
        /// The secret that decrypts it, if it is encrypted.
        passphrase: Option<Name>,
        /// The file of the user certificate that goes with it (`…-cert.pub`). Not secret.
        certificate: Option<PathBuf>,
    },
    /// [`InjectionMode::SshPassword`].
    SshPassword,
    /// [`InjectionMode::SshKeyboardInteractive`].
    SshKeyboardInteractive,
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
            Self::AwsSigv4 { .. } => InjectionMode::AwsSigv4,
            Self::TlsClientCertificate => InjectionMode::TlsClientCertificate,
            Self::SshKey { .. } => InjectionMode::SshKey,
            Self::SshPassword => InjectionMode::SshPassword,
            Self::SshKeyboardInteractive => InjectionMode::SshKeyboardInteractive,
        }
    }
}

/// The modes that can be carried out, for advice.
const USABLE: &str = "http_bearer, http_basic, http_header, http_query, aws_sigv4, tls_client_certificate, \
                      ssh_key, ssh_password or ssh_keyboard_interactive";

/// The keys that belong to one mode or another.
const COMPANIONS: [&str; 8] =
    ["user", "header", "query", "access_key_id", "region", "service", "passphrase", "certificate"];

/// Those that belong to a login over SSH.
pub(super) const SSH_COMPANIONS: [&str; 2] = ["passphrase", "certificate"];

/// Whether a secret in this mode logs in over SSH.
pub(crate) const fn is_ssh(mode: InjectionMode) -> bool {
    match mode {
        InjectionMode::SshKey | InjectionMode::SshPassword | InjectionMode::SshKeyboardInteractive => true,
        InjectionMode::HttpBearer
        | InjectionMode::HttpBasic
        | InjectionMode::HttpHeader
        | InjectionMode::HttpQuery
        | InjectionMode::AwsSigv4
        | InjectionMode::TlsClientCertificate => false,
    }
}

/// Reads one binding; none if anything in it is wrong.
pub(super) fn read<'a>(reader: &mut Reader<'a>, section: &Section<'a>, folder: &Path) -> Option<Binding> {
    reader.only(section, &[&["secret", "mode"][..], &COMPANIONS].concat());
    bound(reader, section, folder)
}

/// The same in a section that has other keys, too.
pub(super) fn bound<'a>(reader: &mut Reader<'a>, section: &Section<'a>, folder: &Path) -> Option<Binding> {
    let secret = secret(reader, section);
    let placement = placement(reader, section, folder);
    Some(Binding { place: section.place, secret: secret?, placement: placement? })
}

/// The secret's name. It must be there.
pub(super) fn secret<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<At<Name>> {
    let Some(field) = reader.field(section, "secret") else {
        reader.missing(section, "secret", "write the name of a secret of the vault: `secret = \"NAME\"`");
        return None;
    };
    name_of(reader, &field)
}

/// The name of a secret.
fn name_of<'a>(reader: &mut Reader<'a>, field: &Field<'a>) -> Option<At<Name>> {
    match Name::parse(reader.text(field)?) {
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

fn placement<'a>(reader: &mut Reader<'a>, section: &Section<'a>, folder: &Path) -> Option<At<Placement>> {
    let Some(field) = reader.field(section, "mode") else {
        reader.missing(section, "mode", format!("write how the secret is attached: {USABLE}"));
        return None;
    };
    let place = field.place;
    let Some(mode) = InjectionMode::parse(reader.text(&field)?) else {
        reader.report(place, &field.path, "is not an injection mode", format!("write {USABLE}"));
        return None;
    };
    let companions: &[&str] = match mode {
        InjectionMode::HttpBearer | InjectionMode::TlsClientCertificate => &[],
        InjectionMode::HttpBasic => &["user"],
        InjectionMode::HttpHeader => &["header"],
        InjectionMode::HttpQuery => &["query"],
        InjectionMode::AwsSigv4 => &["access_key_id", "region", "service"],
        InjectionMode::SshKey => &SSH_COMPANIONS,
        InjectionMode::SshPassword | InjectionMode::SshKeyboardInteractive => &[],
    };
    let mut stray = false;
    for key in COMPANIONS.into_iter().filter(|key| !companions.contains(key)) {
        if let Some(extra) = reader.field(section, key) {
            let todo = "remove it, or choose the mode that it belongs to";
            reader.report(extra.key_place, &extra.path, format!("has no meaning with the mode {mode}"), todo);
            stray = true;
        }
    }
    let mut named = |key: &str, read: Read| companion(reader, section, key, mode, read);
    let value = match mode {
        InjectionMode::HttpBearer => Some(Placement::HttpBearer),
        InjectionMode::HttpBasic => named("user", user).map(|user| Placement::HttpBasic { user }),
        InjectionMode::HttpHeader => named("header", header).map(|header| Placement::HttpHeader { header }),
        InjectionMode::HttpQuery => named("query", query).map(|query| Placement::HttpQuery { query }),
        InjectionMode::AwsSigv4 => {
            // All are read, so that no problem hides another.
            let access_key_id = named("access_key_id", access_key_id);
            let (region, service) = (named("region", region), named("service", service));
            match (access_key_id, region, service) {
                (Some(access_key_id), Some(region), Some(service)) => {
                    Some(Placement::AwsSigv4 { access_key_id, region, service })
                }
                (_, _, _) => None,
            }
        }
        InjectionMode::TlsClientCertificate => Some(Placement::TlsClientCertificate),
        InjectionMode::SshKey => ssh_key(reader, section, folder),
        InjectionMode::SshPassword => Some(Placement::SshPassword),
        InjectionMode::SshKeyboardInteractive => Some(Placement::SshKeyboardInteractive),
    };
    value.filter(|_| !stray).map(|value| At { value, place })
}

/// A key may go without either.
fn ssh_key<'a>(reader: &mut Reader<'a>, section: &Section<'a>, folder: &Path) -> Option<Placement> {
    let passphrase = match reader.field(section, "passphrase") {
        None => None,
        Some(field) => Some(name_of(reader, &field)?.value),
    };
    let certificate = match reader.field(section, "certificate") {
        None => None,
        Some(field) => {
            let text = reader.text(&field)?;
            if text.is_empty() || text.contains('\0') {
                let todo =
                    "write the path of a `…-cert.pub` file; a relative one begins at this file's folder";
                reader.report(field.place, &field.path, "is not a path", todo);
                return None;
            }
            Some(folder.join(text))
        }
    };
    Some(Placement::SshKey { passphrase, certificate })
}

/// Reads the text of one key, reporting what is wrong with it.
type Read = fn(&mut Reader<'_>, &Field<'_>, &str) -> Option<String>;

/// A text that a mode needs beside the secret.
fn companion<'a>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    key: &str,
    mode: InjectionMode,
    read: Read,
) -> Option<String> {
    let Some(field) = reader.field(section, key) else {
        reader.missing(section, key, format!("add `{key} = \"…\"`, which the mode {mode} needs"));
        return None;
    };
    let text = reader.text(&field)?;
    read(reader, &field, text)
}

/// A user name of HTTP Basic.
pub(super) fn user(reader: &mut Reader<'_>, field: &Field<'_>, text: &str) -> Option<String> {
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
    Some(text.to_owned())
}

fn header(reader: &mut Reader<'_>, field: &Field<'_>, text: &str) -> Option<String> {
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
    Some(header)
}

fn query(reader: &mut Reader<'_>, field: &Field<'_>, text: &str) -> Option<String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~[]".contains(&b);
    if text.is_empty() || text.len() > 64 || !text.bytes().all(plain) {
        let what = "is not the name of a query parameter";
        reader.report(field.place, &field.path, what, "write the name alone: letters, digits, `-._~[]`");
        return None;
    }
    Some(text.to_owned())
}

fn access_key_id(reader: &mut Reader<'_>, field: &Field<'_>, text: &str) -> Option<String> {
    // A secret access key in its place is a likely mistake, so it is not repeated, and most have a `/`
    // or a `+`, which an id has not.
    let what = "is not an AWS access key id";
    let todo = "write the id alone, such as `AKIA…`: letters, digits, `-`, `_` and `.`; the secret access key \
                belongs into the vault";
    word(reader, field, text, what, todo)
}

fn region(reader: &mut Reader<'_>, field: &Field<'_>, text: &str) -> Option<String> {
    let todo = "write the region that the service documents, such as `eu-central-1`";
    word(reader, field, text, "is not the name of an AWS region", todo)
}

fn service(reader: &mut Reader<'_>, field: &Field<'_>, text: &str) -> Option<String> {
    let todo = "write the service's name in signatures, such as `s3`, `dynamodb` or `execute-api`";
    word(reader, field, text, "is not the name of an AWS service", todo)
}

/// A part of an AWS credential scope, as [`Injection::SigV4`] takes it.
fn word(reader: &mut Reader<'_>, field: &Field<'_>, text: &str, what: &str, todo: &str) -> Option<String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if text.is_empty() || text.len() > 128 || !text.bytes().all(plain) {
        reader.report(field.place, &field.path, what, todo);
        return None;
    }
    Some(text.to_owned())
}
