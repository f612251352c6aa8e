//! AWS Signature Version 4 in headers, over method, path, query, headers and body.
//!
//! The secret access key never travels; what travels is a signature of one request at one time. So it
//! is made when a request is prepared, once for each attempt, and is part of no record.

use super::query::percent_encode;
use super::{InvalidInjection, SHORTEST_SECRET};
use crate::guard::Guard;
use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4::SigningParams;
use http::Method;
use http::header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use proofport_core::origin::Origin;
use proofport_core::secret::Secret;
use proofport_core::time::UnixMillis;
use std::borrow::Cow;
use std::time::{Duration, SystemTime};

/// The longest region, service or access key id, in bytes.
const LONGEST_WORD: usize = 128;

/// The last second of the year 9999: a later one has no spelling in a signature.
const LAST_SECOND: u64 = 253_402_300_799;

/// What signs. It has no `Debug`.
pub(crate) struct Signer {
    access_key_id: String,
    secret: Secret,
    session_token: Option<Secret>,
    region: String,
    service: String,
}

/// What is signed: the request as it is sent, but for what signing adds.
pub(crate) struct Signable<'r> {
    pub(crate) method: &'r Method,
    pub(crate) origin: &'r Origin,
    /// Path and query.
    pub(crate) target: &'r str,
    pub(crate) headers: &'r HeaderMap,
    pub(crate) body: &'r [u8],
}

/// What signing adds.
pub(crate) struct Signed {
    /// Headers, each marked as sensitive.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// What recognises the secrets and this signature.
    pub(crate) guard: Guard,
}

/// The request can't be signed.
pub(crate) struct Unsigned;

impl Signer {
    /// A signer, if these may stand in a signature.
    pub(super) fn new(
        access_key_id: &str,
        secret: &Secret,
        session_token: Option<&Secret>,
        region: &str,
        service: &str,
    ) -> Result<Self, InvalidInjection> {
        if !is_word(access_key_id) {
            return Err(InvalidInjection::AccessKeyId);
        }
        if !is_word(region) {
            return Err(InvalidInjection::Region);
        }
        if !is_word(service) {
            return Err(InvalidInjection::Service);
        }
        for secret in [Some(secret), session_token].into_iter().flatten() {
            if secret.expose().len() < SHORTEST_SECRET {
                return Err(InvalidInjection::TooShort);
            }
            if !secret.expose().iter().all(u8::is_ascii_graphic) {
                return Err(InvalidInjection::Bytes);
            }
        }
        Ok(Self {
            access_key_id: access_key_id.to_owned(),
            secret: secret.duplicate(),
            session_token: session_token.map(Secret::duplicate),
            region: region.to_owned(),
            service: service.to_owned(),
        })
    }

    /// What signing this request at this time adds to it.
    pub(crate) fn sign(&self, request: &Signable<'_>, at: UnixMillis) -> Result<Signed, Unsigned> {
        let text =
            |secret: &Secret| std::str::from_utf8(secret.expose()).map(str::to_owned).map_err(|_| Unsigned);
        let token = self.session_token.as_ref().map(text).transpose()?;
        let credentials =
            Credentials::new(self.access_key_id.as_str(), text(&self.secret)?, token, None, "proofport");
        let identity = credentials.into();
        let since = Duration::from_secs((at.0 / 1000).min(LAST_SECOND));
        let params = SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(&self.service)
            .time(SystemTime::UNIX_EPOCH.checked_add(since).ok_or(Unsigned)?)
            .settings(self.settings())
            .build()
            .map_err(|_| Unsigned)?
            .into();
        let headers = request
            .headers
            .iter()
            .map(|(name, value)| Ok((name.as_str(), std::str::from_utf8(value.as_bytes())?)))
            .collect::<Result<Vec<_>, std::str::Utf8Error>>()
            .map_err(|_| Unsigned)?;
        let uri = format!("{}{}", request.origin, self.target(request.target)?);
        let body = SignableBody::Bytes(request.body);
        let signable = SignableRequest::new(request.method.as_str(), uri, headers.into_iter(), body)
            .map_err(|_| Unsigned)?;
        let (instructions, signature) = sign(signable, &params).map_err(|_| Unsigned)?.into_parts();
        let headers = instructions
            .headers()
            .map(|(name, value)| {
                let mut value = HeaderValue::from_str(value).map_err(|_| Unsigned)?;
                value.set_sensitive(true);
                Ok((HeaderName::from_bytes(name.as_bytes()).map_err(|_| Unsigned)?, value))
            })
            .collect::<Result<_, Unsigned>>()?;
        let signature = Secret::new(signature.into_bytes());
        let secrets = self.secrets().chain([&signature]).collect::<Vec<_>>();
        Ok(Signed { headers, guard: Guard::new(&secrets).map_err(|_| Unsigned)? })
    }

    /// What a remote could reflect of any request that this signs.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        [Some(&self.secret), self.session_token.as_ref()].into_iter().flatten()
    }

    /// S3 and its siblings, which sign in a dialect of their own.
    fn is_s3(&self) -> bool {
        self.service == "s3" || self.service.starts_with("s3-")
    }

    fn settings(&self) -> SigningSettings {
        let mut settings = SigningSettings::default();
        if self.is_s3() {
            settings.percent_encoding_mode = PercentEncodingMode::Single;
            settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
            settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        }
        // A proxy in front of the service may write another one.
        settings.excluded_headers.get_or_insert_default().push(Cow::Borrowed(ACCEPT_ENCODING.as_str()));
        settings
    }

    /// The target as it is signed. S3 decodes the path and encodes it in the one way that it signs; the
    /// others encode what is sent once more.
    fn target<'t>(&self, target: &'t str) -> Result<Cow<'t, str>, Unsigned> {
        let (path, query) =
            target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        // The query is decoded to text, which other bytes would not survive.
        if query.is_some_and(|query| percent_decode_str(query).decode_utf8().is_err()) {
            return Err(Unsigned);
        }
        if !self.is_s3() {
            return Ok(Cow::Borrowed(target));
        }
        let mut signed = String::with_capacity(target.len());
        percent_encode(&percent_decode_str(path).collect::<Vec<_>>(), b"/", &mut signed);
        if let Some(query) = query {
            signed.push('?');
            signed.push_str(query);
        }
        Ok(Cow::Owned(signed))
    }
}

/// Access key ids, regions and services: nothing that separates the parts of a credential scope.
fn is_word(text: &str) -> bool {
    let inside = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (1..=LONGEST_WORD).contains(&text.len()) && text.bytes().all(inside)
}

#[cfg(test)]
mod tests;
