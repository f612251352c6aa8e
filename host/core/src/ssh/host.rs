//! `user@host[:port]`, parsed once and strictly, for the reason that
//! [`origin`](crate::origin) gives: two parsers that repair differently are how a credential reaches
//! the wrong host.

use crate::origin::{Host, InvalidOrigin, parse_host, split_port};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// The port of SSH (RFC 4253 section 4.1).
const DEFAULT_PORT: u16 = 22;

/// The longest user name, in bytes.
const LONGEST_USER: usize = 64;

/// A user on a host. Its wire form leaves the port out where it is 22, and has IPv6 in brackets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SshHost {
    user: String,
    host: Host,
    port: u16,
}

impl SshHost {
    /// Reads `user@host[:port]`, nothing before, between or behind.
    ///
    /// # Errors
    /// When the text is anything else: another scheme's spelling, a password, a name with upper-case
    /// letters or a trailing dot, an address that is not in its one canonical form.
    pub fn parse(text: &str) -> Result<Self, InvalidSshHost> {
        let (user, rest) = text.split_once('@').ok_or(InvalidSshHost::User)?;
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        let plain = !user.is_empty() && user.len() <= LONGEST_USER && user.bytes().all(allowed);
        if !plain || user.starts_with('-') {
            return Err(InvalidSshHost::User);
        }
        let (host, port) = split_port(rest)?;
        Ok(Self { user: user.to_owned(), host: parse_host(host)?, port: port.unwrap_or(DEFAULT_PORT) })
    }

    /// Who logs in.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
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

    /// The host alone: a name, or an address without brackets.
    #[must_use]
    pub fn host_text(&self) -> String {
        match &self.host {
            Host::Name(name) => name.clone(),
            Host::Address(address) => address.to_string(),
        }
    }

    /// The name under which `known_hosts` files list this host's keys: `[host]:port` where the port is
    /// not 22 (sshd(8)).
    #[must_use]
    pub fn known_as(&self) -> String {
        if self.port == DEFAULT_PORT {
            self.host_text()
        } else {
            format!("[{}]:{}", self.host_text(), self.port)
        }
    }
}

impl fmt::Display for SshHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@", self.user)?;
        match &self.host {
            Host::Name(name) => f.write_str(name)?,
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}")?,
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
        }
        if self.port == DEFAULT_PORT { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

impl TryFrom<String> for SshHost {
    type Error = InvalidSshHost;
    fn try_from(text: String) -> Result<Self, InvalidSshHost> {
        Self::parse(&text)
    }
}

impl From<SshHost> for String {
    fn from(host: SshHost) -> Self {
        host.to_string()
    }
}

/// Why a text is not an SSH host. The text itself is not repeated: it may carry a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSshHost {
    /// There is no user, or its name has more than letters, digits, `_`, `-` and `.`.
    #[error("an SSH host is `user@host` or `user@host:port`; the user has letters, digits, `_`, `-`, `.`")]
    User,
    /// The host or the port.
    #[error("the host or port of an SSH host can't be read as such")]
    Host(#[from] InvalidOrigin),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_is_read_and_no_other() {
        let check = |text: &str, expected: Option<&str>| {
            let got = SshHost::parse(text).ok().map(|host| host.to_string());
            assert_eq!(got.as_deref(), expected, "{text}");
        };
        check("deploy@web-1.example.com", Some("deploy@web-1.example.com"));
        check("deploy@web-1.example.com:2222", Some("deploy@web-1.example.com:2222"));
        check("deploy@web-1.example.com:22", Some("deploy@web-1.example.com"));
        check("a.b_c-d@192.0.2.1:22022", Some("a.b_c-d@192.0.2.1:22022"));
        check("root@[2001:db8::1]", Some("root@[2001:db8::1]"));
        check("root@[2001:db8:0::1]:2200", Some("root@[2001:db8::1]:2200"));
        for odd in [
            "",
            "host",
            "@host",
            "user@",
            "user:secret@host",
            "ssh://user@host",
            "-oProxyCommand=x@host",
            "user@-oProxyCommand=x",
            "user@other@host",
            "user@host/path",
            "user@host:",
            "user@host:0",
            "user@host:022",
            "user@host:65536",
            "user@HOST",
            "user@host.",
            "user@2130706433",
            "user@0x7f.0.0.1",
            "user@127.1",
            "user@::1",
            "user@[::ffff:127.0.0.1]",
            "user@[::1",
            "user@ho st",
            "us er@host",
            "user@host\n",
            "us\u{e9}r@host",
        ] {
            check(odd, None);
        }
    }

    #[test]
    fn known_hosts_files_name_a_host_with_its_port() {
        let check = |text: &str, expected: &str| {
            assert_eq!(SshHost::parse(text).unwrap().known_as(), expected);
        };
        check("a@host.example", "host.example");
        check("a@host.example:22", "host.example");
        check("a@host.example:2222", "[host.example]:2222");
        check("a@[2001:db8::1]", "2001:db8::1");
        check("a@[2001:db8::1]:2222", "[2001:db8::1]:2222");
    }
}
