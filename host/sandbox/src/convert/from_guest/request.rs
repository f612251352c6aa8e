//! Requests: what a guest may ask to be sent, and where.

use super::header;
use crate::connector::Rules;
use crate::fault::Breach;
use crate::world::proofport::connector::types as wit;
use proofport_core::contract::{KeyPlace, Repeat};
use proofport_core::exchange::{Header, HttpRequest, Request, SshCommand, SshRequest, host_owns_header};
use proofport_core::id::Name;
use proofport_core::manifest::Operation;
use proofport_core::origin::{Origin, OriginForm};

/// The most header fields of one request.
const MOST_HEADERS: usize = 64;

/// The most arguments or variables of one command, and the longest of them in bytes.
const MOST_ARGUMENTS: usize = 1024;
const LONGEST_ARGUMENT: usize = 64 << 10;

pub(super) fn request(
    request: wit::Request,
    operation: &Operation,
    rules: &Rules,
) -> Result<Request, Breach> {
    match request {
        wit::Request::Http(http) => Ok(Request::Http(self::http(http, operation, rules)?)),
        wit::Request::Ssh(ssh) => Ok(Request::Ssh(self::ssh(ssh, operation, rules)?)),
    }
}

fn http(http: wit::HttpRequest, operation: &Operation, rules: &Rules) -> Result<HttpRequest, Breach> {
    if !is_method(&http.method) {
        return Err(Breach::InvalidMethod);
    }
    Ok(HttpRequest {
        origin: origin(http.origin.as_deref(), &rules.origins)?,
        method: http.method,
        path: OriginForm::parse(&http.path).map_err(|_| Breach::InvalidPath)?,
        headers: headers(http.headers, operation)?,
        body: http.body,
        credential: slot(http.credential.as_deref(), rules)?,
    })
}

/// Whether a method may be sent: an upper-case token, but not one that asks for a tunnel or for the
/// request, credential included, to be sent back (RFC 9110 sections 9.3.6 and 9.3.8).
pub(super) fn is_method(text: &str) -> bool {
    let upper = |b: u8| b.is_ascii_uppercase() || b == b'-';
    let token = !text.is_empty() && text.len() <= 32 && text.bytes().all(upper) && !text.starts_with('-');
    token && !matches!(text, "CONNECT" | "TRACE")
}

fn origin(text: Option<&str>, listed: &[Origin]) -> Result<Origin, Breach> {
    let found = match text {
        None => listed.first(),
        Some(text) => {
            let origin = Origin::parse(text).map_err(|_| Breach::UnlistedOrigin)?;
            listed.iter().find(|candidate| **candidate == origin)
        }
    };
    found.cloned().ok_or(Breach::UnlistedOrigin)
}

fn headers(headers: Vec<wit::Header>, operation: &Operation) -> Result<Vec<Header>, Breach> {
    if headers.len() > MOST_HEADERS {
        return Err(Breach::InvalidHeader);
    }
    let host_key = host_key_header(&operation.contract.repeat);
    headers
        .into_iter()
        .map(|field| {
            let name = header::name(&field.name).ok_or(Breach::InvalidHeader)?;
            let is_key = host_key.is_some_and(|key| name == key || name == "idempotency-key");
            if host_owns_header(&name) || is_key {
                return Err(Breach::HostOwnedHeader);
            }
            if !header::is_value(&field.value) {
                return Err(Breach::InvalidHeader);
            }
            Ok(Header { name, value: field.value })
        })
        .collect()
}

/// The header in which the host itself sends the idempotency key.
fn host_key_header(repeat: &Repeat) -> Option<&str> {
    match repeat {
        Repeat::Keyed(keyed) => match &keyed.place {
            KeyPlace::Header(name) => Some(name),
            KeyPlace::Connector => None,
        },
        Repeat::None | Repeat::Idempotent | Repeat::Conditional => None,
    }
}

fn slot(text: Option<&str>, rules: &Rules) -> Result<Option<Name>, Breach> {
    let Some(text) = text else { return Ok(None) };
    let name = Name::parse(text).map_err(|_| Breach::UnknownSlot)?;
    match rules.manifest.slot(&name) {
        Some(_) => Ok(Some(name)),
        None => Err(Breach::UnknownSlot),
    }
}

fn ssh(ssh: wit::SshRequest, operation: &Operation, rules: &Rules) -> Result<SshRequest, Breach> {
    let host = match ssh.host {
        None => rules.ssh_hosts.first().cloned(),
        Some(host) => rules.ssh_hosts.iter().find(|listed| **listed == host).cloned(),
    };
    let command = match ssh.command {
        wit::SshCommand::Argv(argv) => argv_command(argv)?,
        wit::SshCommand::Raw(raw) => {
            // Two keys: the author's, which the review shows, and the admin's.
            if !(rules.raw_commands && operation.raw_commands) {
                return Err(Breach::RawCommand);
            }
            if raw.trim().is_empty() || !is_argument(&raw) {
                return Err(Breach::InvalidCommand);
            }
            SshCommand::Raw(raw)
        }
    };
    let variable = |(name, value): &(String, String)| is_variable(name) && is_argument(value);
    if ssh.environment.len() > MOST_ARGUMENTS || !ssh.environment.iter().all(variable) {
        return Err(Breach::InvalidCommand);
    }
    Ok(SshRequest {
        host: Some(host.ok_or(Breach::UnlistedHost)?),
        command,
        environment: ssh.environment,
        stdin: ssh.stdin,
        credential: slot(ssh.credential.as_deref(), rules)?,
    })
}

fn argv_command(argv: Vec<String>) -> Result<SshCommand, Breach> {
    let program = argv.first().is_some_and(|program| !program.is_empty());
    if program && argv.len() <= MOST_ARGUMENTS && argv.iter().all(|argument| is_argument(argument)) {
        Ok(SshCommand::Argv(argv))
    } else {
        Err(Breach::InvalidCommand)
    }
}

/// A NUL ends an argument on the other side, whatever stands behind it.
fn is_argument(text: &str) -> bool {
    text.len() <= LONGEST_ARGUMENT && !text.contains('\0')
}

fn is_variable(name: &str) -> bool {
    let starts = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    starts && name.len() <= 256 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
