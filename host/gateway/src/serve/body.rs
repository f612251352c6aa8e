//! The body of a request: JSON, whole, of bounded size, in bounded time.

use super::answer::Refused;
use crate::config::ServeConfig;
use axum::extract::Request;
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

/// The whole body of a request.
pub(super) async fn read(request: Request, settings: &ServeConfig) -> Result<Bytes, Refused> {
    if !is_json(request.headers()) {
        return Err(Refused::MediaType);
    }
    // What says beforehand that it is too large is not read at all.
    let announced =
        request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > settings.request_bytes as u64) {
        return Err(Refused::TooLarge);
    }
    let body = Limited::new(request.into_body(), settings.request_bytes).collect();
    match tokio::time::timeout(settings.request_time(), body).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refused::TooLarge),
        // It broke off: most likely nobody is left to read this.
        Ok(Err(_)) => Err(Refused::Malformed),
        Err(_) => Err(Refused::Slow),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(only), None) = (types.next(), types.next()) else { return false };
    let essence = only.to_str().ok().and_then(|text| text.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}
