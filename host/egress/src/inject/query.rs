//! A secret in a query parameter.

use super::{Attachment, InvalidInjection};
use proofport_core::secret::Secret;
use std::fmt::Write as _;
use zeroize::Zeroizing;

pub(super) fn parameter(name: &str, secret: &Secret) -> Result<Attachment, InvalidInjection> {
    if name.is_empty() {
        return Err(InvalidInjection::Name);
    }
    let mut pair = Zeroizing::new(String::new());
    percent_encode(name.as_bytes(), b"", &mut pair);
    pair.push('=');
    percent_encode(secret.expose(), b"", &mut pair);
    Ok(Attachment::Query { name: name.to_owned(), pair })
}

/// Everything but unreserved characters (RFC 3986 section 2.3) and those in `kept` as `%XX`.
pub(super) fn percent_encode(bytes: &[u8], kept: &[u8], out: &mut String) {
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) || kept.contains(byte) {
            out.push(char::from(*byte));
        } else {
            // Writing to a `String` can't fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}
