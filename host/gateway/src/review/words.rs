//! Contracts in sentences: what the host does on their word.

use super::plain;
use proofport_core::contract::{Effect, KeyPlace, KeyedContract, Repeat};
use proofport_core::manifest::{Batch, BatchMode, Contract, Reconcile};

/// Every promise of the contract that a decision rests on, one sentence each.
pub(super) fn promises(contract: &Contract) -> Vec<String> {
    let mut promises = match contract.effect {
        Effect::Read => vec!["Changes nothing; may be asked again at any time.".to_owned()],
        Effect::Write => {
            let mut write = vec![repeat(&contract.repeat)];
            write.push(reconcile(contract.reconcile));
            write
        }
    };
    promises.extend(before_work(contract));
    promises.extend(contract.batch.as_ref().map(|batch| self::batch(batch, &contract.repeat)));
    if let Some(job) = &contract.job_operation {
        promises.push(format!("May start work that goes on at the remote; `{job}` follows it."));
    }
    if let Some(marker) = &contract.completion_marker {
        promises.push(format!(
            "A line of output with `{}` and the call's reference is taken as proof that the command finished.",
            plain(marker)
        ));
    }
    if let Some(seconds) = contract.stop_grace_seconds {
        promises.push(format!(
            "A caller who cancels has the command asked to stop (SIGTERM), and waited for up to {}.",
            duration(seconds.into())
        ));
    }
    promises
}

/// HTTP's final statuses begin at 200, and below that no HTTP status can be listed.
fn before_work(contract: &Contract) -> Vec<String> {
    let listed = |exit: bool| {
        let statuses = contract.statuses_before_work.iter().filter(|status| (**status < 200) == exit);
        statuses.map(u16::to_string).collect::<Vec<_>>().join(" or ")
    };
    let (exit, http) = (listed(true), listed(false));
    let mut promises = Vec::new();
    if !http.is_empty() {
        promises.push(format!("A complete {http} is taken as proof that nothing was done."));
    }
    if !exit.is_empty() {
        promises.push(format!(
            "Exit status {exit} is taken as proof that nothing was done, where the connector finds in the output that \
             it was."
        ));
    }
    promises
}

fn repeat(repeat: &Repeat) -> String {
    match repeat {
        Repeat::None => {
            "A second arrival may be a second effect: while the outcome is unknown, nothing is sent again."
                .to_owned()
        }
        Repeat::Idempotent => {
            "While the outcome is unknown, the same request may be sent again: any number of them \
                               is said to have the effect of one."
                .to_owned()
        }
        Repeat::Conditional => {
            "The remote is said to refuse a second arrival by a precondition; while the outcome \
                                is unknown, nothing is sent again."
                .to_owned()
        }
        Repeat::Keyed(contract) => keyed(contract),
    }
}

fn keyed(contract: &KeyedContract) -> String {
    let place = match &contract.place {
        KeyPlace::Header(name) => format!("in the header `{}`", plain(name)),
        KeyPlace::Connector => "where the connector puts it".to_owned(),
    };
    let window = match contract.retention_seconds {
        Some(seconds) => format!("for {} from its first use", duration(seconds)),
        None => "within the connection's `key_window_seconds`, since no retention is published".to_owned(),
    };
    let payload = match contract.compares_payload {
        true => "it refuses a known key with other content",
        false => "it does not compare the content",
    };
    let mark = contract.replay_header.as_deref().map(|name| {
        let name = plain(name);
        format!(" An answer with the header `{name}` is taken for the first request's: a refusal, too, settles all.")
    });
    let mark = mark.unwrap_or_default();
    format!(
        "While the outcome is unknown, the same bytes may be sent again with the same key ({place}), {window}, less \
         margins: the remote is said to deduplicate per {}; {payload}.{mark}",
        plain(&contract.scope)
    )
}

fn reconcile(reconcile: Option<Reconcile>) -> String {
    let Some(Reconcile { absence_settles_after_seconds, automatic }) = reconcile else {
        return "The remote can't be asked what happened: an unknown outcome waits for a person.".to_owned();
    };
    let who = if automatic { "by itself" } else { "when asked to" };
    let absence = match absence_settles_after_seconds {
        Some(seconds) => format!(
            "finding nothing counts as proof that nothing happened {} after the last dispatch",
            duration(seconds.into())
        ),
        None => "finding nothing proves nothing".to_owned(),
    };
    format!("The host can ask the remote what happened, {who}; {absence}.")
}

fn batch(batch: &Batch, repeat: &Repeat) -> String {
    let fate = match batch.mode {
        BatchMode::Independent => {
            "each with a fate of its own; a retry sends those alone that may be sent again"
        }
        BatchMode::Atomic => "which stand or fall together",
    };
    let own_keys = match (batch.mode, repeat) {
        (BatchMode::Independent, Repeat::Keyed(keyed)) => keyed.place == KeyPlace::Connector,
        (BatchMode::Atomic | BatchMode::Independent, _) => false,
    };
    let keys = if own_keys { " The remote is said to know each child by a key of its own." } else { "" };
    format!("Carries up to {} children, {fate}.{keys}", batch.max)
}

/// A number of seconds in the largest unit that it fills without remainder.
fn duration(seconds: u64) -> String {
    let (count, unit) = match seconds {
        s if s > 0 && s.is_multiple_of(86_400) && s > 86_400 => (s / 86_400, "day"),
        s if s > 0 && s.is_multiple_of(3600) => (s / 3600, "hour"),
        s if s > 0 && s.is_multiple_of(60) => (s / 60, "minute"),
        s => (s, "second"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
