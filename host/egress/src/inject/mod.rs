//! Attaching a secret to a request or to its connection. A connector never sees it; nothing here can
//! print it.

mod client_certificate;
pub(crate) mod header;
mod query;
mod sigv4;
#[cfg(test)]
mod tests;

use crate::guard::Guard;
pub use client_certificate::{ClientIdentity, InvalidIdentity};
use http::header::{HeaderName, HeaderValue};
use proofport_core::secret::{SHORTEST_SECRET, Secret};
pub(crate) use sigv4::{Signable, Signer};
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
    /// AWS Signature Version 4, in headers.
    SigV4 {
        /// Names the key; not secret.
        access_key_id: String,
        /// The secret access key. It signs and does not travel.
        secret: Secret,
        /// For temporary credentials. It travels as `x-amz-security-token`.
        session_token: Option<Secret>,
        /// The region that is signed for, such as `eu-central-1`.
        region: String,
        /// The service that is signed for, such as `s3`.
        service: String,
    },
    /// A client certificate in the TLS handshake; nothing in the request. The secret is a PEM text, see
    /// [`ClientIdentity::parse`].
    ClientCertificate(Secret),
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
        | Self::Query { secret, .. }
        | Self::SigV4 { secret, .. }
        | Self::ClientCertificate(secret)) = self;
        if secret.expose().len() < SHORTEST_SECRET {
            return Err(InvalidInjection::TooShort);
        }
        match self {
            Self::Bearer(secret) => header::bearer(secret),
            Self::Basic { user, password } => header::basic(user, password),
            Self::Header { name, secret } => header::named(name, secret),
            Self::Query { name, secret } => query::parameter(name, secret),
            Self::SigV4 { access_key_id, secret, session_token, region, service } => {
                let token = session_token.as_ref();
                Signer::new(access_key_id, secret, token, region, service).map(Attachment::SigV4)
            }
            Self::ClientCertificate(pem) => {
                ClientIdentity::parse(pem).map(Attachment::ClientCertificate).map_err(Into::into)
            }
        }
    }

    /// The values that a remote could reflect.
    fn guard(&self) -> Result<Guard, InvalidInjection> {
        let guard = match self {
            Self::Bearer(secret) | Self::Header { secret, .. } | Self::Query { secret, .. } => {
                Guard::new(&[secret])
            }
            Self::Basic { user, password } => Guard::new(&[password, &header::basic_token(user, password)]),
            // It never travels; should it come back all the same, then in base64.
            Self::ClientCertificate(pem) => Guard::new(&[&client_certificate::key_bytes(pem)?]),
            Self::SigV4 { secret, session_token, .. } => {
                Guard::new(&[Some(secret), session_token.as_ref()].into_iter().flatten().collect::<Vec<_>>())
            }
        };
        guard.map_err(|_| InvalidInjection::TooLong)
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
    /// A signature, made for each request.
    SigV4(Signer),
    /// Nothing in the request: the connection shows it.
    ClientCertificate(ClientIdentity),
}

impl Credential {
    /// Checks the injection and builds its guard.
    ///
    /// # Errors
    /// As [`Injection::check`].
    pub fn new(injection: &Injection) -> Result<Self, InvalidInjection> {
        let attachment = injection.attachment()?;
        let guard = injection.guard()?;
        Ok(Self { attachment, guard: Arc::new(guard) })
    }

    /// The field's value, where it is attached as one. Marked as sensitive.
    #[must_use]
    pub const fn header_value(&self) -> Option<&HeaderValue> {
        match &self.attachment {
            Attachment::Header { value, .. } => Some(value),
            Attachment::Query { .. } | Attachment::SigV4(_) | Attachment::ClientCertificate(_) => None,
        }
    }

    /// What recognises this credential in answers. What is made of it for one request, such as a
    /// signature, only [`Outgoing::guard`](crate::Outgoing::guard) knows.
    #[must_use]
    pub fn guard(&self) -> Arc<Guard> {
        Arc::clone(&self.guard)
    }

    /// What the connection is to show in its handshake, where that is what this credential is.
    #[must_use]
    pub const fn client_identity(&self) -> Option<&ClientIdentity> {
        match &self.attachment {
            Attachment::ClientCertificate(identity) => Some(identity),
            Attachment::Header { .. } | Attachment::Query { .. } | Attachment::SigV4(_) => None,
        }
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
    /// Not an AWS access key id.
    #[error("the access key id is empty, too long, or has more than letters, digits, `-`, `_` and `.`")]
    AccessKeyId,
    /// Not an AWS region.
    #[error("the region is empty, too long, or has more than letters, digits, `-`, `_` and `.`")]
    Region,
    /// Not an AWS service.
    #[error("the service is empty, too long, or has more than letters, digits, `-`, `_` and `.`")]
    Service,
    /// Not a client certificate with its key.
    #[error(transparent)]
    Certificate(#[from] InvalidIdentity),
}
