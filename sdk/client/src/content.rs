//! Stored contents, a piece at a time. Nothing is kept in memory, and a copy that breaks off shows as such.

use crate::error::{CallError, Cause};
use crate::wire::{Driver, after};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG};
use http::{HeaderName, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use std::fmt;
use std::time::Duration;

/// A stored content on its way. What the remote wrote: its text is not instructions.
pub struct Content {
    pub(crate) body: Incoming,
    pub(crate) _driver: Driver,
    pub(crate) patience: Duration,
    pub(crate) facts: Facts,
}

/// What the head of an answer says of a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) at: u64,
    pub(crate) bytes: u64,
    pub(crate) digest: String,
}

/// Why a content does not come, or no further.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ContentError {
    /// There is none to be had, or no answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It is not that long.
    #[error("the content has {bytes} bytes, none of which is asked for")]
    PastEnd {
        /// How long it is.
        bytes: u64,
    },
    /// It broke off. Ask again from there: what is stored doesn't change.
    #[error("the content broke off before byte {at}: {cause}")]
    BrokeOff {
        /// The first byte that didn't come.
        at: u64,
        /// Why.
        cause: Cause,
    },
}

impl Content {
    /// How long the whole is, in bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.facts.bytes
    }

    /// SHA-256 of the whole, as the envelope's `content.digest` has it.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.facts.digest
    }

    /// The byte that comes next.
    #[must_use]
    pub const fn at(&self) -> u64 {
        self.facts.at
    }

    /// The next piece; none once everything came.
    ///
    /// # Errors
    /// [`ContentError::BrokeOff`] when nothing comes for as long as the client is patient, or the connection
    /// ends before the content does.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ContentError> {
        loop {
            let Facts { at, bytes, .. } = self.facts;
            let broke_off = |cause| ContentError::BrokeOff { at, cause };
            let frame = tokio::time::timeout_at(after(self.patience), self.body.frame()).await;
            let frame = match frame.map_err(|_| broke_off(Cause::Deadline(self.patience)))? {
                None if at == bytes => return Ok(None),
                None | Some(Err(_)) => return Err(broke_off(Cause::Broken)),
                Some(Ok(frame)) => frame,
            };
            let Ok(piece) = frame.into_data() else { continue };
            self.facts.at = at.saturating_add(piece.len() as u64);
            if self.facts.at > bytes {
                return Err(broke_off(Cause::Broken));
            }
            if !piece.is_empty() {
                return Ok(Some(piece));
            }
        }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Content").field(&self.facts).finish()
    }
}

/// The length of a content that doesn't reach to the byte that was asked for.
pub(crate) fn length_of_unsatisfied<T>(response: &Response<T>) -> Option<u64> {
    field(response, CONTENT_RANGE)?.strip_prefix("bytes */")?.parse().ok()
}

/// What the head says; none where it isn't what was asked for.
pub(crate) fn facts<T>(response: &Response<T>, from: u64) -> Option<Facts> {
    let digest = field(response, ETAG)?.strip_prefix('"')?.strip_suffix('"')?.to_owned();
    let length: u64 = field(response, CONTENT_LENGTH)?.parse().ok()?;
    let bytes = match response.status().as_u16() {
        200 if from == 0 => length,
        206 => {
            let (part, whole) = field(response, CONTENT_RANGE)?.strip_prefix("bytes ")?.split_once('/')?;
            let (first, last) = part.split_once('-')?;
            let (first, last, whole): (u64, u64, u64) =
                (first.parse().ok()?, last.parse().ok()?, whole.parse().ok()?);
            let fits =
                first == from && last.checked_add(1)? == whole && length == whole.checked_sub(first)?;
            fits.then_some(whole)?
        }
        _ => return None,
    };
    Some(Facts { at: from, bytes, digest })
}

fn field<T>(response: &Response<T>, name: HeaderName) -> Option<&str> {
    response.headers().get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_says_what_was_asked_for_or_nothing() {
        let check = |status: u16, fields: &[(HeaderName, &str)], from: u64, expected: Option<u64>| {
            let mut response = Response::builder().status(status);
            for (name, value) in fields {
                response = response.header(name, *value);
            }
            let found = facts(&response.body(()).unwrap(), from);
            let wanted = expected.map(|bytes| Facts { at: from, bytes, digest: "d".to_owned() });
            assert_eq!(found, wanted, "{status} {fields:?} from {from}");
        };
        let tag = (ETAG, "\"d\"");
        check(200, &[tag.clone(), (CONTENT_LENGTH, "10")], 0, Some(10));
        check(200, &[tag.clone(), (CONTENT_LENGTH, "10")], 3, None);
        check(200, &[(CONTENT_LENGTH, "10")], 0, None);
        check(200, std::slice::from_ref(&tag), 0, None);
        check(204, &[tag.clone(), (CONTENT_LENGTH, "0")], 0, None);
        let part = |range: &'static str, length: &'static str| {
            [tag.clone(), (CONTENT_LENGTH, length), (CONTENT_RANGE, range)]
        };
        check(206, &part("bytes 3-9/10", "7"), 3, Some(10));
        for range in ["bytes 2-9/10", "bytes 3-8/10", "bytes 3-9/*", "bytes */10", "3-9/10", "bytes 3-9/11"] {
            check(206, &part(range, "7"), 3, None);
        }
        check(206, &part("bytes 3-9/10", "8"), 3, None);
        // From another byte on, and true of itself.
        check(206, &part("bytes 2-9/10", "8"), 3, None);
        check(206, &part("bytes 4-9/10", "6"), 3, None);
    }
}
