//! How often the host repeats an effect by itself, how often it asks what became of one, and how
//! often it looks at a job that was submitted.

use super::problem::{At, Place};
use super::reader::{Reader, Section};
use proofport_core::retry::RetryBudget;
use std::ops::RangeInclusive;

const KEYS: [&str; 4] = ["attempts", "total_seconds", "first_delay_millis", "longest_delay_millis"];

const DELAY: RangeInclusive<u64> = 10..=3_600_000;

/// What a section may say, and what holds where it says nothing.
pub(super) struct Terms {
    attempts: RangeInclusive<u64>,
    total_seconds: RangeInclusive<u64>,
    pub(super) defaults: RetryBudget,
}

/// Repeats. Unless set: 3 attempts within 300 seconds, after at most 1 and 2 seconds, never more than 30.
pub(super) const REPEATS: Terms = Terms {
    attempts: 2..=20,
    total_seconds: 1..=24 * 3600,
    defaults: RetryBudget {
        attempts: 3,
        total_seconds: 300,
        first_delay_millis: 1000,
        longest_delay_millis: 30_000,
    },
};

/// Questions; none at all is a choice. Unless set: 8 within an hour, after at most 2, 4, 8 seconds and so on,
/// never more than 300.
pub(super) const QUESTIONS: Terms = Terms {
    attempts: 0..=100,
    total_seconds: 1..=7 * 24 * 3600,
    defaults: RetryBudget {
        attempts: 8,
        total_seconds: 3600,
        first_delay_millis: 2000,
        longest_delay_millis: 300_000,
    },
};

/// Looks at a job. Unless set: 100 within an hour, after at most 1, 2, 4 seconds and so on, never more than 60.
pub(super) const LOOKS: Terms = Terms {
    attempts: 1..=1000,
    total_seconds: 1..=7 * 24 * 3600,
    defaults: RetryBudget {
        attempts: 100,
        total_seconds: 3600,
        first_delay_millis: 1000,
        longest_delay_millis: 60_000,
    },
};

/// The budget, and where the section stands.
pub(super) fn read<'a>(reader: &mut Reader<'a>, section: &Section<'a>, terms: Terms) -> At<RetryBudget> {
    let Terms { attempts, total_seconds, defaults } = terms;
    reader.only(section, &KEYS);
    let place: Place = section.place;
    let mut number = |key: &str, bounds: RangeInclusive<u64>, default: u32| {
        let field = reader.field(section, key);
        let number = field.and_then(|field| reader.number(&field, bounds));
        number.and_then(|number| u32::try_from(number).ok()).unwrap_or(default)
    };
    let value = RetryBudget {
        attempts: number("attempts", attempts, defaults.attempts),
        total_seconds: number("total_seconds", total_seconds, defaults.total_seconds),
        first_delay_millis: number("first_delay_millis", DELAY, defaults.first_delay_millis),
        longest_delay_millis: number("longest_delay_millis", DELAY, defaults.longest_delay_millis),
    };
    if value.longest_delay_millis < value.first_delay_millis
        && let Some(field) = ["longest_delay_millis", "first_delay_millis"]
            .into_iter()
            .find_map(|key| reader.field(section, key))
    {
        let (longest, first) = (value.longest_delay_millis, value.first_delay_millis);
        let todo = format!("choose a longest delay of at least {first}, or a first one of at most {longest}");
        reader.report(field.place, &field.path, "makes the longest delay shorter than the first", todo);
    }
    At { value, place }
}
