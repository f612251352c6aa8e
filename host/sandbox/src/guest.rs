//! What the host keeps beside one running instance.

use crate::limiter::Limiter;
use crate::limits::Limits;
use proofport_core::time::UnixMillis;
use sha2::{Digest as _, Sha256};
use wasmtime::component::ResourceTable;
use wasmtime_wasi::filesystem::WasiFilesystemCtx;

/// More handles than a connector has use for. The host's side of each costs memory that no other
/// limit counts.
const MOST_HANDLES: usize = 1024;

/// One instance's host side: its handles, its log, and the only things that it can learn.
pub(crate) struct Guest {
    pub(crate) table: ResourceTable,
    /// Without a single opened folder: no path leads anywhere.
    pub(crate) files: WasiFilesystemCtx,
    pub(crate) limiter: Limiter,
    pub(crate) accepted_at: UnixMillis,
    pub(crate) dice: Dice,
    pub(crate) log: Log,
}

impl Guest {
    pub(crate) fn new(limits: &Limits, reference: &str, accepted_at: UnixMillis) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MOST_HANDLES);
        Self {
            table,
            files: WasiFilesystemCtx::default(),
            limiter: Limiter::new(limits.memory_bytes),
            accepted_at,
            dice: Dice::new(reference),
            log: Log { bytes: Vec::new(), room: limits.log_bytes },
        }
    }
}

/// Randomness that is a function of the call's reference: SHA-256 in counter mode. It is public, like
/// the reference, and good for hash seeds only.
pub(crate) struct Dice {
    seed: [u8; 32],
    counter: u64,
}

impl Dice {
    fn new(reference: &str) -> Self {
        let seed = Sha256::new().chain_update(b"proofport.dice/1").chain_update(reference.as_bytes());
        Self { seed: seed.finalize().into(), counter: 0 }
    }

    /// The next bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len.next_multiple_of(32));
        while bytes.len() < len {
            let block = Sha256::new().chain_update(self.seed).chain_update(self.counter.to_be_bytes());
            bytes.extend_from_slice(&block.finalize());
            self.counter = self.counter.wrapping_add(1);
        }
        bytes.truncate(len);
        bytes
    }

    /// The next number.
    pub(crate) fn number(&mut self) -> u64 {
        self.bytes(8).into_iter().fold(0, |value, byte| (value << 8) | u64::from(byte))
    }
}

/// Standard output and error together, as far as there is room.
pub(crate) struct Log {
    bytes: Vec<u8>,
    room: usize,
}

impl Log {
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let kept = bytes.get(..bytes.len().min(self.room)).unwrap_or_default();
        self.bytes.extend_from_slice(kept);
        self.room -= kept.len();
    }

    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dice_are_a_function_of_the_reference() {
        let roll = |reference: &str| Dice::new(reference).bytes(100);
        assert_eq!(roll("pp1"), roll("pp1"));
        assert_ne!(roll("pp1"), roll("pp2"));
        let mut dice = Dice::new("pp1");
        assert_ne!(dice.bytes(32), dice.bytes(32), "a stream, not a constant");
    }

    #[test]
    fn the_log_keeps_what_fits() {
        let mut log = Log { bytes: Vec::new(), room: 5 };
        for part in ["abc", "def", "ghi"] {
            log.write(part.as_bytes());
        }
        assert_eq!(log.take(), b"abcde");
    }
}
