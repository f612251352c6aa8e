//! Requests as connectors word them, and complete responses as connectors see them.

use crate::contract::Role;
use crate::digest::Digest;
use crate::id::Name;
use crate::manifest::QueryTemplate;
use crate::origin::{Origin, OriginForm};
use serde::{Deserialize, Serialize};

/// What a connector wants sent, parsed and checked against the world's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Send {
    /// Query or effect.
    pub role: Role,
    /// The request.
    pub request: Request,
    /// What it does, for the person who approves it.
    pub summary: String,
}

/// A request without origin's defaults resolved, framing and authentication, which are the host's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Over HTTP.
    Http(HttpRequest),
    /// Over SSH.
    Ssh(SshRequest),
}

impl Request {
    /// The digest of the exact request before credential injection: what an approval binds and what
    /// a repeat must equal.
    #[must_use]
    pub fn fingerprint(&self) -> Digest {
        // serde_json on these types can't fail: no maps with non-string keys, no floats.
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        Digest::of_parts("proofport.request/1", &[&bytes])
    }

    /// The slot whose credential is attached.
    #[must_use]
    pub const fn credential(&self) -> Option<&Name> {
        match self {
            Self::Http(request) => request.credential.as_ref(),
            Self::Ssh(request) => request.credential.as_ref(),
        }
    }

    /// Whether this may be sent in the role of a query: GET and HEAD without a body, or a reviewed
    /// template.
    #[must_use]
    pub fn is_query(&self, templates: &[QueryTemplate]) -> bool {
        match self {
            Self::Http(request) => {
                let plain = matches!(request.method.as_str(), "GET" | "HEAD") && request.body.is_none();
                plain || templates.iter().any(|template| request.matches(template))
            }
            Self::Ssh(request) => templates.iter().any(|template| request.matches(template)),
        }
    }
}

/// An HTTP request. Its `origin` has been resolved against the connection's list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRequest {
    /// One of the connection's origins.
    pub origin: Origin,
    /// An upper-case method token.
    pub method: String,
    /// Path and query.
    pub path: OriginForm,
    /// Names in lower case. Never a header that the host owns.
    pub headers: Vec<Header>,
    /// The content.
    #[serde(with = "base64_bytes")]
    pub body: Option<Vec<u8>>,
    /// The slot whose credential is attached.
    pub credential: Option<Name>,
}

impl HttpRequest {
    fn matches(&self, template: &QueryTemplate) -> bool {
        match template {
            QueryTemplate::Http { method, path } => {
                let mut want = path.split('/');
                let mut have = self.path.path().split('/');
                *method == self.method
                    && loop {
                        match (want.next(), have.next()) {
                            (None, None) => break true,
                            (Some("{}"), Some(segment)) if !segment.is_empty() => {}
                            (Some(want), Some(have)) if want == have => {}
                            (_, _) => break false,
                        }
                    }
            }
            QueryTemplate::Ssh(_) => false,
        }
    }
}

/// A header field; its name is in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Lower-case field name.
    pub name: String,
    /// Field value: visible ASCII, space and tab.
    pub value: String,
}

/// An SSH exec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SshRequest {
    /// One of the connection's hosts, `user@host:port` as spelled there; none: the first.
    pub host: Option<String>,
    /// What runs.
    pub command: SshCommand,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// Standard input.
    #[serde(with = "base64_bytes")]
    pub stdin: Option<Vec<u8>>,
    /// The slot whose credential logs in.
    pub credential: Option<Name>,
}

impl SshRequest {
    fn matches(&self, template: &QueryTemplate) -> bool {
        match (template, &self.command) {
            (QueryTemplate::Ssh(want), SshCommand::Argv(have)) => {
                // What was reviewed is all that is sent. An option is no argument that stands for any other.
                let plain = self.environment.is_empty() && self.stdin.as_ref().is_none_or(Vec::is_empty);
                plain
                    && want.len() == have.len()
                    && want.iter().zip(have).all(|(want, have)| match want.as_str() {
                        "{}" => !have.starts_with('-'),
                        want => want == have,
                    })
            }
            (QueryTemplate::Ssh(_), SshCommand::Raw(_)) | (QueryTemplate::Http { .. }, _) => false,
        }
    }
}

/// What an SSH exec runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SshCommand {
    /// An argument vector, quoted by the host.
    Argv(Vec<String>),
    /// A text for the remote shell.
    Raw(String),
}

/// A complete response, masked by the leak guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// Over HTTP.
    Http(HttpResponse),
    /// Over SSH.
    Ssh(SshResponse),
}

/// A complete HTTP response with the kept headers only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpResponse {
    /// The final status.
    pub status: u16,
    /// Kept headers, names in lower case, in order.
    pub headers: Vec<Header>,
    /// The content; empty where it is stored.
    pub body: Vec<u8>,
    /// The content that the host stored instead of showing it.
    #[serde(default)]
    pub stored: Option<StoredContent>,
}

/// What a connector learns of a content that is stored and that it doesn't see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredContent {
    /// How long it is, in bytes.
    pub bytes: u64,
    /// SHA-256 of the whole.
    pub digest: Digest,
}

/// A finished remote command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SshResponse {
    /// How it ended.
    pub exit: SshExit,
    /// Standard output, complete; empty where it is stored.
    pub stdout: Vec<u8>,
    /// Standard error, complete.
    pub stderr: Vec<u8>,
    /// The standard output that the host stored instead of showing it.
    #[serde(default)]
    pub stored: Option<StoredContent>,
}

/// How a remote command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SshExit {
    /// With this status, all 32 bits.
    Status(u32),
    /// By this signal, named without `SIG`.
    Signal(String),
    /// By the declared completion marker.
    Marker,
}

/// A request and its complete response, as a connector's history shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// Query or effect.
    pub role: Role,
    /// What was sent, without credential.
    pub request: Request,
    /// What came back.
    pub response: Response,
}

/// Headers that the host alone writes: framing, routing and authentication. A connector that sets
/// one is refused, whatever the value.
#[must_use]
pub fn host_owns_header(lower_case_name: &str) -> bool {
    matches!(
        lower_case_name,
        "host"
            | "content-length"
            | "transfer-encoding"
            | "connection"
            | "keep-alive"
            | "te"
            | "trailer"
            | "upgrade"
            | "expect"
            | "accept-encoding"
            | "authorization"
            | "proxy-authorization"
            | "proxy-connection"
            | "cookie"
            | "forwarded"
            | "via"
            | "x-forwarded-for"
            | "x-forwarded-host"
            | "x-forwarded-proto"
            | "x-amz-date"
            | "x-amz-security-token"
            | "x-amz-content-sha256"
    )
}

mod base64_bytes {
    use data_encoding::BASE64;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, s: S) -> Result<S::Ok, S::Error> {
        match bytes {
            Some(bytes) => s.serialize_some(&BASE64.encode(bytes)),
            None => s.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Vec<u8>>, D::Error> {
        Option::<String>::deserialize(d)?
            .map(|text| BASE64.decode(text.as_bytes()).map_err(serde::de::Error::custom))
            .transpose()
    }
}
