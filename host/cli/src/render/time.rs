//! Times as people read them.

use proofport_core::time::UnixMillis;
use time::OffsetDateTime;

/// RFC 3339, UTC, to the millisecond.
pub(crate) fn rfc3339(at: UnixMillis) -> String {
    let nanos = i128::from(at.0) * 1_000_000;
    match OffsetDateTime::from_unix_timestamp_nanos(nanos) {
        Ok(t) => format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            t.year(),
            u8::from(t.month()),
            t.day(),
            t.hour(),
            t.minute(),
            t.second(),
            t.millisecond()
        ),
        // Past the year 9999.
        Err(_) => format!("{} ms after 1970", at.0),
    }
}

/// Microseconds in the unit that fits.
pub(crate) fn micros(micros: u64) -> String {
    if micros < 1_000 {
        format!("{micros} µs")
    } else {
        format!("{}.{:01} ms", micros / 1_000, micros % 1_000 / 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_full() {
        let check = |millis: u64, expected: &str| assert_eq!(rfc3339(UnixMillis(millis)), expected);
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_827_696_007, "2000-02-29T12:34:56.007Z");
        check(253_402_300_799_999, "9999-12-31T23:59:59.999Z");
        check(u64::MAX, "18446744073709551615 ms after 1970");
        let check = |micros_: u64, expected: &str| assert_eq!(micros(micros_), expected);
        check(7, "7 µs");
        check(1_260, "1.2 ms");
        check(30_000_000, "30000.0 ms");
    }
}
