//! Operations as tools.

use super::{input, name, schema, words};
use crate::agent::Offered;
use proofport_core::contract::{Effect, RepeatKind};
use proofport_core::manifest::Contract;
use rmcp::model::{Tool, ToolAnnotations};
use std::sync::Arc;

/// The tool that calls this operation.
pub(super) fn of(offered: &Offered) -> Tool {
    let operation = &offered.operation;
    Tool::new(
        name::of(&offered.name),
        words::description(operation),
        Arc::new(input::schema(&operation.input_schema)),
    )
    .with_title(offered.name.to_string())
    .with_raw_output_schema(schema::output())
    .with_annotations(annotations(&operation.contract))
}

/// What the contract permits to be said, and no more.
fn annotations(contract: &Contract) -> ToolAnnotations {
    let reads = match contract.effect {
        Effect::Read => true,
        Effect::Write => false,
    };
    let idempotent = match contract.repeat.kind() {
        // A second arrival has no effect of its own, or is refused for it.
        RepeatKind::Idempotent | RepeatKind::Conditional => true,
        // The remote goes by a key that every invocation has of its own, so a second invocation is a second
        // effect.
        RepeatKind::Keyed | RepeatKind::None => reads,
    };
    let hints = ToolAnnotations::new().read_only(reads).idempotent(idempotent).open_world(true);
    // No contract proves that a write only adds.
    if reads { hints.destructive(false) } else { hints.destructive(true) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofport_core::contract::{KeyPlace, KeyedContract, Repeat};

    #[test]
    fn hints_say_what_the_contract_says() {
        let keyed = Repeat::Keyed(KeyedContract {
            place: KeyPlace::Connector,
            scope: "account".to_owned(),
            retention_seconds: Some(1),
            compares_payload: true,
            running_status: None,
            replay_header: None,
        });
        // read only, idempotent, destructive
        let check = |effect: Effect, repeat: Repeat, expected: [bool; 3]| {
            let contract = Contract {
                effect,
                repeat,
                statuses_before_work: Vec::new(),
                reconcile: None,
                batch: None,
                job_operation: None,
                completion_marker: None,
                stop_grace_seconds: None,
            };
            let hints = annotations(&contract);
            let got = [hints.read_only_hint, hints.idempotent_hint, hints.destructive_hint];
            assert_eq!(got, expected.map(Some));
            assert_eq!(hints.open_world_hint, Some(true));
        };
        check(Effect::Read, Repeat::None, [true, true, false]);
        check(Effect::Write, Repeat::None, [false, false, true]);
        check(Effect::Write, keyed, [false, false, true]);
        check(Effect::Write, Repeat::Idempotent, [false, true, true]);
        check(Effect::Write, Repeat::Conditional, [false, true, true]);
    }
}
