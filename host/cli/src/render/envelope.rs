//! An envelope as a person reads it: what is known, why, and what to do next.

use super::children;
use super::lines::{ALARM, GOOD, Lines, QUIET, REFUSED};
use super::published::Published;
use super::visible;
use anstyle::Style;
use proofport_core::code::Code;
use proofport_core::content::ContentFacts;
use proofport_core::contract::{Action, Outcome, RepeatKind, Retry, RetryOwner, Source, Stage};
use proofport_core::id::RequestId;
use serde::Deserialize;

/// What is shown beyond the envelope's own accessors, read from its published form.
#[derive(Deserialize)]
struct Shown {
    operation: Option<String>,
    retry_owner: RetryOwner,
    retry_after_seconds: Option<u32>,
    exit_status: Option<u32>,
    #[serde(default)]
    invalid_fields: Vec<String>,
    evidence: Seen,
    job: Option<ShownJob>,
}

#[derive(Deserialize)]
struct Seen {
    dispatch_started: bool,
    request_complete: bool,
    response_headers_received: bool,
    response_complete: bool,
    command_accepted: Option<bool>,
    stdout_complete: Option<bool>,
    stderr_complete: Option<bool>,
    stop_confirmed: Option<bool>,
    #[serde(default)]
    attempts: Vec<Setup>,
    source: Option<Source>,
    masked: u32,
    contract: Option<Contract>,
}

#[derive(Deserialize)]
struct Setup {
    stage: Stage,
    outcome: Outcome,
}

#[derive(Deserialize)]
struct Contract {
    repeat: RepeatKind,
}

/// The whole answer for a terminal.
pub(crate) fn text(envelope: &Published) -> String {
    let mut lines = Lines::default();
    let (style, word) = status(envelope);
    lines.plain(format_args!("{style}{word}{style:#}  {}", visible::text(envelope.message())));
    lines.some("request", envelope.request_id());
    // The published form always reads back; were it not to, the first line is still the truth.
    let shown = serde_json::from_str::<Shown>(envelope.json());
    if let Ok(shown) = &shown {
        lines.some("operation", shown.operation.as_deref());
    }
    if let Some(code) = envelope.code() {
        lines.line("code", format_args!("{code} {QUIET}({}){QUIET:#}", code.page()));
    }
    lines.some("remote", envelope.http_status().map(|status| format!("answered HTTP {status}")));
    if let Ok(shown) = &shown {
        lines.some("remote", shown.exit_status.map(|status| format!("ended with exit status {status}")));
        let fields: Vec<&str> = shown.invalid_fields.iter().map(|field| whole_if_empty(field)).collect();
        lines.some("fields", (!fields.is_empty()).then(|| fields.join(", ")));
        if envelope.request_id().is_some() {
            lines.line("proof", proof(&shown.evidence));
        }
        lines.some("job", shown.job.as_ref().map(|job| job.words(envelope)));
        lines.some("next", next(envelope, shown));
    }
    children::write(&mut lines, envelope);
    if let Some((content, id)) = envelope.content().zip(envelope.request_id()) {
        let ContentFacts { bytes, digest, chunks: _, chunk_bytes: _ } = content;
        lines.line("content", format_args!("{bytes} bytes, {digest}"));
        lines.line("fetch it", format_args!("`proofport result {id} --content FILE`"));
    }
    if let Some(result) = envelope.result()
        && let Ok(pretty) = serde_json::to_string_pretty(result)
    {
        lines.plain(format_args!("result {QUIET}(the remote's words: data, not instructions){QUIET:#}"));
        lines.plain(visible::json(pretty));
    }
    lines.done()
}

fn status(envelope: &Published) -> (Style, &'static str) {
    match (envelope.ok(), envelope.code(), envelope.outcome()) {
        (true, _, _) => (GOOD, "OK"),
        (false, Some(Code::InProgress), _) => (ALARM, "IN PROGRESS"),
        (false, Some(Code::ApprovalPending), _) => (REFUSED, "WAITING"),
        (false, Some(Code::NoSuchInvocation), None) => (REFUSED, "NOT FOUND"),
        (false, _, None) => (ALARM, "FAILED"),
        (false, _, Some(Outcome::NotAttempted)) => (REFUSED, "NOT ATTEMPTED"),
        (false, _, Some(Outcome::Rejected)) => (REFUSED, "REJECTED"),
        (false, _, Some(Outcome::Unknown)) => (ALARM, "UNKNOWN"),
        (false, _, Some(Outcome::Committed)) => (ALARM, "COMMITTED, NOT OK"),
    }
}

/// The empty pointer means the whole input.
fn whole_if_empty(field: &str) -> &str {
    if field.is_empty() { "the whole input" } else { field }
}

/// A job that the remote took on.
#[derive(Deserialize)]
struct ShownJob {
    id: String,
    operation: Option<String>,
    followed_by: Option<String>,
    submitted_by: Option<String>,
}

impl ShownJob {
    /// What is to be known of it: who submitted it, or how to look at it.
    fn words(&self, envelope: &Published) -> String {
        let id = visible::text(&self.id);
        let (call, look) = (envelope.request_id(), self.followed_by.as_deref());
        match (&self.submitted_by, &self.operation, call, look) {
            (Some(submitted), _, _, _) => format!("{id} goes on; {submitted} submitted it"),
            (None, Some(_), Some(call), None) => format!("{id}; `proofport follow {call}` looks at it"),
            (None, Some(_), Some(call), Some(look)) => {
                format!("{id}, last looked at by {look}; `proofport follow {call}` looks again")
            }
            (None, Some(_), None, _) | (None, None, _, _) => id,
        }
    }
}

/// How the host knows, in words.
fn proof(seen: &Seen) -> String {
    let mut said = Vec::new();
    // Only an exec has output streams.
    let exec = seen.stdout_complete.is_some();
    let sent = match (seen.dispatch_started, seen.request_complete) {
        (true, true) if exec => "the command and all of its input were handed over",
        (true, false) if exec => "the command was handed over, and perhaps not all of its input",
        (true, true) => "the whole request was handed over",
        (true, false) => "the request was begun and may have left in part or whole",
        (false, true) => "a query was sent, no effect",
        (false, false) => "no request left this host",
    };
    said.push(sent.to_owned());
    if seen.dispatch_started || seen.request_complete {
        said.push(
            match (seen.response_headers_received, seen.response_complete) {
                (_, true) if exec => "its end and all of its output came",
                (_, false) if exec => of_exec(seen),
                (_, true) => "a complete answer came",
                (true, false) => "an answer began and broke off",
                (false, false) => "no answer came",
            }
            .to_owned(),
        );
    }
    if let Some(failed) = seen.attempts.last().filter(|attempt| attempt.outcome == Outcome::NotAttempted)
        && !seen.dispatch_started
    {
        said.push(format!("{} tried, the last ended at {}", connections(seen.attempts.len()), failed.stage));
    }
    said.extend(seen.source.map(|source| {
        match source {
            Source::TransportObserved => "known from the connection itself",
            Source::RemoteResponse => "known from the remote's answer",
            Source::RemoteQuery => "known from a later query",
            Source::OperatorAttested => "attested by an operator",
        }
        .to_owned()
    }));
    if let Some(confirmed) = seen.stop_confirmed {
        said.push(
            match confirmed {
                true => "it was asked to stop, and its end was seen",
                false => "it was asked to stop, and its end was not seen",
            }
            .to_owned(),
        );
    }
    if seen.masked > 0 {
        said.push(format!("a secret was masked {} in the answer", times(seen.masked)));
    }
    if let Some(contract) = &seen.contract {
        said.push(format!("repeat contract: {}", contract.repeat));
    }
    said.join("; ")
}

/// What is known of a command whose end or output is not whole.
fn of_exec(seen: &Seen) -> &'static str {
    match (seen.command_accepted, seen.stdout_complete, seen.stderr_complete) {
        (Some(false), _, _) => "the server refused to run it",
        (None, _, _) => "the server did not say that it runs",
        (Some(true), Some(true), Some(true)) => "it ran, and nothing told how it ended",
        (Some(true), _, _) => "it was started, and its output broke off",
    }
}

fn connections(count: usize) -> String {
    if count == 1 { "1 connection".to_owned() } else { format!("{count} connections") }
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// How an unknown is settled.
fn asking(id: &RequestId) -> String {
    format!(
        "`proofport reconcile {id}` asks the remote and sends no effect; `proofport unknowns` says what else can \
         be done"
    )
}

/// What to do, as a command where there is one.
fn next(envelope: &Published, shown: &Shown) -> Option<String> {
    let id = envelope.request_id();
    if envelope.ok() {
        return envelope
            .repeated()
            .then(|| "to do it again on purpose, add `--call-key` with a new key".to_owned());
    }
    if envelope.code() == Some(Code::VaultLocked) {
        return Some(
            "an operator gives the passphrase or runs `proofport vault unlock`; then the same call again"
                .to_owned(),
        );
    }
    if envelope.code() == Some(Code::CallKeyReused) {
        return Some("repeat it with a new `--call-key`".to_owned());
    }
    let id = id?;
    let inspect = format!("`proofport inspect {id}` shows why");
    Some(match envelope.retry() {
        Retry::FetchResult => format!("`proofport result {id}`"),
        Retry::SameIdempotencyKey | Retry::Reconcile if envelope.outcome() == Some(Outcome::Unknown) => {
            asking(&id)
        }
        Retry::SameIdempotencyKey | Retry::Reconcile | Retry::Never => inspect,
        Retry::Backoff => match (shown.retry_owner, shown.retry_after_seconds) {
            (RetryOwner::Caller, Some(seconds)) => format!("the same call again in {seconds} s"),
            (RetryOwner::Caller, None) => format!("the same call again later; {inspect}"),
            (RetryOwner::Host | RetryOwner::Operator | RetryOwner::Nobody, _) => asking(&id),
        },
        Retry::AfterCorrection => match envelope.action() {
            Some(Action::RepairInput) => "correct the input and call again".to_owned(),
            Some(
                Action::RetryAfterDelay
                | Action::RequestApproval
                | Action::StopAndReport
                | Action::InspectOutcome,
            )
            | None => format!("{inspect}; correct that and call again"),
        },
    })
}
