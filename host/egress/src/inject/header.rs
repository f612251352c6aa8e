//! A secret in a header: `Authorization: Bearer` and `Basic`, and headers of a service's own.

use super::{Attachment, InvalidInjection};
use data_encoding::BASE64;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use proofport_core::exchange::host_owns_header;
use proofport_core::secret::Secret;
use zeroize::Zeroizing;

pub(super) fn bearer(secret: &Secret) -> Result<Attachment, InvalidInjection> {
    if !secret.expose().iter().all(u8::is_ascii_graphic) {
        return Err(InvalidInjection::Bytes);
    }
    attached(AUTHORIZATION, &Zeroizing::new([b"Bearer ", secret.expose()].concat()))
}

pub(super) fn basic(user: &str, password: &Secret) -> Result<Attachment, InvalidInjection> {
    Ok(Attachment::Header { name: AUTHORIZATION, value: basic_value(user, password)? })
}

/// The value of a field that carries HTTP Basic credentials (RFC 7617), marked as sensitive.
///
/// # Errors
/// When the user name or a byte of the password may not stand in it.
pub(crate) fn basic_value(user: &str, password: &Secret) -> Result<HeaderValue, InvalidInjection> {
    let control = |b: &u8| b.is_ascii_control();
    if user.contains(':') || user.bytes().any(|b| control(&b)) {
        return Err(InvalidInjection::User);
    }
    if password.expose().iter().any(control) {
        return Err(InvalidInjection::Bytes);
    }
    sensitive(&Zeroizing::new([b"Basic ", basic_token(user, password).expose()].concat()))
}

/// What stands after `Basic `; whoever has it has the password.
pub(super) fn basic_token(user: &str, password: &Secret) -> Secret {
    let pair = Zeroizing::new([user.as_bytes(), b":", password.expose()].concat());
    Secret::new(BASE64.encode(&pair).into_bytes())
}

pub(super) fn named(name: &str, secret: &Secret) -> Result<Attachment, InvalidInjection> {
    let lower = name.to_ascii_lowercase();
    // A connector may not set `authorization`; an admin may choose it as the place.
    if host_owns_header(&lower) && lower != "authorization" && lower != "cookie" {
        return Err(InvalidInjection::Name);
    }
    let name = HeaderName::from_bytes(lower.as_bytes()).map_err(|_| InvalidInjection::Name)?;
    let bytes = secret.expose();
    let inside = |b: &u8| b.is_ascii_graphic() || *b == b' ' || *b == b'\t';
    let trimmed = bytes.trim_ascii().len() == bytes.len();
    if !trimmed || !bytes.iter().all(inside) {
        return Err(InvalidInjection::Bytes);
    }
    attached(name, bytes)
}

fn attached(name: HeaderName, value: &[u8]) -> Result<Attachment, InvalidInjection> {
    Ok(Attachment::Header { name, value: sensitive(value)? })
}

fn sensitive(value: &[u8]) -> Result<HeaderValue, InvalidInjection> {
    let mut value = HeaderValue::from_bytes(value).map_err(|_| InvalidInjection::Bytes)?;
    value.set_sensitive(true);
    Ok(value)
}
