//! How the host serves agents.

use super::list;
use super::reader::{Field, Reader, Section};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the host serves agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeConfig {
    /// Where it listens for HTTP; none unless set. Port 0 takes any free one. What comes in is not encrypted,
    /// so it is a loopback address unless `http_anywhere` says otherwise.
    pub http: Option<SocketAddr>,
    /// Names besides those of the loopback addresses under which clients reach it over HTTP, without a port.
    pub hosts: Vec<String>,
    /// Origins whose requests are answered, as browsers spell them. None unless set: a page has no business
    /// here.
    pub origins: Vec<String>,
    /// The Unix socket for agents; `agent.sock` in the home unless set. Relative paths begin at the home.
    pub agent_socket: Option<PathBuf>,
    /// That socket's permission bits: `0600` unless set, `0660` or `0666` for agents of other users.
    pub agent_socket_mode: u32,
    /// The largest body of a request, in bytes. 4 MiB unless set; 1 KiB to 64 MiB.
    pub request_bytes: usize,
    /// In what time a whole request must have come, in seconds. 30 unless set; 1 to 600.
    pub request_seconds: u64,
    /// How long a wait may last, in seconds; a longer one is answered then. 60 unless set; 1 to 3600.
    pub wait_seconds: u64,
    /// How many connections there may be at a time; further ones wait. 1024 unless set; 1 to 65536.
    pub connections: usize,
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            http: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            agent_socket: None,
            agent_socket_mode: 0o600,
            request_bytes: 4 << 20,
            request_seconds: 30,
            wait_seconds: 60,
            connections: 1024,
        }
    }
}

impl ServeConfig {
    /// In what time a whole request must have come.
    #[must_use]
    pub const fn request_time(&self) -> Duration {
        Duration::from_secs(self.request_seconds)
    }

    /// The longest wait.
    #[must_use]
    pub const fn wait_time(&self) -> Duration {
        Duration::from_secs(self.wait_seconds)
    }
}

const KEYS: [&str; 10] = [
    "http",
    "http_anywhere",
    "hosts",
    "origins",
    "agent_socket",
    "agent_socket_mode",
    "request_bytes",
    "request_seconds",
    "wait_seconds",
    "connections",
];

const REQUEST_BYTES: RangeInclusive<u64> = 1 << 10..=64 << 20;
const REQUEST_SECONDS: RangeInclusive<u64> = 1..=600;
const WAIT_SECONDS: RangeInclusive<u64> = 1..=3600;
const CONNECTIONS: RangeInclusive<u64> = 1..=65_536;

pub(super) fn read<'a>(reader: &mut Reader<'a>, section: &Section<'a>, folder: &Path) -> ServeConfig {
    reader.only(section, &KEYS);
    let defaults = ServeConfig::default();
    let hosts = list::read(reader, section, "hosts", "write a name or an address without a port", host_name);
    let origins =
        list::read(reader, section, "origins", "write it as browsers do: `https://host[:port]`", origin);
    let http = http(reader, section, hosts.is_empty());
    let agent_socket = reader.field(section, "agent_socket").and_then(|field| socket(reader, &field, folder));
    let mode = reader.field(section, "agent_socket_mode").and_then(|field| socket_mode(reader, &field));
    let mut number = |key: &str, bounds: RangeInclusive<u64>, default: u64| {
        let field = reader.field(section, key);
        field.and_then(|field| reader.number(&field, bounds)).unwrap_or(default)
    };
    // Every bound fits its type on every platform that we build for; `try_from` says so to readers.
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    ServeConfig {
        http,
        hosts: hosts.into_iter().map(|host| host.value).collect(),
        origins: origins.into_iter().map(|origin| origin.value).collect(),
        agent_socket,
        agent_socket_mode: mode.unwrap_or(defaults.agent_socket_mode),
        request_bytes: size(number("request_bytes", REQUEST_BYTES, defaults.request_bytes as u64)),
        request_seconds: number("request_seconds", REQUEST_SECONDS, defaults.request_seconds),
        wait_seconds: number("wait_seconds", WAIT_SECONDS, defaults.wait_seconds),
        connections: size(number("connections", CONNECTIONS, defaults.connections as u64)),
    }
}

/// The address for HTTP. One that others can reach is taken only where that was asked for by name: tokens
/// and answers cross it readable, so that something in front of it has to encrypt them.
fn http<'a>(reader: &mut Reader<'a>, section: &Section<'a>, no_hosts: bool) -> Option<SocketAddr> {
    let anywhere = reader.field(section, "http_anywhere").is_some_and(|field| flag(reader, &field));
    let field = reader.field(section, "http")?;
    let text = reader.text(&field)?;
    let Ok(address) = text.parse::<SocketAddr>() else {
        reader.report(
            field.place,
            &field.path,
            "is not an address with a port",
            "write `127.0.0.1:7433`, or `[::1]:7433`; a name is not resolved here",
        );
        return None;
    };
    if address.ip().to_canonical().is_loopback() {
        return Some(address);
    }
    if !anywhere {
        reader.report(
            field.place,
            &field.path,
            "can be reached from other machines, and what comes in is not encrypted",
            "listen on 127.0.0.1, or set `http_anywhere = true` where a proxy in front of it encrypts",
        );
        return None;
    }
    if no_hosts {
        let todo = "list the names under which clients reach it in `hosts`; requests for others are refused";
        reader.report(field.place, &field.path, "is reached under names that are not listed", todo);
        return None;
    }
    Some(address)
}

fn flag<'a>(reader: &mut Reader<'a>, field: &Field<'a>) -> bool {
    let value = field.value.as_bool();
    if value.is_none() {
        reader.wrong_type(field, "true or false");
    }
    value.unwrap_or(false)
}

fn host_name(text: &str) -> Result<String, String> {
    if let Some(address) = in_brackets(text) {
        return Ok(address);
    }
    let letters = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'.' || b == b'_';
    let name = (1..=253).contains(&text.len()) && text.bytes().all(letters);
    if name { Ok(text.to_ascii_lowercase()) } else { Err("is not the name of a host".to_owned()) }
}

/// An address of IPv6 in its brackets as RFC 5952 spells it, however it is spelled; none where it is none.
pub(crate) fn in_brackets(text: &str) -> Option<String> {
    let bare = text.strip_prefix('[')?.strip_suffix(']')?;
    Some(format!("[{}]", bare.parse::<std::net::Ipv6Addr>().ok()?))
}

fn origin(text: &str) -> Result<String, String> {
    let spelled = text.split_once("://").is_some_and(|(scheme, rest)| {
        let scheme_is_one =
            scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'-' || b == b'.');
        let rest_is_one =
            rest.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'/' | b'?' | b'#' | b'@' | b'*'));
        !scheme.is_empty() && !rest.is_empty() && scheme_is_one && rest_is_one
    });
    if spelled { Ok(text.to_ascii_lowercase()) } else { Err("is not an origin".to_owned()) }
}

fn socket<'a>(reader: &mut Reader<'a>, field: &Field<'a>, folder: &Path) -> Option<PathBuf> {
    let text = reader.text(field)?;
    if text.is_empty() || text.contains('\0') {
        reader.report(field.place, &field.path, "is not a path", "write where the socket is to be made");
        return None;
    }
    Some(folder.join(text))
}

fn socket_mode<'a>(reader: &mut Reader<'a>, field: &Field<'a>) -> Option<u32> {
    let text = reader.text(field)?;
    // Who may connect may also write and read; nothing can be executed.
    let mode = match text {
        "0600" => Some(0o600),
        "0660" => Some(0o660),
        "0666" => Some(0o666),
        _ => None,
    };
    if mode.is_none() {
        let todo = "write \"0600\" for this user alone, \"0660\" for its group too, \"0666\" for everybody";
        reader.report(field.place, &field.path, "are no permission bits of a socket", todo);
    }
    mode
}
