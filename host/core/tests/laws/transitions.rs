//! The transition table, whole, as data that is read in review.

use crate::common::events::of_kind;
use crate::common::golden;
use crate::common::history::{Way, fold, reach};
use crate::common::values::contract;
use proofport_core::contract::{Effect, Repeat};
use proofport_core::event::EventKind;
use proofport_core::state::{IllegalEvent, Standing, State};
use std::fmt::Write as _;
use std::path::Path;

/// A column's heading. A new standing does not compile until it has one.
const fn short(standing: Standing) -> &'static str {
    match standing {
        Standing::Accepted => "acpt",
        Standing::Validated => "vald",
        Standing::AwaitingApproval => "wait",
        Standing::Authorized => "auth",
        Standing::Leased => "leas",
        Standing::Dispatched => "disp",
        Standing::Answered => "answ",
        Standing::Ended => "endd",
        Standing::Settled => "setl",
        Standing::Stored => "stor",
        Standing::Delivered => "delv",
        Standing::Stopped => "stop",
    }
}

const LEGEND: &str = "\
Where every event leads, from every standing. Written by the test `transitions`.

A word: the standing that the event leads to.
.       the event can't follow here.
!proof  it contradicts what the record proves, or is not proved by it.
!stale  it is of a generation that is not the active one, or its lease is over.
(blank) this way never leads to the standing.
";

fn cell(state: &State, event: &proofport_core::event::Event) -> &'static str {
    let mut after = state.clone();
    match after.apply(event) {
        Ok(()) => {
            assert_eq!(state.next_standing(event.kind()), Some(after.standing));
            short(after.standing)
        }
        Err(error) => {
            assert_eq!(after, *state, "a refused event changed the state");
            match error {
                IllegalEvent::OutOfOrder { .. } => {
                    assert_eq!(state.next_standing(event.kind()), None);
                    "."
                }
                IllegalEvent::NotABeginning(_) => "!begin",
                IllegalEvent::StaleGeneration(_) => "!stale",
                IllegalEvent::Contradiction(_) => "!proof",
            }
        }
    }
}

fn table(title: &str, way: Way, effect: Effect) -> String {
    let contract = contract(effect, Repeat::Idempotent);
    let states: Vec<Option<State>> = Standing::ALL
        .iter()
        .map(|standing| {
            let state = reach(*standing, way, &contract).map(|history| fold(&history));
            assert!(state.as_ref().is_none_or(|state| state.standing == *standing));
            state
        })
        .collect();
    let mut text = format!("\n## {title}\n\n{:43}", "");
    for standing in Standing::ALL {
        write!(text, "{:7}", short(*standing)).unwrap();
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    for kind in EventKind::ALL {
        // The names of a kind's events are the same whatever the state.
        let any = states.iter().flatten().next().unwrap();
        for (row, (variant, _)) in of_kind(*kind, any).into_iter().enumerate() {
            write!(text, "{:43}", format!("{kind} {variant}")).unwrap();
            for state in &states {
                let shown = state.as_ref().map_or("", |state| cell(state, &of_kind(*kind, state)[row].1));
                write!(text, "{shown:7}").unwrap();
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
    }
    text
}

#[test]
fn every_event_from_every_standing() {
    let mut text = LEGEND.to_owned();
    text.push_str(&table("A write, first attempt", Way::Write, Effect::Write));
    text.push_str(&table(
        "An idempotent write, second attempt, the first unknown",
        Way::WriteAgain,
        Effect::Write,
    ));
    text.push_str(&table("A read", Way::Read, Effect::Read));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/laws/transitions.golden");
    golden::check(&path, &text);
}

#[test]
fn nothing_but_an_acceptance_begins_an_invocation() {
    let state = fold(&reach(Standing::Accepted, Way::Write, &contract(Effect::Write, Repeat::None)).unwrap());
    for kind in EventKind::ALL {
        for (_, event) in of_kind(*kind, &state) {
            let begun = State::begin(&event);
            assert_eq!(begun.is_ok(), *kind == EventKind::ActionAccepted, "{kind}");
            if let Err(error) = begun {
                assert_eq!(error, IllegalEvent::NotABeginning(*kind));
            }
        }
    }
    assert_eq!(State::replay(&[]), Ok(None));
}
