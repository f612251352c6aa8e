//! Time and randomness, handed in so that tests and replays choose them.

use proofport_core::time::UnixMillis;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// Now. May step back; the broker never lets recorded time do so.
    fn now(&self) -> UnixMillis;

    /// Returns when that time has come.
    fn until(&self, at: UnixMillis) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            loop {
                let left = at.0.saturating_sub(self.now().0);
                if left == 0 {
                    return;
                }
                // A clock that is set while we wait is looked at again before long.
                tokio::time::sleep(Duration::from_millis(left.min(LONGEST_LOOK_AWAY))).await;
            }
        })
    }
}

/// How long the clock is not looked at while something is waited for, in milliseconds.
const LONGEST_LOOK_AWAY: u64 = 1000;

/// The system's wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> UnixMillis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixMillis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Where randomness comes from.
pub trait Entropy: Send + Sync {
    /// Sixteen random bytes.
    ///
    /// # Errors
    /// When the system gives none.
    fn bytes(&self) -> Result<[u8; 16], NoEntropy>;
}

/// The operating system gave no randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no randomness")]
pub struct NoEntropy;

/// The operating system's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn bytes(&self) -> Result<[u8; 16], NoEntropy> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_| NoEntropy)?;
        Ok(bytes)
    }
}
