//! What a connector says that answers mean.

use crate::format::{Case, Child, Settled};
use crate::obeys;
use proofport_sdk::{ChildVerdict, Operation, Outcome, Verdict};
use serde_json::Value;
use std::fmt::Debug;

pub(crate) fn check(case: &Case, operation: &Operation, have: &Verdict, want: &Settled) {
    let said = (word(have.outcome), have.success, word(have.reason));
    assert_eq!(said, (want.outcome.clone(), want.success, want.reason.clone()));
    assert_eq!(have.retry_after_seconds, want.retry_after_seconds);
    let output = have.output.as_deref().map(parsed);
    assert_eq!(output, want.output);
    assert!(!have.success || have.outcome == Outcome::Committed, "only a committed one succeeds");
    assert!(!have.success || output.is_some(), "a success has an output");
    let schema =
        if have.success { Some(&operation.output_schema) } else { operation.failure_schema.as_ref() };
    if let (Some(schema), Some(output)) = (schema, &output) {
        assert!(obeys(schema, output), "the output breaks its schema: {output}");
    }
    let children: Vec<_> = have.children.iter().map(|child| check_child(case, operation, child)).collect();
    assert_eq!(children, want.children);
}

/// A child is one of the input's, by position and identity.
fn check_child(case: &Case, operation: &Operation, child: &ChildVerdict) -> Child {
    let Some(batch) = &operation.batch else { panic!("children, and no batch is declared") };
    let item =
        usize::try_from(child.index).ok().and_then(|index| case.input.pointer(&batch.items)?.get(index));
    let id = item.and_then(|item| item.pointer(&batch.child_id));
    let id = id.map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
    assert_eq!(id.as_ref(), Some(&child.id), "no such child at {}", child.index);
    assert!(!child.success || child.outcome == Outcome::Committed, "only a committed one succeeds");
    let output = child.output.as_deref().map(parsed);
    let promised = if child.success { &batch.child_output_schema } else { &operation.failure_schema };
    let held = child.success.then_some(promised.is_some());
    assert!(
        held.is_none_or(|held| held == output.is_some()),
        "a child that succeeds has an output where one is declared"
    );
    if let (Some(schema), Some(output)) = (promised, &output) {
        assert!(obeys(schema, output), "a child's output breaks its schema: {output}");
    }
    Child {
        index: child.index,
        id: child.id.clone(),
        outcome: word(child.outcome),
        success: child.success,
        reason: word(child.reason),
        output,
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("an output is JSON: {error}"))
}

/// An enum's value in the words of the contract.
fn word(value: impl Debug) -> String {
    let debug = format!("{value:?}");
    let name = debug.rsplit("::").next().unwrap_or_default();
    name.chars().fold(String::new(), |mut snake, letter| {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
        snake
    })
}
