//! What a guest answered, held against the rules.

mod field;
mod header;
mod manifest;
mod operation;
mod request;
mod schema;
mod verdict;

pub(crate) use manifest::manifest;

use crate::connector::Rules;
use crate::fault::Breach;
use crate::world::proofport::connector::types as wit;
use proofport_core::call::Call;
use proofport_core::contract::{Effect, Role};
use proofport_core::exchange::{Exchange, Send};
use proofport_core::manifest::Operation;
use proofport_core::verdict::Step;

/// The longest text for people, in bytes.
const LONGEST_TEXT: usize = 500;

/// The most that one `refuse` may point at.
const MOST_FIELDS: usize = 100;

/// The next step of a call.
pub(crate) fn step(
    step: wit::Step,
    call: &Call,
    history: &[Exchange],
    rules: &Rules,
) -> Result<Step, Breach> {
    let operation = operation(rules)?;
    match step {
        wit::Step::Send(send) => {
            let send = self::send(send, operation, rules)?;
            if send.role == Role::Effect {
                match operation.contract.effect {
                    Effect::Read => return Err(Breach::EffectInRead),
                    Effect::Write => {}
                }
                if history.iter().any(|exchange| exchange.role == Role::Effect) {
                    return Err(Breach::SecondEffect);
                }
            }
            Ok(Step::Send(send))
        }
        wit::Step::Settle(verdict) => Ok(Step::Settle(verdict::verdict(verdict)?)),
        wit::Step::Refuse(fields) => {
            if !history.is_empty() {
                return Err(Breach::RefuseAfterSend);
            }
            let known = |pointer: &String| field::is_of_input(pointer, &call.input, &operation.input_schema);
            if fields.len() > MOST_FIELDS || !fields.iter().all(known) {
                return Err(Breach::InvalidField);
            }
            Ok(Step::Refuse(fields))
        }
    }
}

/// The next step of a reconciliation.
pub(crate) fn reconcile_step(step: wit::ReconcileStep, rules: &Rules) -> Result<Step, Breach> {
    match step {
        wit::ReconcileStep::Send(send) => {
            let send = self::send(send, operation(rules)?, rules)?;
            match send.role {
                Role::Query => Ok(Step::Send(send)),
                Role::Effect => Err(Breach::EffectInReconcile),
            }
        }
        wit::ReconcileStep::Settle(verdict) => Ok(Step::Settle(verdict::verdict(verdict)?)),
    }
}

fn operation(rules: &Rules) -> Result<&Operation, Breach> {
    rules.manifest.operation(&rules.operation).ok_or(Breach::UndeclaredOperation)
}

fn send(send: wit::Send, operation: &Operation, rules: &Rules) -> Result<Send, Breach> {
    let role = match send.role {
        wit::Role::Query => Role::Query,
        wit::Role::Effect => Role::Effect,
    };
    let request = request::request(send.request, operation, rules)?;
    if role == Role::Query && !request.is_query(&rules.manifest.query_templates) {
        return Err(Breach::NotAQuery);
    }
    if !is_plain_text(&send.summary) {
        return Err(Breach::InvalidSummary);
    }
    Ok(Send { role, request, summary: send.summary })
}

/// Whether a text can be shown to a person as one line: bounded, and without characters that would
/// redraw what stands around it. Bidirectional controls count: they reorder a card's line.
fn is_plain_text(text: &str) -> bool {
    let redraws = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    !text.trim().is_empty() && text.len() <= LONGEST_TEXT && !text.chars().any(redraws)
}

#[cfg(test)]
mod tests;
