//! The list of unknowns: what it is, how old, and what to do about it, as a command.

use super::lines::{Lines, QUIET, STRONG};
use super::time::rfc3339;
use super::visible;
use proofport_core::batch::{ChildId, WhyUnknown};
use proofport_core::code::Code;
use proofport_core::contract::{Retry, RetryOwner};
use proofport_core::id::{OperationName, RequestId};
use proofport_core::unknown::{NextStep, UnknownChild, UnknownEffect};
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
    /// Of a batch, those of its children that are unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<Child<'a>>,
}

#[derive(Serialize)]
struct Child<'a> {
    index: u32,
    id: &'a ChildId,
    why: WhyUnknown,
}

impl<'a> From<&'a UnknownChild> for Child<'a> {
    fn from(child: &'a UnknownChild) -> Self {
        let UnknownChild { index, id, why } = child;
        Self { index: *index, id, why: *why }
    }
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
    AttestChildren,
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
            NextStep::AttestChildren => Self::AttestChildren,
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
            children: effect.children.iter().map(Child::from).collect(),
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
            NextStep::AttestChildren => {
                let command = format!("proofport attest {id} --child … --outcome … --reason …");
                remarks.extend(first(command).map(or));
            }
        }
    }
    remarks.extend(effect.children.iter().take(MOST_CHILDREN).map(|child| {
        let (index, id, why) = (child.index, visible::text(child.id.as_str()), unknown_because(child.why));
        format!("child {index} ({id}): {why}")
    }));
    let more = effect.children.len().saturating_sub(MOST_CHILDREN);
    remarks.extend((more > 0).then(|| format!("and {more} more children; --json lists all")));
    (command.unwrap_or_default(), remarks)
}

/// How many children of one batch are shown.
const MOST_CHILDREN: usize = 20;

/// Why nothing is known of a child, in words.
pub(super) const fn unknown_because(why: WhyUnknown) -> &'static str {
    match why {
        WhyUnknown::UnderWay => "it is being carried out",
        WhyUnknown::NoAnswer => "no complete answer came",
        WhyUnknown::NotInAnswer => "the answer does not say what became of it",
        WhyUnknown::SentBefore => "it is unknown in the call that sent it first",
        WhyUnknown::OnlyTheWhole => "what settled the whole does not speak of it",
    }
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
            children: Vec::new(),
        }
    }

    fn child(index: u32, id: &str, why: WhyUnknown) -> UnknownChild {
        UnknownChild { index, id: ChildId::parse(id).unwrap(), why }
    }

    #[test]
    fn children_are_listed_with_the_reason() {
        let children = vec![child(1, "b", WhyUnknown::NotInAnswer), child(7, "h", WhyUnknown::NoAnswer)];
        let found = [UnknownEffect { children, ..effect(&[NextStep::AttestChildren]) }];
        let shown = text(&found);
        for line in [
            "proofport attest act_aaaaaaaaaaaaaaaaaaaaaaaaaa --child … --outcome … --reason …",
            "child 1 (b): the answer does not say what became of it",
            "child 7 (h): no complete answer came",
        ] {
            assert!(shown.contains(line), "no {line:?} in {shown}");
        }
        let value = serde_json::to_value(Unknowns::of(&found)).unwrap();
        let entry = &value["unknowns"][0];
        assert_eq!(entry["next"], serde_json::json!([{ "step": "attest_children" }]));
        let expected = serde_json::json!([
            { "index": 1, "id": "b", "why": "not_in_answer" },
            { "index": 7, "id": "h", "why": "no_answer" },
        ]);
        assert_eq!(entry["children"], expected);
        let many = (0..25).map(|n| child(n, &format!("c{n}"), WhyUnknown::NoAnswer)).collect();
        let shown = text(&[UnknownEffect { children: many, ..effect(&[NextStep::AttestChildren]) }]);
        assert!(shown.contains("child 19 (c19)") && !shown.contains("c20"), "{shown}");
        assert!(shown.contains("and 5 more children"), "{shown}");
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
