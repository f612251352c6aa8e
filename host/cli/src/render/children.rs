//! The children of a batch, one a line.

use super::lines::{ALARM, GOOD, Lines, QUIET, REFUSED};
use super::published::{Child, Published};
use super::visible;
use anstyle::Style;
use proofport_core::contract::{Action, Outcome, Retry};

/// How a child ended, in a word.
fn status(child: &Child) -> (Style, &'static str) {
    match (child.ok(), child.outcome()) {
        (true, _) => (GOOD, "OK"),
        (false, Outcome::NotAttempted) => (REFUSED, "NOT ATTEMPTED"),
        (false, Outcome::Rejected) => (REFUSED, "REJECTED"),
        (false, Outcome::Unknown) => (ALARM, "UNKNOWN"),
        (false, Outcome::Committed) => (ALARM, "COMMITTED, NOT OK"),
    }
}

/// What may be done about it; none where there is nothing to do.
fn advice(child: &Child) -> Option<&'static str> {
    if child.ok() {
        return None;
    }
    Some(match (child.retry(), child.action()) {
        (Retry::Backoff, _) => "may be sent again later",
        (Retry::SameIdempotencyKey, _) => "may be sent again with the same key",
        (Retry::Reconcile, _) => "may have happened: ask the remote first",
        (Retry::FetchResult, _) => "its result can be fetched",
        (Retry::AfterCorrection, Some(Action::RepairInput)) => "correct it, and send it in a new call",
        (Retry::AfterCorrection, _) => "an operator has to correct something",
        (Retry::Never, Some(Action::InspectOutcome)) => "look at it before doing anything",
        (Retry::Never, _) => "not to be sent again",
    })
}

/// A line for each child, and its output below it.
pub(super) fn write(lines: &mut Lines, envelope: &Published) {
    for child in envelope.children() {
        let (style, word) = status(child);
        let code = child.code().map(|code| format!(" {code}")).unwrap_or_default();
        let advice = advice(child).map(|advice| format!("; {advice}")).unwrap_or_default();
        let id = visible::text(child.id());
        lines.line(
            &format!("[{}]", child.index()),
            format_args!("{id}  {style}{word}{style:#}{code}{advice}"),
        );
        if let Some(result) = child.result() {
            let shown = visible::json(result.to_string());
            lines.line("", format_args!("{QUIET}the remote's words:{QUIET:#} {shown}"));
        }
    }
}
