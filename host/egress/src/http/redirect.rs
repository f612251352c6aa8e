//! Where a 307 or 308 sends a request on (RFC 9110 sections 10.2.2, 15.4.8, 15.4.9). Nothing follows it
//! here.

use crate::guard::Guard;
use http::header::{HeaderMap, LOCATION};
use proofport_core::origin::{Origin, OriginForm};
use url::Url;

/// A place that a complete 307 or 308 names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The origin.
    pub origin: Origin,
    /// The path and query.
    pub path: OriginForm,
}

/// The place; none where there is not exactly one `Location`, where it can't be a request's target as it
/// stands, or where it holds a secret: it would be sent on and stored.
pub(super) fn read(
    status: u16,
    headers: &HeaderMap,
    origin: &Origin,
    path: &OriginForm,
    guard: &Guard,
) -> Option<Redirect> {
    if !matches!(status, 307 | 308) {
        return None;
    }
    let mut locations = headers.get_all(LOCATION).iter();
    let location = locations.next()?.to_str().ok()?;
    if locations.next().is_some() || !guard.is_clean(location.as_bytes()) {
        return None;
    }
    let base = Url::parse(&format!("{origin}{}", path.as_str())).ok()?;
    let url = base.join(location).ok()?;
    if !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    let port = url.port_or_known_default()?;
    let to = Origin::parse(&format!("{}://{}:{port}", url.scheme(), url.host_str()?)).ok()?;
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    Some(Redirect { origin: to, path: OriginForm::parse(&target).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofport_core::secret::Secret;

    #[test]
    fn places_are_read_strictly() {
        let guard = Guard::new(&[&Secret::new(b"canary-1".to_vec())]).unwrap();
        let check = |status, locations: &[&str], expected: Option<(&str, &str)>| {
            let mut headers = HeaderMap::new();
            for location in locations {
                headers.append(LOCATION, location.parse().unwrap());
            }
            let origin = Origin::parse("https://api.example.com").unwrap();
            let path = OriginForm::parse("/v1/a?b=1").unwrap();
            let got = read(status, &headers, &origin, &path, &guard);
            let got = got.map(|to| (to.origin.to_string(), to.path.as_str().to_owned()));
            let expected = expected.map(|(origin, path)| (origin.to_owned(), path.to_owned()));
            assert_eq!(got, expected, "{status} {locations:?}");
        };
        let here = "https://api.example.com";
        check(307, &["/v2/a"], Some((here, "/v2/a")));
        check(308, &["c?d=2#e"], Some((here, "/v1/c?d=2")));
        check(307, &["//other.example/x"], Some(("https://other.example", "/x")));
        check(307, &["http://api.example.com/x"], Some(("http://api.example.com", "/x")));
        check(307, &["https://api.example.com:8443"], Some(("https://api.example.com:8443", "/")));
        for status in [200, 301, 302, 303, 304, 401, 500] {
            check(status, &["/v2/a"], None);
        }
        check(307, &[], None);
        check(307, &["/a", "/b"], None);
        check(307, &["https://user@api.example.com/"], None);
        check(307, &["https://user:pass@api.example.com/"], None);
        check(307, &["ftp://api.example.com/"], None);
        check(307, &["mailto:a@example.com"], None);
        check(307, &["/v2/a?key=canary-1"], None);
        check(307, &["/v2/a?key=canary%2d1"], None);
    }
}
