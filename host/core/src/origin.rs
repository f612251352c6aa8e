//! Origins (RFC 6454) and origin-form targets (RFC 9112 section 3.2.1), parsed once and strictly.
//!
//! The strictness is the point: an origin with userinfo, a mixed-case scheme, a decimal or octal IP,
//! a trailing dot or a backslash is refused and not repaired, because two parsers that repair
//! differently are how a credential reaches the wrong host.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The scheme of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// `http`
    Http,
    /// `https`
    Https,
}

impl Scheme {
    /// The wire form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// The host of an origin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// A DNS name: lower-case letters, digits and dashes in labels.
    Name(String),
    /// A literal address.
    Address(IpAddr),
}

/// Scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Origin {
    scheme: Scheme,
    host: Host,
    port: u16,
}

impl Origin {
    /// Reads `scheme://host[:port]`, nothing before, between or behind.
    ///
    /// # Errors
    /// When the text is anything else.
    pub fn parse(text: &str) -> Result<Self, InvalidOrigin> {
        let (scheme, rest) = if let Some(rest) = text.strip_prefix("https://") {
            (Scheme::Https, rest)
        } else if let Some(rest) = text.strip_prefix("http://") {
            (Scheme::Http, rest)
        } else {
            return Err(InvalidOrigin::Scheme);
        };
        if rest.contains('@') {
            return Err(InvalidOrigin::UserInfo);
        }
        if rest.contains(['/', '?', '#', '\\']) {
            return Err(InvalidOrigin::Path);
        }
        let (host, port) = split_port(rest)?;
        Ok(Self { scheme, host: parse_host(host)?, port: port.unwrap_or(scheme.default_port()) })
    }

    /// The scheme.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The host.
    #[must_use]
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The host as it stands in a URI: IPv6 in brackets.
    #[must_use]
    pub fn host_text(&self) -> String {
        match &self.host {
            Host::Name(name) => name.clone(),
            Host::Address(IpAddr::V4(address)) => address.to_string(),
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
        }
    }

    /// The value of the `Host` header (RFC 9110 section 7.2): the port only where it is not the
    /// scheme's own.
    #[must_use]
    pub fn authority(&self) -> String {
        if self.port == self.scheme.default_port() {
            self.host_text()
        } else {
            format!("{}:{}", self.host_text(), self.port)
        }
    }
}

pub(crate) fn split_port(text: &str) -> Result<(&str, Option<u16>), InvalidOrigin> {
    let (host, port) = match text.strip_prefix('[') {
        Some(_) => match text.split_once(']') {
            Some((_, "")) => return Ok((text, None)),
            Some((host, rest)) => {
                let port = rest.strip_prefix(':').ok_or(InvalidOrigin::Host)?;
                (&text[..=host.len()], port)
            }
            None => return Err(InvalidOrigin::Host),
        },
        None => match text.split_once(':') {
            None => return Ok((text, None)),
            Some(parts) => parts,
        },
    };
    let digits = !port.is_empty() && port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit());
    if !digits || port.starts_with('0') {
        return Err(InvalidOrigin::Port);
    }
    let port = port.parse::<u16>().map_err(|_| InvalidOrigin::Port)?;
    Ok((host, Some(port)))
}

pub(crate) fn parse_host(text: &str) -> Result<Host, InvalidOrigin> {
    if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        let address: Ipv6Addr = inner.parse().map_err(|_| InvalidOrigin::Host)?;
        // An IPv4-mapped address is another spelling of an IPv4 address.
        if address.to_ipv4_mapped().is_some() {
            return Err(InvalidOrigin::AddressSpelling);
        }
        return Ok(Host::Address(IpAddr::V6(address)));
    }
    if text.is_empty() || text.len() > 253 {
        return Err(InvalidOrigin::Host);
    }
    let last = text.rsplit('.').next().unwrap_or(text);
    let digits = !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit());
    let numeric = digits || last.starts_with("0x");
    if numeric {
        // Only the canonical dotted quad: `127.1`, `2130706433` and `0x7f.0.0.1` are refused.
        let address: Ipv4Addr = text.parse().map_err(|_| InvalidOrigin::AddressSpelling)?;
        return Ok(Host::Address(IpAddr::V4(address)));
    }
    let label = |l: &str| {
        !l.is_empty()
            && l.len() <= 63
            && !l.starts_with('-')
            && !l.ends_with('-')
            && l.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
    };
    if text.split('.').all(label) { Ok(Host::Name(text.to_owned())) } else { Err(InvalidOrigin::Host) }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.authority())
    }
}

impl TryFrom<String> for Origin {
    type Error = InvalidOrigin;
    fn try_from(text: String) -> Result<Self, InvalidOrigin> {
        Self::parse(&text)
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> Self {
        origin.to_string()
    }
}

/// Why a text is not an origin. The text itself is not repeated: it may carry a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOrigin {
    /// Not `http://` or `https://` in lower case.
    #[error("an origin begins with `https://` or `http://`, in lower case")]
    Scheme,
    /// It has a user name or password.
    #[error("an origin has no user name or password in it (an `@` was found)")]
    UserInfo,
    /// It has a path, query or fragment.
    #[error("an origin ends after host and port: no path, query, fragment or backslash")]
    Path,
    /// The host is not a DNS name in lower case or an address.
    #[error("the host is not a DNS name in lower case, an IPv4 address or an IPv6 address in brackets")]
    Host,
    /// An address in an unusual spelling.
    #[error("write the address in its canonical form: a dotted quad, or IPv6 that is not IPv4-mapped")]
    AddressSpelling,
    /// The port is not 1 to 65535.
    #[error("the port is not a number from 1 to 65535 without leading zeros")]
    Port,
}

/// An origin-form request target: an absolute path and an optional query, ready for the request
/// line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OriginForm(String);

impl OriginForm {
    /// Reads an origin-form target.
    ///
    /// # Errors
    /// When it does not begin with one `/`, or holds a byte that may not stand in a request target.
    pub fn parse(text: &str) -> Result<Self, InvalidPath> {
        // `//host/x` is a network-path reference to somebody's URL parser.
        if !text.starts_with('/') || text.starts_with("//") || text.len() > 8 * 1024 {
            return Err(InvalidPath);
        }
        // RFC 3986 pchar, "/", "?" and "%", nothing else; "\\" and "#" are left out on purpose.
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?%".contains(&b);
        let bytes = text.as_bytes();
        let escapes = bytes.iter().enumerate().filter(|(_, b)| **b == b'%').all(|(i, _)| {
            let hex = |o: usize| bytes.get(i + o).is_some_and(u8::is_ascii_hexdigit);
            hex(1) && hex(2)
        });
        let path = text.split('?').next().unwrap_or(text);
        let dots = path.split('/').any(|segment| {
            let plain = segment.replace("%2e", ".").replace("%2E", ".");
            plain == "." || plain == ".."
        });
        if bytes.iter().all(|b| allowed(*b)) && escapes && !dots {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidPath)
        }
    }

    /// The whole target.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.0.split('?').next().unwrap_or(&self.0)
    }
}

impl TryFrom<String> for OriginForm {
    type Error = InvalidPath;
    fn try_from(text: String) -> Result<Self, InvalidPath> {
        Self::parse(&text)
    }
}

impl From<OriginForm> for String {
    fn from(path: OriginForm) -> Self {
        path.0
    }
}

/// The text is not an origin-form target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an origin-form target: it begins with one `/`, has no dot segments and only URI characters")]
pub struct InvalidPath;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, InvalidOrigin>) {
        let got = Origin::parse(text).map(|origin| origin.to_string());
        assert_eq!(got.as_deref(), expected.as_ref().map(|t| &**t), "{text}");
    }

    #[test]
    fn origins_are_read_strictly() {
        use InvalidOrigin::{AddressSpelling, Host, Path, Port, Scheme, UserInfo};
        check("https://api.example.com", Ok("https://api.example.com"));
        check("https://api.example.com:443", Ok("https://api.example.com"));
        check("http://127.0.0.1:8080", Ok("http://127.0.0.1:8080"));
        check("http://[::1]:8080", Ok("http://[::1]:8080"));
        check("https://[2001:db8::1]", Ok("https://[2001:db8::1]"));
        check("https://api.example.com@evil.test/", Err(UserInfo));
        check("https://api.example.com@evil.test", Err(UserInfo));
        check("HTTPS://api.example.com", Err(Scheme));
        check("hTTp://api.example.com", Err(Scheme));
        check("//api.example.com", Err(Scheme));
        check("ftp://api.example.com", Err(Scheme));
        check("https://api.example.com/", Err(Path));
        check("https://api.example.com?x", Err(Path));
        check("https://api.example.com\\.evil.test", Err(Path));
        check("https://API.example.com", Err(Host));
        check("https://api.example.com.", Err(Host));
        check("https://-a.example.com", Err(Host));
        check("https://", Err(Host));
        check("https://bücher.example", Err(Host));
        check("http://[::ffff:10.0.0.1]", Err(AddressSpelling));
        check("http://[fe80::1%25eth0]", Err(Host));
        check("http://2130706433", Err(AddressSpelling));
        check("http://127.1", Err(AddressSpelling));
        check("http://0x7f.0.0.1", Err(AddressSpelling));
        check("http://0x7f000001", Err(AddressSpelling));
        check("http://0177.0.0.1", Err(AddressSpelling));
        check("https://a.example:0", Err(Port));
        check("https://a.example:99999", Err(Port));
        check("https://a.example:", Err(Port));
        check("https://a.example:+80", Err(Port));
        check("http://[::1]x", Err(Host));
    }

    #[test]
    fn paths_are_origin_form() {
        for good in ["/", "/v1/charges", "/v1/charges?limit=1&x=%20", "/a/b;c=d", "/a..b"] {
            assert!(OriginForm::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "v1",
            "//evil.test/x",
            "http://evil.test/",
            "/a b",
            "/a\r\nX: y",
            "/a#b",
            "/\\evil",
            "/%",
            "/%2",
            "/../x",
            "/a/%2e%2E/b",
            "/a/./b",
            "/ü",
            "*",
        ] {
            assert!(OriginForm::parse(bad).is_err(), "{bad}");
        }
    }
}
