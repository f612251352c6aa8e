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
    /// How long one exchange may take, connection included, in seconds; a slow connection leaves at
    /// least half of it for what follows. 60 unless set; 1 to 3600.
    pub deadline_seconds: u64,
    /// How often setting up one exchange's connection is tried. 3 unless set; 1 to 10.
    pub setup_attempts: u32,
    /// For how long a remote is trusted to remember an idempotency key where it publishes no
    /// retention, in seconds. 900 unless set; 60 to 2592000 (30 days).
    pub key_window_seconds: u64,
    /// How far the remote's clock may be from ours, in seconds; taken off every window. 30 unless
    /// set; 1 to 3600.
    pub clock_margin_seconds: u64,
    /// The most connections that are open to one origin at a time. 8 unless set; 1 to 256.
    pub connections_per_origin: u32,
    /// How long an unused connection is kept open, in seconds. 30 unless set; 0 (not at all) to 600.
    pub idle_seconds: u64,
    /// The largest content that may be stored for an operation whose contents are stored, in bytes.
    /// 1 GiB unless set; 1 byte to 64 GiB.
    pub content_bytes: u64,
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
            connections_per_origin: 8,
            idle_seconds: 30,
            content_bytes: 1 << 30,
        }
    }
}

impl Limits {
    /// How long each stage of connection setup may take.
    #[must_use]
    pub const fn connect(&self) -> Duration {
        Duration::from_secs(self.connect_seconds)
    }

    /// How long one exchange may take, connection included.
    #[must_use]
    pub const fn deadline(&self) -> Duration {
        Duration::from_secs(self.deadline_seconds)
    }

    /// How long an unused connection is kept open.
    #[must_use]
    pub const fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds)
    }
}

const KEYS: [&str; 10] = [
    "request_bytes",
    "response_bytes",
    "connect_seconds",
    "deadline_seconds",
    "setup_attempts",
    "key_window_seconds",
    "clock_margin_seconds",
    "connections_per_origin",
    "idle_seconds",
    "content_bytes",
];

const REQUEST: RangeInclusive<u64> = 1..=16 << 20;
const RESPONSE: RangeInclusive<u64> = 1..=64 << 20;
const CONNECT: RangeInclusive<u64> = 1..=120;
const DEADLINE: RangeInclusive<u64> = 1..=3600;
const ATTEMPTS: RangeInclusive<u64> = 1..=10;
const WINDOW: RangeInclusive<u64> = 60..=30 * 24 * 3600;
const MARGIN: RangeInclusive<u64> = 1..=3600;
const CONNECTIONS: RangeInclusive<u64> = 1..=256;
const IDLE: RangeInclusive<u64> = 0..=600;
const CONTENT: RangeInclusive<u64> = 1..=64 << 30;

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
        connections_per_origin: u32::try_from(number(
            "connections_per_origin",
            CONNECTIONS,
            defaults.connections_per_origin.into(),
        ))
        .unwrap_or(defaults.connections_per_origin),
        idle_seconds: number("idle_seconds", IDLE, defaults.idle_seconds),
        content_bytes: number("content_bytes", CONTENT, defaults.content_bytes),
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
