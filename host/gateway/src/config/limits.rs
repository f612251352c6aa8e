//! Bounds of one connection's exchanges.

use super::reader::{Reader, Section};
use serde::Serialize;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Bounds of one connection's exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// The largest request content, in bytes. 1 MiB unless set; 1 byte to 16 MiB.
    pub request_bytes: usize,
    /// The largest response content, in bytes. 4 MiB unless set; 1 byte to 64 MiB.
    pub response_bytes: usize,
    /// How long each stage of connection setup may take, in seconds. 10 unless set; 1 to 120.
    pub connect_seconds: u64,
    /// How long one exchange may take once connected, in seconds. 60 unless set; 1 to 3600.
    pub deadline_seconds: u64,
    /// How often setting up one exchange's connection is tried. 3 unless set; 1 to 10.
    pub setup_attempts: u32,
    /// For how long a remote is trusted to remember an idempotency key where it publishes no
    /// retention, in seconds. 900 unless set; 60 to 2592000 (30 days).
    pub key_window_seconds: u64,
    /// How far the remote's clock may be from ours, in seconds; taken off every window. 30 unless
    /// set; 1 to 3600.
    pub clock_margin_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_bytes: 1 << 20,
            response_bytes: 4 << 20,
            connect_seconds: 10,
            deadline_seconds: 60,
            setup_attempts: 3,
            key_window_seconds: 900,
            clock_margin_seconds: 30,
        }
    }
}

impl Limits {
    /// How long each stage of connection setup may take.
    #[must_use]
    pub const fn connect(&self) -> Duration {
        Duration::from_secs(self.connect_seconds)
    }

    /// How long one exchange may take once connected.
    #[must_use]
    pub const fn deadline(&self) -> Duration {
        Duration::from_secs(self.deadline_seconds)
    }
}

const KEYS: [&str; 7] = [
    "request_bytes",
    "response_bytes",
    "connect_seconds",
    "deadline_seconds",
    "setup_attempts",
    "key_window_seconds",
    "clock_margin_seconds",
];

const REQUEST: RangeInclusive<u64> = 1..=16 << 20;
const RESPONSE: RangeInclusive<u64> = 1..=64 << 20;
const CONNECT: RangeInclusive<u64> = 1..=120;
const DEADLINE: RangeInclusive<u64> = 1..=3600;
const ATTEMPTS: RangeInclusive<u64> = 1..=10;
const WINDOW: RangeInclusive<u64> = 60..=30 * 24 * 3600;
const MARGIN: RangeInclusive<u64> = 1..=3600;

pub(super) fn read<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Limits {
    reader.only(section, &KEYS);
    let defaults = Limits::default();
    let mut number = |key: &str, bounds: RangeInclusive<u64>, default: u64| {
        let field = reader.field(section, key);
        field.and_then(|field| reader.number(&field, bounds)).unwrap_or(default)
    };
    // Every bound fits its type on every platform that we build for; `try_from` says so to readers.
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let limits = Limits {
        request_bytes: size(number("request_bytes", REQUEST, defaults.request_bytes as u64)),
        response_bytes: size(number("response_bytes", RESPONSE, defaults.response_bytes as u64)),
        connect_seconds: number("connect_seconds", CONNECT, defaults.connect_seconds),
        deadline_seconds: number("deadline_seconds", DEADLINE, defaults.deadline_seconds),
        setup_attempts: u32::try_from(number("setup_attempts", ATTEMPTS, defaults.setup_attempts.into()))
            .unwrap_or(defaults.setup_attempts),
        key_window_seconds: number("key_window_seconds", WINDOW, defaults.key_window_seconds),
        clock_margin_seconds: number("clock_margin_seconds", MARGIN, defaults.clock_margin_seconds),
    };
    if let Some(field) = reader.field(section, "key_window_seconds") {
        let least = limits.deadline_seconds + limits.clock_margin_seconds;
        if limits.key_window_seconds <= least {
            let what = "is used up by one exchange's deadline and the clock margin";
            let todo = format!("choose more than {least}, the sum of those two, or leave it out");
            reader.report(field.place, &field.path, what, todo);
        }
    }
    limits
}
