//! How much the home may hold, and for how long.

use super::reader::{Reader, Section};
use serde::Serialize;
use std::ops::RangeInclusive;
use std::time::Duration;

/// How much the home may hold, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Store {
    /// What is kept free for settling what is under way when the disk is full, in bytes. 64 MiB unless
    /// set; 0 (nothing) to 16 GiB.
    pub reserve_bytes: u64,
    /// The most bytes of all stored contents together. 4 GiB unless set; 0 to 16 TiB.
    pub contents_bytes: u64,
    /// For how long a stored content is kept, in days. 30 unless set; 1 to 3650.
    pub keep_days: u64,
}

impl Default for Store {
    fn default() -> Self {
        Self { reserve_bytes: 64 << 20, contents_bytes: 4 << 30, keep_days: 30 }
    }
}

impl Store {
    /// For how long a stored content is kept.
    #[must_use]
    pub const fn keep(&self) -> Duration {
        Duration::from_secs(self.keep_days * 24 * 3600)
    }
}

const KEYS: [&str; 3] = ["reserve_bytes", "contents_bytes", "keep_days"];

const RESERVE: RangeInclusive<u64> = 0..=16 << 30;
const CONTENTS: RangeInclusive<u64> = 0..=16 << 40;
const DAYS: RangeInclusive<u64> = 1..=3650;

pub(super) fn read<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Store {
    reader.only(section, &KEYS);
    let defaults = Store::default();
    let mut number = |key: &str, bounds: RangeInclusive<u64>, default: u64| {
        let field = reader.field(section, key);
        field.and_then(|field| reader.number(&field, bounds)).unwrap_or(default)
    };
    Store {
        reserve_bytes: number("reserve_bytes", RESERVE, defaults.reserve_bytes),
        contents_bytes: number("contents_bytes", CONTENTS, defaults.contents_bytes),
        keep_days: number("keep_days", DAYS, defaults.keep_days),
    }
}
