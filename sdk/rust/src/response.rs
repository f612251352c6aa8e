//! Reading complete responses.

use crate::{
    Exchange, Fault, HttpRequest, HttpResponse, Request, Response, StoredContent, Terms, Verdict,
    default_verdict,
};
use serde::de::DeserializeOwned;

impl Exchange {
    /// The response, where this exchange was over HTTP.
    ///
    /// # Errors
    /// [`Fault::Unreadable`] where it was not.
    pub const fn http(&self) -> Result<&HttpResponse, Fault> {
        match &self.response {
            Response::Http(response) => Ok(response),
            Response::Ssh(_) => Err(Fault::Unreadable),
        }
    }

    /// The request, where this exchange was over HTTP.
    ///
    /// # Errors
    /// [`Fault::Unreadable`] where it was not.
    pub const fn http_request(&self) -> Result<&HttpRequest, Fault> {
        match &self.request {
            Request::Http(request) => Ok(request),
            Request::Ssh(_) => Err(Fault::Unreadable),
        }
    }
}

impl HttpResponse {
    /// The body as a type.
    ///
    /// # Errors
    /// [`Fault::Unreadable`] where it is not JSON of that shape.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        serde_json::from_slice(&self.body).map_err(|_| Fault::Unreadable)
    }

    /// The content that the host stored instead of showing it, where the operation declares
    /// [`stores_content`](crate::Operation::stores_content) and the status is of class 2xx.
    ///
    /// # Errors
    /// [`Fault::Unreadable`] where nothing was stored.
    pub fn stored(&self) -> Result<&StoredContent, Fault> {
        self.stored.as_ref().ok_or(Fault::Unreadable)
    }

    /// The first value of a kept header; `name` in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let matches = |header: &&crate::Header| header.name.eq_ignore_ascii_case(name);
        self.headers.iter().find(matches).map(|header| header.value.as_str())
    }

    /// How long the remote asks to wait: `Retry-After` in whole seconds (RFC 9110 section 10.2.3).
    /// Its date form is not read, since a connector has no clock to compare it with. The header must
    /// be among the operation's kept ones.
    #[must_use]
    pub fn retry_after(&self) -> Option<u32> {
        let value = self.header("retry-after")?.trim();
        let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| value.parse().unwrap_or(u32::MAX))
    }

    /// [`default_verdict`] of this response's status, with its [`retry_after`](Self::retry_after).
    #[must_use]
    pub fn verdict(&self, terms: Terms<'_>) -> Verdict {
        Verdict { retry_after_seconds: self.retry_after(), ..default_verdict(self.status, terms) }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Fault, Header, HttpResponse, StoredContent};

    #[test]
    fn retry_after_is_read_in_seconds_only() {
        let check = |value: &str, expected: Option<u32>| {
            let header = Header { name: "Retry-After".to_owned(), value: value.to_owned() };
            let response =
                HttpResponse { status: 429, headers: vec![header], body: Vec::new(), stored: None };
            assert_eq!(response.retry_after(), expected, "{value:?}");
        };
        check("7", Some(7));
        check(" 7 ", Some(7));
        check("0", Some(0));
        check("99999999999999", Some(u32::MAX));
        check("+7", None);
        check("-7", None);
        check("1.5", None);
        check("", None);
        check("Wed, 21 Oct 2015 07:28:00 GMT", None);
    }

    #[test]
    fn a_content_that_was_not_stored_is_a_fault() {
        let check = |stored: Option<StoredContent>| {
            let response =
                HttpResponse { status: 200, headers: Vec::new(), body: Vec::new(), stored: stored.clone() };
            assert_eq!(response.stored(), stored.as_ref().ok_or(Fault::Unreadable));
        };
        check(None);
        check(Some(StoredContent { bytes: 0, digest: "00".repeat(32) }));
    }
}
