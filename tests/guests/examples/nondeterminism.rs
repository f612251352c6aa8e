//! Puts everything that could differ between two runs into its request: clocks, hash seeds,
//! addresses, environment, arguments and files.

use proofport_hostile_guests::{Call, Exchange, Hostile, Role, Step, post, send};
use std::hash::{BuildHasher as _, RandomState};
use std::time::{Instant, SystemTime};

struct This;

impl Hostile for This {
    fn next(_call: &Call, _history: &[Exchange]) -> Step {
        let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |t| t.as_millis());
        let start = Instant::now();
        let elapsed = (0..1000).map(|_| start.elapsed().as_nanos()).max().unwrap_or(0);
        let dice = RandomState::new().hash_one(1);
        let more_dice = RandomState::new().hash_one(1);
        let address = std::ptr::from_ref(Box::leak(Box::new(1))).addr();
        let variables = std::env::vars().count();
        let arguments = std::env::args().count();
        let files =
            ["/etc/passwd", "/proc/self/environ", ".", "/"].map(|path| std::fs::metadata(path).is_ok());
        let entries = std::fs::read_dir("/").map_or(0, Iterator::count);
        send(
            Role::Effect,
            post(&format!(
                "/act?clock={clock}&elapsed={elapsed}&dice={dice}&more={more_dice}&address={address}\
                 &variables={variables}&arguments={arguments}&files={}&entries={entries}",
                files.iter().filter(|found| **found).count()
            )),
        )
    }
}

proofport_hostile_guests::hostile!(This);
