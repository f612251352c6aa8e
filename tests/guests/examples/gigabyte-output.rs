//! Answers with a gigabyte. It owns one megabyte and hands it over a thousand times, so that only
//! the host would ever hold it all.

use proofport_hostile_guests::{Call, Exchange, Hostile, Step};

struct This;

impl Hostile for This {
    fn next(_call: &Call, _history: &[Exchange]) -> Step {
        let text = "/".repeat(1 << 20).leak();
        let alias = || {
            // SAFETY: the bytes are valid UTF-8 and are never freed in this instance: the host drops
            // the instance instead of taking the answer.
            unsafe { String::from_raw_parts(text.as_ptr().cast_mut(), text.len(), text.len()) }
        };
        Step::Refuse((0..1024).map(|_| alias()).collect())
    }
}

proofport_hostile_guests::hostile!(This);
