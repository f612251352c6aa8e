//! The audit log, verified and opened.

use super::lines::{ALARM, GOOD, Lines, QUIET};
use super::time::rfc3339;
use super::timeline::details;
use super::visible;
use crate::args::By;
use proofport_core::event::Event;
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;
use proofport_gateway::{AuditEntry, Exported, Head, PublicKey};
use serde::Serialize;
use std::collections::HashMap;

/// How many open dispatches are listed for people.
const MOST_LISTED: usize = 20;

/// The machine form of a verification.
#[derive(Serialize)]
pub(crate) struct Report {
    verified: bool,
    findings: Vec<Finding>,
    first_block: u64,
    head: String,
    first_event: u64,
    last_event: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    older_events: Option<u64>,
    segments: u64,
    checkpoints: u64,
    keys: Vec<Signing>,
    signed_through: u64,
    removed_through: u64,
    open: Vec<Open>,
    unsettled: u64,
}

#[derive(Serialize)]
struct Finding {
    block: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte: Option<u64>,
    what: String,
}

#[derive(Serialize)]
struct Signing {
    from_block: u64,
    key: String,
}

#[derive(Serialize)]
struct Open {
    event: u64,
    block: u64,
    tag: String,
}

impl Report {
    pub(crate) fn of(report: &proofport_gateway::Report) -> Self {
        let findings = report.findings.iter().map(|finding| Finding {
            block: finding.block,
            byte: finding.offset,
            what: finding.what.to_string(),
        });
        let keys = report.keys.iter();
        let keys = keys.map(|signing| Signing { from_block: signing.from, key: signing.key.to_string() });
        let open = report.open.iter();
        let open = open.map(|open| Open { event: open.event, block: open.block, tag: open.tag.to_string() });
        Self {
            verified: report.is_verified(),
            findings: findings.collect(),
            first_block: report.first_block,
            head: report.head.to_string(),
            first_event: report.first_event,
            last_event: report.last_event,
            older_events: report.older_events,
            segments: report.segments,
            checkpoints: report.checkpoints,
            keys: keys.collect(),
            signed_through: report.signed_through,
            removed_through: report.removed_through,
            open: open.collect(),
            unsettled: report.unsettled,
        }
    }
}

/// A verification for a terminal: what is wrong, each on a line, and what was verified.
pub(crate) fn report(report: &proofport_gateway::Report) -> String {
    let mut lines = Lines::default();
    let (first, last) = (report.first_block, report.head.block);
    if report.is_verified() && last == 0 {
        lines.plain(format_args!("{GOOD}verified{GOOD:#}: the log has not begun"));
    } else if report.is_verified() {
        lines.plain(format_args!("{GOOD}verified{GOOD:#}: blocks {first} to {last}"));
    }
    for finding in &report.findings {
        lines.plain(format_args!("{ALARM}not verified{ALARM:#}: {finding}"));
    }
    if report.head.block == 0 {
        return lines.done();
    }
    lines.line("events", format_args!("{} to {}", report.first_event, report.last_event));
    let older = report.older_events.filter(|older| *older > 0);
    lines.some("older", older.map(|older| format!("{older} events are older than the log and not in it")));
    let removed = Some(report.removed_through).filter(|removed| *removed > 0);
    lines.some("removed", removed.map(|last| format!("blocks up to {last}, after they were exported")));
    lines.line("segments", report.segments);
    let unsigned = last.saturating_sub(report.signed_through);
    let behind = if unsigned > 0 { format!(", {unsigned} blocks after the last one") } else { String::new() };
    lines.line("checkpoints", format_args!("{}{behind}", report.checkpoints));
    for signing in &report.keys {
        lines.line("key", format_args!("{} from block {}", signing.key, signing.from));
    }
    lines.line("unsettled", format_args!("{} recorded as ended and not settled", report.unsettled));
    lines.line("open", format_args!("{} dispatched without an end at the head", report.open.len()));
    for open in report.open.iter().take(MOST_LISTED) {
        lines.line("", format_args!("event {} in block {}, tag {}", open.event, open.block, open.tag));
    }
    if report.open.len() > MOST_LISTED {
        lines.line("", "and more: --json lists all of them");
    }
    lines.line("head", report.head);
    lines.done()
}

/// Where a log ends, for machines.
#[derive(Serialize)]
pub(crate) struct Told {
    head: String,
    key: String,
}

impl Told {
    pub(crate) fn of(head: &Head, key: &PublicKey) -> Self {
        Self { head: head.to_string(), key: key.to_string() }
    }
}

/// Where a log ends, for a terminal.
pub(crate) fn head(head: &Head, key: &PublicKey) -> String {
    format!("{head}\n{key}\n")
}

/// What was exported.
pub(crate) fn exported(exported: &Exported, path: &str) -> String {
    let Exported { first_block, head, key, bytes } = exported;
    format!(
        "{path} holds blocks {first_block} to {}, {bytes} bytes.\n\
         Note elsewhere, since no file proves that it is the newest:\n  \
         --expected-head {head}\n  --expected-key {key}\n",
        head.block
    )
}

/// What a log holds, in groups.
#[derive(Serialize)]
pub(crate) struct Shown<'a> {
    groups: Vec<Group<'a>>,
}

#[derive(Serialize)]
struct Group<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<RequestId>,
    events: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    seq: u64,
    time: String,
    #[serde(skip)]
    at: UnixMillis,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<RequestId>,
    #[serde(flatten)]
    event: &'a Event,
}

impl<'a> Shown<'a> {
    /// These entries in order; groups stand in the order in which they began.
    pub(crate) fn of(entries: &'a [AuditEntry], by: Option<By>) -> Self {
        let sessions: HashMap<RequestId, &str> = entries.iter().filter_map(session).collect();
        let mut places: HashMap<(Option<&str>, Option<RequestId>), usize> = HashMap::new();
        let mut groups: Vec<Group<'_>> = Vec::new();
        for entry in entries {
            let of = entry.invocation.and_then(|id| sessions.get(&id).copied());
            let key = match by {
                None => (None, None),
                Some(By::Session) => (of, None),
                Some(By::Call) => (None, entry.invocation),
            };
            let place = *places.entry(key).or_insert_with(|| {
                groups.push(Group { session: key.0, request_id: key.1, events: Vec::new() });
                groups.len() - 1
            });
            let lines = (entry.first_event..).zip(&entry.events).map(|(seq, event)| Line {
                seq,
                time: rfc3339(entry.at),
                at: entry.at,
                request_id: entry.invocation.filter(|_| by != Some(By::Call)),
                event,
            });
            if let Some(group) = groups.get_mut(place) {
                group.events.extend(lines);
            }
        }
        Self { groups }
    }
}

/// Whose session an invocation belongs to, where this entry says so.
fn session(entry: &AuditEntry) -> Option<(RequestId, &str)> {
    let id = entry.invocation?;
    entry.events.iter().find_map(|event| {
        if let Event::ActionAccepted(accepted) = event { Some((id, accepted.session.as_str())) } else { None }
    })
}

/// The same for a terminal.
pub(crate) fn shown(shown: &Shown<'_>) -> String {
    let mut lines = Lines::default();
    for group in &shown.groups {
        match (group.session, group.request_id) {
            (Some(session), _) => lines.heading(&visible::text(session)),
            (None, Some(id)) => lines.heading(&id.to_string()),
            (None, None) if shown.groups.len() > 1 => lines.heading("the host"),
            (None, None) => {}
        }
        for Line { seq, at, request_id, event, .. } in &group.events {
            let of = request_id.map(|id| format!("{id}  ")).unwrap_or_default();
            let (at, kind) = (rfc3339(*at), event.kind());
            let line = format!("{QUIET}{seq:>6}  {at}{QUIET:#}  {of}{kind:<24} {}", details(event));
            lines.plain(line.trim_end());
        }
    }
    lines.done()
}
