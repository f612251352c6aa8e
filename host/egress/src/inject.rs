//! Attaching a secret to a request. A connector never sees it; nothing here can print it.

use crate::guard::{Guard, TooManyShapes};
use data_encoding::BASE64;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use proofport_core::exchange::host_owns_header;
use proofport_core::secret::{SHORTEST_SECRET, Secret};
use std::fmt::Write as _;
use std::sync::Arc;
use zeroize::Zeroizing;

/// How a secret is attached, and the secret. It has no `Debug`.
pub enum Injection {
    /// `Authorization: Bearer` (RFC 6750).
    Bearer(Secret),
    /// `Authorization: Basic` (RFC 7617).
    Basic {
        /// The user name; not secret.
        user: String,
        /// The password.
        password: Secret,
    },
    /// A header.
    Header {
        /// The field's name, in any case.
        name: String,
        /// The field's value.
        secret: Secret,
    },
    /// A query parameter.
    Query {
        /// The parameter's name, not encoded.
        name: String,
        /// The parameter's value, not encoded.
        secret: Secret,
    },
}

impl Injection {
    /// Whether the secret may stand in its place.
    ///
    /// # Errors
    /// When a byte of it, or of the name beside it, may not. The value is not repeated.
    pub fn check(&self) -> Result<(), InvalidInjection> {
        self.attachment().map(|_| ())
    }

    /// What goes into the request.
    fn attachment(&self) -> Result<Attachment, InvalidInjection> {
        let (Self::Bearer(secret)
        | Self::Basic { password: secret, .. }
        | Self::Header { secret, .. }
        | Self::Query { secret, .. }) = self;
        if secret.expose().len() < SHORTEST_SECRET {
            return Err(InvalidInjection::TooShort);
        }
        match self {
            Self::Bearer(secret) => {
                if !secret.expose().iter().all(u8::is_ascii_graphic) {
                    return Err(InvalidInjection::Bytes);
                }
                header(AUTHORIZATION, &Zeroizing::new([b"Bearer ", secret.expose()].concat()))
            }
            Self::Basic { user, password } => {
                let control = |b: &u8| b.is_ascii_control();
                if user.contains(':') || user.bytes().any(|b| control(&b)) {
                    return Err(InvalidInjection::User);
                }
                if password.expose().iter().any(control) {
                    return Err(InvalidInjection::Bytes);
                }
                header(
                    AUTHORIZATION,
                    &Zeroizing::new([b"Basic ", basic_token(user, password).expose()].concat()),
                )
            }
            Self::Header { name, secret } => {
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
                header(name, bytes)
            }
            Self::Query { name, secret } => {
                if name.is_empty() {
                    return Err(InvalidInjection::Name);
                }
                let mut pair = Zeroizing::new(String::new());
                percent_encode(name.as_bytes(), &mut pair);
                pair.push('=');
                percent_encode(secret.expose(), &mut pair);
                Ok(Attachment::Query { name: name.clone(), pair })
            }
        }
    }

    /// The values that a remote could reflect.
    fn guard(&self) -> Result<Guard, TooManyShapes> {
        match self {
            Self::Bearer(secret) | Self::Header { secret, .. } | Self::Query { secret, .. } => {
                Guard::new(&[secret])
            }
            Self::Basic { user, password } => Guard::new(&[password, &basic_token(user, password)]),
        }
    }
}

fn basic_token(user: &str, password: &Secret) -> Secret {
    let pair = Zeroizing::new([user.as_bytes(), b":", password.expose()].concat());
    Secret::new(BASE64.encode(&pair).into_bytes())
}

fn header(name: HeaderName, value: &[u8]) -> Result<Attachment, InvalidInjection> {
    let mut value = HeaderValue::from_bytes(value).map_err(|_| InvalidInjection::Bytes)?;
    value.set_sensitive(true);
    Ok(Attachment::Header { name, value })
}

/// Everything but unreserved characters (RFC 3986 section 2.3) as `%XX`.
fn percent_encode(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            out.push(char::from(*byte));
        } else {
            // Writing to a `String` can't fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// A checked injection, ready for any number of requests, with the guard that recognises it. It has
/// no `Debug`.
pub struct Credential {
    pub(crate) attachment: Attachment,
    guard: Arc<Guard>,
}

/// The secret in the form in which it goes onto the wire.
pub(crate) enum Attachment {
    /// A field.
    Header {
        /// Its name.
        name: HeaderName,
        /// Its value, marked as sensitive.
        value: HeaderValue,
    },
    /// A query parameter.
    Query {
        /// Its name, not encoded.
        name: String,
        /// `name=value`, encoded.
        pair: Zeroizing<String>,
    },
}

impl Credential {
    /// Checks the injection and builds its guard.
    ///
    /// # Errors
    /// As [`Injection::check`].
    pub fn new(injection: &Injection) -> Result<Self, InvalidInjection> {
        let attachment = injection.attachment()?;
        let guard = injection.guard().map_err(|_| InvalidInjection::TooLong)?;
        Ok(Self { attachment, guard: Arc::new(guard) })
    }

    /// What recognises this credential in answers.
    #[must_use]
    pub fn guard(&self) -> Arc<Guard> {
        Arc::clone(&self.guard)
    }
}

/// Why a secret may not stand in its place. The value is never repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInjection {
    /// Shorter than [`SHORTEST_SECRET`].
    #[error("the secret is shorter than {SHORTEST_SECRET} bytes, too short to be recognised in answers")]
    TooShort,
    /// Too long to be recognised in answers.
    #[error("the secret is too long to be recognised in answers")]
    TooLong,
    /// A byte of the secret is not allowed where it is to stand.
    #[error("the secret has a byte that may not stand where it is to be attached (a line end, perhaps)")]
    Bytes,
    /// The user name of HTTP Basic has a colon or a control character.
    #[error("the user name of HTTP Basic has a colon or a control character")]
    User,
    /// The header's or parameter's name can't be used.
    #[error("the header or query parameter's name is empty, malformed or reserved for the host")]
    Name,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text.as_bytes().to_vec())
    }

    fn check(injection: &Injection, expected: Result<&str, InvalidInjection>) {
        let got = Credential::new(injection).map(|credential| match credential.attachment {
            Attachment::Header { name, value } => {
                assert!(value.is_sensitive());
                assert!(!format!("{value:?}").contains("canary"));
                format!("{name}: {}", value.to_str().unwrap())
            }
            Attachment::Query { pair, .. } => pair.to_string(),
        });
        assert_eq!(got.as_deref(), expected.as_ref().map(|text| &**text));
        assert_eq!(injection.check(), expected.map(|_| ()));
    }

    fn named(name: &str, value: &str) -> Injection {
        Injection::Header { name: name.to_owned(), secret: secret(value) }
    }

    fn query(name: &str, value: &str) -> Injection {
        Injection::Query { name: name.to_owned(), secret: secret(value) }
    }

    fn basic(user: &str, password: &str) -> Injection {
        Injection::Basic { user: user.to_owned(), password: secret(password) }
    }

    #[test]
    fn secrets_are_attached_or_refused_before_anything_is_sent() {
        use InvalidInjection::{Bytes, Name, TooShort, User};
        check(&Injection::Bearer(secret("canary-1")), Ok("authorization: Bearer canary-1"));
        check(&Injection::Bearer(secret("canary-")), Err(TooShort));
        for bad in ["canary-1\n", "canary 12", "canary-é1", "canary\r\nX: y"] {
            check(&Injection::Bearer(secret(bad)), Err(Bytes));
        }
        check(&basic("Aladdin", "open sesame"), Ok("authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
        check(&basic("", "canary-é"), Ok("authorization: Basic OmNhbmFyeS3DqQ=="));
        check(&basic("a:b", "canary-1"), Err(User));
        check(&basic("a\n", "canary-1"), Err(User));
        check(&basic("a", "canary-1\n"), Err(Bytes));
        check(&named("X-Api-Key", "canary 1"), Ok("x-api-key: canary 1"));
        check(&named("Authorization", "token canary"), Ok("authorization: token canary"));
        check(&named("X-Api-Key", "canary-1\r"), Err(Bytes));
        check(&named("X-Api-Key", " canary-1"), Err(Bytes));
        check(&named("X-Api-Key", "canary\n1"), Err(Bytes));
        check(&named("x api", "canary-1"), Err(Name));
        check(&named("", "canary-1"), Err(Name));
        check(&named("Host", "canary-1"), Err(Name));
        check(&named("Content-Length", "canary-1"), Err(Name));
        check(&query("key", "canary-1"), Ok("key=canary-1"));
        check(&query("a b", "canary&=\r\n#é"), Ok("a%20b=canary%26%3D%0D%0A%23%C3%A9"));
        check(&query("", "canary-1"), Err(Name));
    }

    #[test]
    fn the_guard_knows_what_was_attached() {
        let guard = Credential::new(&basic("user", "canary-canary")).unwrap().guard();
        for text in ["canary-canary", "dXNlcjpjYW5hcnktY2FuYXJ5"] {
            let scan = guard.scan(format!("[{text}]").into_bytes());
            assert_eq!((scan.hits, scan.bytes.is_some()), (1, true), "{text}");
        }
        assert!(guard.is_clean(b"user"));
    }
}
