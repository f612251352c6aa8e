//! How often the host repeats an effect by itself.

use super::problem::{At, Place};
use super::reader::{Reader, Section};
use proofport_core::retry::RetryBudget;
use std::ops::RangeInclusive;

const KEYS: [&str; 4] = ["attempts", "total_seconds", "first_delay_millis", "longest_delay_millis"];

const ATTEMPTS: RangeInclusive<u64> = 2..=20;
const TOTAL: RangeInclusive<u64> = 1..=24 * 3600;
const DELAY: RangeInclusive<u64> = 10..=3_600_000;

/// Unless set: 3 attempts within 300 seconds, after at most 1 and 2 seconds, never more than 30.
const DEFAULTS: RetryBudget =
    RetryBudget { attempts: 3, total_seconds: 300, first_delay_millis: 1000, longest_delay_millis: 30_000 };

/// The budget, and where the section stands.
pub(super) fn read<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> At<RetryBudget> {
    reader.only(section, &KEYS);
    let place: Place = section.place;
    let mut number = |key: &str, bounds: RangeInclusive<u64>, default: u32| {
        let field = reader.field(section, key);
        let number = field.and_then(|field| reader.number(&field, bounds));
        number.and_then(|number| u32::try_from(number).ok()).unwrap_or(default)
    };
    let value = RetryBudget {
        attempts: number("attempts", ATTEMPTS, DEFAULTS.attempts),
        total_seconds: number("total_seconds", TOTAL, DEFAULTS.total_seconds),
        first_delay_millis: number("first_delay_millis", DELAY, DEFAULTS.first_delay_millis),
        longest_delay_millis: number("longest_delay_millis", DELAY, DEFAULTS.longest_delay_millis),
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
