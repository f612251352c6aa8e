//! What a file of cases holds.
//!
//! A file is for one row. Its table `all` is laid under each of its cases, so that a case says only what
//! is its own.

use proofport_core::code::Code;
use proofport_core::contract::{Action, Outcome, Phase, Retry, RetryOwner, Source};
use proofport_core::evidence::{Cause, Completion};
use serde::Deserialize;
use std::collections::BTreeMap;

/// One answer, or what the peer does instead, and what must be claimed of it. It is run over each protocol,
/// under each contract, with and without the effect where `applies` says both.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) over: Vec<Over>,
    pub(crate) contracts: Vec<Contract>,
    /// Whether the peer applies the effect before it answers.
    pub(crate) applies: Vec<bool>,
    /// How much content the request has.
    #[serde(default = "few")]
    pub(crate) bytes: usize,
    /// The connection's own.
    #[serde(default)]
    pub(crate) trusted_hops: Vec<String>,
    #[serde(default)]
    pub(crate) repeating_hops: Hops,
    /// The connection's own.
    #[serde(default)]
    pub(crate) limits: BTreeMap<String, u64>,
    #[serde(default)]
    pub(crate) through: Through,
    #[serde(default)]
    pub(crate) host: Host,
    #[serde(default)]
    pub(crate) answer: Answer,
    /// What the peer does over HTTP/1.1; not set: it reads the request, applies the effect, answers.
    pub(crate) http1: Option<Vec<Act>>,
    /// What the peer does over HTTP/2; not set: the same there.
    pub(crate) http2: Option<Vec<Act>>,
    #[serde(default)]
    pub(crate) sees: Sees,
    pub(crate) expect: Expect,
}

const fn few() -> usize {
    8
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Over {
    /// HTTP/1.1 without TLS.
    Http1,
    /// HTTP/1.1 over TLS.
    Tls,
    /// HTTP/2 over TLS; contracts that don't use it are left out.
    H2,
}

/// The operations of the guest `contracts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Contract {
    /// `repeat: none`, and nothing can be asked for.
    Plain,
    /// `repeat: none`; it can be asked what became of it.
    Looks,
    /// `repeat: none`; 303, 307, 403, 408, 500, 502, 503 and 504 are listed as sent before any work.
    Lists,
    Idempotent,
    /// Keyed, with `running_status` 409 and a window of a day.
    Keyed,
    /// Keyed, with `running_status` 409 and a window that is over at once.
    Expired,
    Conditional,
    /// `repeat: none`; a 202 names a job.
    Job,
}

impl Contract {
    pub(crate) const fn operation(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Looks => "looks",
            Self::Lists => "lists",
            Self::Idempotent => "idempotent",
            Self::Keyed => "keyed",
            Self::Expired => "expired",
            Self::Conditional => "conditional",
            Self::Job => "job",
        }
    }

    /// Whether the same request may arrive twice, so that HTTP/2 may be used.
    pub(crate) const fn is_repeatable(self) -> bool {
        match self {
            Self::Idempotent | Self::Keyed | Self::Expired => true,
            Self::Plain | Self::Looks | Self::Lists | Self::Conditional | Self::Job => false,
        }
    }

    /// What may be done about an unknown (design section 5, "by contract").
    const fn retry_of_unknown(self) -> Retry {
        match self {
            Self::Idempotent => Retry::Backoff,
            Self::Keyed => Retry::SameIdempotencyKey,
            Self::Plain | Self::Looks | Self::Lists | Self::Expired | Self::Conditional | Self::Job => {
                Retry::Reconcile
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Through {
    #[default]
    Nothing,
    /// The peer is a proxy that reads and forwards plain HTTP.
    ForwardProxy,
}

/// What the connection says of intermediaries that send a request on twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Hops {
    /// Nothing.
    #[default]
    Perhaps,
    /// That there are none.
    None,
}

/// What the host does when the peer has given its signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Host {
    #[default]
    Waits,
    /// It stops, and another goes on with what it left on disk.
    Stops,
}

/// How much of the request the peer sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sees {
    /// All of it.
    #[default]
    All,
    /// No byte of its content.
    Head,
    /// However much.
    Anything,
}

/// An answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) framing: Framing,
    pub(crate) trailers: Vec<(String, String)>,
    /// Statuses that announce it.
    pub(crate) interim: Vec<u16>,
    /// How many of its last bytes are missing; over HTTP/2, of its content, and then its stream's end as
    /// well.
    pub(crate) cut: usize,
    pub(crate) end: End,
}

/// How an answer over HTTP/1.1 says where it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Framing {
    #[default]
    Length,
    Chunked,
    /// Not at all: the connection's end is its own.
    Close,
    /// It has no content.
    None,
}

/// What the peer does after its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// FIN, over TLS with close_notify before it.
    #[default]
    Close,
    /// FIN alone.
    Cut,
    /// RST of TCP.
    Reset,
    /// Nothing any more.
    Hold,
}

/// One thing that the peer does. The words are those of the scripts of `proofport_tests::peer`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    ReadRequest,
    ReadHead,
    ReadBody,
    /// Reads so many bytes.
    Read(usize),
    /// Applies the effect, where this run applies it.
    Effect,
    /// Tells that the script came this far.
    Signal,
    /// Sends the answer, and ends as it says.
    Answer,
    /// Sends these bytes.
    Send(String),
    /// Sends these bytes so many times.
    SendTimes(String, usize),
    Close,
    Cut,
    Reset,
    Hold,
    /// Sends HEADERS with this status, and END_STREAM or not.
    Headers(u16, bool),
    /// Sends HEADERS with these fields alone, and END_STREAM.
    Fields(Vec<(String, String)>),
    /// Sends DATA with this content, and END_STREAM or not.
    Data(String, bool),
    /// Sends HEADERS with this interim status.
    Informational(u16),
    /// Sends RST_STREAM with this code.
    ResetStream(u32),
    /// Sends GOAWAY with this last stream and this code.
    GoAway(u32, u32),
    /// Sends a frame of this type, flags, stream and payload.
    Frame(u8, u8, u32, Vec<u8>),
}

/// What must be claimed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    pub(crate) outcome: Outcome,
    /// Not set: success.
    pub(crate) code: Option<Code>,
    pub(crate) retry: Allowed,
    pub(crate) owner: RetryOwner,
    /// Not set: none, as with success.
    pub(crate) action: Option<Action>,
    pub(crate) phase: Phase,
    pub(crate) source: Source,
    /// Not set: none is shown.
    pub(crate) http_status: Option<u16>,
    /// Not set: none is shown.
    pub(crate) retry_after: Option<u32>,
    /// Not set: there is none.
    pub(crate) job: Option<String>,
    /// What proved that the answer is complete. Not set: not asked here.
    pub(crate) completion: Option<Completion>,
    /// What broke. Not set: not asked here.
    pub(crate) cause: Option<Cause>,
    /// How many interim answers were seen.
    #[serde(default)]
    pub(crate) interim: u32,
}

/// What automation may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Allowed {
    Is(Retry),
    /// What an unknown allows under the contract.
    ByContract,
}

impl TryFrom<String> for Allowed {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        match Retry::parse(&word) {
            Some(retry) => Ok(Self::Is(retry)),
            None if word == "by_contract" => Ok(Self::ByContract),
            None => Err(format!("`{word}` is no retry")),
        }
    }
}

impl Allowed {
    pub(crate) const fn under(self, contract: Contract) -> Retry {
        match self {
            Self::Is(retry) => retry,
            Self::ByContract => contract.retry_of_unknown(),
        }
    }
}

/// The cases of a file.
pub(crate) fn parse(text: &str) -> Result<Vec<Case>, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[serde(default)]
        all: toml::Table,
        #[serde(default)]
        case: Vec<toml::Table>,
    }
    let File { all, case: cases } = toml::from_str(text).map_err(|error| error.to_string())?;
    let read = |case: toml::Table| {
        let laid = laid_over(&all, case);
        let name = laid.get("name").map(ToString::to_string).unwrap_or_default();
        laid.try_into().map_err(|error| format!("{name}: {error}"))
    };
    cases.into_iter().map(read).collect()
}

/// A table over another: tables in both are merged, anything else replaces what is beneath.
fn laid_over(beneath: &toml::Table, over: toml::Table) -> toml::Table {
    let mut laid = beneath.clone();
    for (key, value) in over {
        let merged = match (laid.get(&key), value) {
            (Some(toml::Value::Table(beneath)), toml::Value::Table(over)) => {
                toml::Value::Table(laid_over(beneath, over))
            }
            (_, value) => value,
        };
        laid.insert(key, merged);
    }
    laid
}
