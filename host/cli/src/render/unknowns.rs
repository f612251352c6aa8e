//! The list of unknowns: what it is, how old, and what to do about it, as a command.

use super::lines::{Lines, QUIET, STRONG};
use super::time::rfc3339;
use proofport_core::code::Code;
use proofport_core::contract::{Retry, RetryOwner};
use proofport_core::id::{OperationName, RequestId};
use proofport_core::unknown::{NextStep, UnknownEffect};
use serde::Serialize;

/// The machine form.
#[derive(Serialize)]
pub(crate) struct Unknowns<'a> {
    unknowns: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    request_id: RequestId,
    operation: &'a OperationName,
    dispatched_at: String,
    age_seconds: u64,
    code: Option<Code>,
    retry: Retry,
    retry_owner: RetryOwner,
    next: Vec<Step>,
}

#[derive(Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
enum Step {
    Wait,
    Reconcile {
        /// None: that nothing is found never proves anything.
        absence_counts_from: Option<String>,
    },
    Repeat,
    RepeatWithKey {
        until: String,
    },
    Attest,
}

impl From<NextStep> for Step {
    fn from(step: NextStep) -> Self {
        match step {
            NextStep::Wait => Self::Wait,
            NextStep::Reconcile { absence_counts_from } => {
                Self::Reconcile { absence_counts_from: absence_counts_from.map(rfc3339) }
            }
            NextStep::Repeat => Self::Repeat,
            NextStep::RepeatWithKey { until } => Self::RepeatWithKey { until: rfc3339(until) },
            NextStep::Attest => Self::Attest,
        }
    }
}

impl<'a> Unknowns<'a> {
    /// These, in their order.
    pub(crate) fn of(found: &'a [UnknownEffect]) -> Self {
        let entry = |effect: &'a UnknownEffect| Entry {
            request_id: effect.request_id,
            operation: &effect.operation,
            dispatched_at: rfc3339(effect.dispatched_at),
            age_seconds: effect.age_seconds,
            code: effect.code,
            retry: effect.retry,
            retry_owner: effect.retry_owner,
            next: effect.next.iter().copied().map(Step::from).collect(),
        };
        Self { unknowns: found.iter().map(entry).collect() }
    }
}

/// The list for a terminal: a line each, and below it what there is to know before the command is run.
pub(crate) fn text(found: &[UnknownEffect]) -> String {
    let mut lines = Lines::default();
    if found.is_empty() {
        lines.plain("Nothing is unknown.");
        return lines.done();
    }
    let operations: Vec<String> = found.iter().map(|effect| effect.operation.to_string()).collect();
    let width = operations.iter().map(String::len).max().unwrap_or_default().max(OPERATION.len());
    let head = format!("{:30}  {OPERATION:width$}  {:>9}  NEXT STEP", "CALL", "AGE");
    lines.plain(format_args!("{STRONG}{head}{STRONG:#}"));
    for (effect, operation) in found.iter().zip(&operations) {
        let (id, age) = (effect.request_id.to_string(), age(effect.age_seconds));
        let (command, remarks) = next(effect);
        lines.plain(format_args!("{id:30}  {operation:width$}  {age:>9}  {command}"));
        for remark in remarks {
            lines.plain(format_args!("{:30}  {QUIET}{remark}{QUIET:#}", ""));
        }
    }
    lines.plain(format_args!(
        "\n{QUIET}Before you attest, look at the remote: `proofport inspect ACT` shows what was sent.{QUIET:#}"
    ));
    lines.done()
}

const OPERATION: &str = "OPERATION";

/// The command to run, which is the first step's, and what else there is to know.
fn next(effect: &UnknownEffect) -> (String, Vec<String>) {
    let id = effect.request_id;
    let mut command = None;
    let mut remarks = Vec::new();
    let mut first = |text: String| match command {
        Some(_) => Some(text),
        None => {
            command = Some(text);
            None
        }
    };
    for step in &effect.next {
        match step {
            NextStep::Wait => remarks.extend(first(format!("wait, then proofport result {id}"))),
            NextStep::Reconcile { absence_counts_from } => {
                remarks.extend(first(format!("proofport reconcile {id}")).map(or));
                remarks.push(match absence_counts_from {
                    Some(from) => format!("that nothing is found counts as proof from {}", rfc3339(*from)),
                    None => "that nothing is found never counts as proof".to_owned(),
                });
            }
            NextStep::Repeat => {
                remarks.extend(first(format!("proofport retry {id}")).map(or));
                remarks.push("its contract says that sending it again is safe".to_owned());
            }
            NextStep::RepeatWithKey { until } => {
                remarks.extend(first(format!("proofport retry {id}")).map(or));
                remarks.push(format!("the remote knows its idempotency key until {}", rfc3339(*until)));
            }
            NextStep::Attest => {
                remarks.extend(first(format!("proofport attest {id} --outcome … --reason …")).map(or));
            }
        }
    }
    (command.unwrap_or_default(), remarks)
}

/// Another command than the first.
fn or(command: String) -> String {
    format!("or {command}")
}

/// How long ago, in the two largest units that are not zero.
fn age(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    if days > 0 {
        format!("{days} d {} h", hours % 24)
    } else if hours > 0 {
        format!("{hours} h {} min", minutes % 60)
    } else if minutes > 0 {
        format!("{minutes} min")
    } else {
        format!("{seconds} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofport_core::id::Name;
    use proofport_core::time::UnixMillis;

    fn effect(next: &[NextStep]) -> UnknownEffect {
        let name = |text| Name::parse(text).unwrap();
        UnknownEffect {
            request_id: RequestId::from_random([0; 16]),
            operation: OperationName { connection: name("shop"), operation: name("create_charge") },
            dispatched_at: UnixMillis(951_827_696_007),
            age_seconds: 90_061,
            code: Some(Code::OutcomeUnknown),
            retry: Retry::Reconcile,
            retry_owner: RetryOwner::Operator,
            next: next.to_vec(),
        }
    }

    #[test]
    fn every_unknown_has_a_command_and_what_to_know_before() {
        const ID: &str = "act_aaaaaaaaaaaaaaaaaaaaaaaaaa";
        let check = |next: &[NextStep], commands: &[&str], remarks: &[&str]| {
            let text = text(&[effect(next)]);
            let line = text.lines().find(|line| line.starts_with(ID)).unwrap();
            assert!(line.contains("shop.create_charge") && line.contains("1 d 1 h"), "{text}");
            for command in commands {
                assert!(line.ends_with(&format!("  {}", command.replace("ACT", ID))), "{text}");
            }
            for remark in remarks {
                assert!(text.contains(&remark.replace("ACT", ID)), "no {remark:?} in {text}");
            }
            // The heading, the line, the remarks, an empty line and the advice.
            assert_eq!(text.lines().count(), 4 + remarks.len(), "{text}");
        };
        let from = NextStep::Reconcile { absence_counts_from: Some(UnixMillis(0)) };
        let never = NextStep::Reconcile { absence_counts_from: None };
        let key = NextStep::RepeatWithKey { until: UnixMillis(0) };
        let attest = "proofport attest ACT --outcome … --reason …";
        let reconcile = "proofport reconcile ACT";
        let (retry, otherwise) = ("proofport retry ACT", "or proofport attest ACT");
        check(&[NextStep::Attest], &[attest], &[]);
        check(&[NextStep::Wait], &["wait, then proofport result ACT"], &[]);
        let waits = &["wait, then proofport result ACT"];
        check(
            &[NextStep::Wait, never, NextStep::Attest],
            waits,
            &["or proofport reconcile ACT", "never counts", otherwise],
        );
        check(&[from, NextStep::Attest], &[reconcile], &["proof from 1970-01-01T00:00:00.000Z", otherwise]);
        check(&[never, NextStep::Attest], &[reconcile], &["never counts as proof", otherwise]);
        check(&[NextStep::Repeat, NextStep::Attest], &[retry], &["sending it again is safe", otherwise]);
        check(&[key, NextStep::Attest], &[retry], &["key until 1970-01-01T00:00:00.000Z", otherwise]);
        let both = &["never counts as proof", "or proofport retry ACT", "is safe", otherwise];
        check(&[never, NextStep::Repeat, NextStep::Attest], &[reconcile], both);
        assert_eq!(text(&[]), "Nothing is unknown.\n");
    }

    #[test]
    fn the_machine_form_has_times_and_steps() {
        let from = NextStep::Reconcile { absence_counts_from: Some(UnixMillis(0)) };
        let found = [effect(&[from, NextStep::RepeatWithKey { until: UnixMillis(1) }, NextStep::Attest])];
        let expected = serde_json::json!({ "unknowns": [{
            "request_id": "act_aaaaaaaaaaaaaaaaaaaaaaaaaa",
            "operation": "shop.create_charge",
            "dispatched_at": "2000-02-29T12:34:56.007Z",
            "age_seconds": 90_061,
            "code": "OUTCOME_UNKNOWN",
            "retry": "reconcile",
            "retry_owner": "operator",
            "next": [
                { "step": "reconcile", "absence_counts_from": "1970-01-01T00:00:00.000Z" },
                { "step": "repeat_with_key", "until": "1970-01-01T00:00:00.001Z" },
                { "step": "attest" },
            ],
        }] });
        assert_eq!(serde_json::to_value(Unknowns::of(&found)).unwrap(), expected);
    }

    #[test]
    fn ages_are_short() {
        let check = |seconds: u64, expected: &str| assert_eq!(age(seconds), expected);
        check(0, "0 s");
        check(59, "59 s");
        check(60, "1 min");
        check(3_599, "59 min");
        check(3_661, "1 h 1 min");
        check(86_400, "1 d 0 h");
        check(90_061, "1 d 1 h");
    }
}
