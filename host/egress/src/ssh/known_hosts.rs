//! `known_hosts` files (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT): the lines that are about one host.

use super::host_keys::InvalidHostKeys;
use data_encoding::BASE64;
use hmac::{Hmac, KeyInit, Mac};
use russh::keys::ssh_key::PublicKey;
use sha1::Sha1;

/// What a line says of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The host's own.
    Host,
    /// It certifies the host's.
    Authority,
    /// It is to be refused.
    Revoked,
}

/// A line about the host.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) role: Role,
    pub(super) key: PublicKey,
}

/// The lines about the host with this name, `[name]:port` where the port is not 22.
pub(super) fn about(text: &str, name: &str) -> Result<Vec<Line>, InvalidHostKeys> {
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split_ascii_whitespace().peekable();
        let role = match words.peek() {
            None => continue,
            Some(word) if word.starts_with('#') => continue,
            Some(&"@cert-authority") => Role::Authority,
            Some(&"@revoked") => Role::Revoked,
            // An unknown mark may restrict a key: what it is about can't be told.
            Some(word) if word.starts_with('@') => return Err(InvalidHostKeys::Line(number)),
            Some(_) => Role::Host,
        };
        if role != Role::Host {
            words.next();
        }
        let Some(names) = words.next() else { return Err(InvalidHostKeys::Line(number)) };
        if !is_among(names, name).ok_or(InvalidHostKeys::Line(number))? {
            continue;
        }
        let (Some(kind), Some(blob)) = (words.next(), words.next()) else {
            return Err(InvalidHostKeys::Line(number));
        };
        let key =
            PublicKey::from_openssh(&format!("{kind} {blob}")).map_err(|_| InvalidHostKeys::Line(number))?;
        lines.push(Line { role, key });
    }
    Ok(lines)
}

/// Whether the name is one of these; none where that can't be told. A negated pattern that matches rules the
/// line out.
fn is_among(names: &str, name: &str) -> Option<bool> {
    if let Some(hashed) = names.strip_prefix('|') {
        // Whom a line revokes that can't be read, or in another form of hash, nobody knows.
        return is_hash_of(hashed.strip_prefix("1|")?, name);
    }
    let mut found = false;
    for pattern in names.split(',') {
        match pattern.strip_prefix('!') {
            Some(pattern) if matches(pattern.to_ascii_lowercase().as_bytes(), name.as_bytes()) => {
                return Some(false);
            }
            Some(_) => {}
            None => found |= matches(pattern.to_ascii_lowercase().as_bytes(), name.as_bytes()),
        }
    }
    Some(found)
}

/// `salt|hash`, both in base64: the HMAC-SHA-1 of the name under the salt.
fn is_hash_of(hashed: &str, name: &str) -> Option<bool> {
    let (salt, hash) = hashed.split_once('|')?;
    let decode = |text: &str| BASE64.decode(text.as_bytes()).ok();
    let mut mac = Hmac::<Sha1>::new_from_slice(&decode(salt)?).ok()?;
    mac.update(name.as_bytes());
    Some(mac.verify_slice(&decode(hash)?).is_ok())
}

/// Whether the pattern, with `*` and `?` in it, is the whole name. Takes at most as many steps as the
/// product of both lengths.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut in_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(b'?') => (at, in_name) = (at + 1, in_name + 1),
            Some(byte) if name.get(in_name) == Some(byte) => (at, in_name) = (at + 1, in_name + 1),
            Some(_) | None => match star {
                Some((from, taken)) => {
                    star = Some((from, taken + 1));
                    (at, in_name) = (from + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";

    fn check(names: &str, name: &str, expected: &[Role]) {
        let text = format!("# a comment\n\n{names} {KEY} root@somewhere # here\n");
        let got: Vec<Role> = about(&text, name).unwrap().iter().map(|line| line.role).collect();
        assert_eq!(got, expected, "{names} {name}");
    }

    #[test]
    fn lines_are_about_the_hosts_that_they_name() {
        use Role::{Authority, Host, Revoked};
        check("host.example", "host.example", &[Host]);
        check("Host.Example", "host.example", &[Host]);
        check("other.example", "host.example", &[]);
        check("a,host.example,b", "host.example", &[Host]);
        check("192.0.2.1", "192.0.2.1", &[Host]);
        check("[host.example]:2222", "[host.example]:2222", &[Host]);
        check("host.example", "[host.example]:2222", &[]);
        check("[host.example]:2222", "host.example", &[]);
        check("*.example", "host.example", &[Host]);
        check("*.example,!host.example", "host.example", &[]);
        check("!host.example,*.example", "host.example", &[]);
        check("ho?t.example", "host.example", &[Host]);
        check("*", "host.example", &[Host]);
        check("host", "host.example", &[]);
        check("@cert-authority *.example", "host.example", &[Authority]);
        check("@revoked *", "host.example", &[Revoked]);
        // Written by `ssh-keygen -H` for host.example.
        let salt = BASE64.encode(&[7; 20]);
        let mut mac = Hmac::<Sha1>::new_from_slice(&[7; 20]).unwrap();
        mac.update(b"host.example");
        let hash = BASE64.encode(&mac.finalize().into_bytes());
        check(&format!("|1|{salt}|{hash}"), "host.example", &[Host]);
        check(&format!("|1|{salt}|{hash}"), "other.example", &[]);
    }

    #[test]
    fn what_cannot_be_read_is_no_line_about_nobody() {
        let broken = |text: &str| about(text, "host.example").err();
        assert_eq!(broken("host.example ssh-ed25519"), Some(InvalidHostKeys::Line(1)));
        assert_eq!(broken("\nhost.example ssh-ed25519 AAAA"), Some(InvalidHostKeys::Line(2)));
        assert_eq!(broken("@other host.example ssh-ed25519 AAAA"), Some(InvalidHostKeys::Line(1)));
        assert_eq!(broken("@revoked"), Some(InvalidHostKeys::Line(1)));
        for names in ["|1|nonsense", "|1|!|!", "|1|AAAA|", "|2|AAAA|AAAA"] {
            let expected = (names != "|1|AAAA|").then_some(InvalidHostKeys::Line(1));
            assert_eq!(broken(&format!("@revoked {names} {KEY}")), expected, "{names}");
        }
        assert_eq!(broken("other.example broken"), None);
    }
}
