//! How often a session may fail at one operation.

use super::reader::{Reader, Section};
use proofport_core::failures::FailureBudget;
use std::ops::RangeInclusive;

const KEYS: [&str; 2] = ["most", "within_seconds"];

const MOST: RangeInclusive<u64> = 1..=1_000_000;
const WITHIN: RangeInclusive<u64> = 1..=7 * 24 * 3600;

/// The budget; what isn't set is as without the section.
pub(super) fn read<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> FailureBudget {
    reader.only(section, &KEYS);
    let mut number = |key: &str, bounds: RangeInclusive<u64>, default: u32| {
        let field = reader.field(section, key);
        let number = field.and_then(|field| reader.number(&field, bounds));
        number.and_then(|number| u32::try_from(number).ok()).unwrap_or(default)
    };
    let usual = FailureBudget::default();
    FailureBudget {
        most: number("most", MOST, usual.most),
        within_seconds: number("within_seconds", WITHIN, usual.within_seconds),
    }
}
