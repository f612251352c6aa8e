use std::time::Duration;

/// What one call of a guest may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Units of wasmtime's fuel, about one an instruction. The deterministic limit: the same call
    /// runs out of it at the same instruction on every machine.
    pub fuel: u64,
    /// Wall time from the start of instantiation, for what fuel does not count.
    pub deadline: Duration,
    /// Bytes of all linear memories and tables of one instance together.
    pub memory_bytes: usize,
    /// Bytes that one call may hand back to the host, counted as they are lifted.
    pub output_bytes: usize,
    /// Bytes of standard output and error that are kept for the protected record. What is written
    /// beyond is dropped and changes nothing for the guest.
    pub log_bytes: usize,
    /// How many guests run at once, each on a thread of its own.
    pub instances: u32,
}

impl Default for Limits {
    /// A thousand million units of fuel (about a second), 5 seconds, 64 MiB of memory, 16 MiB of
    /// output, 64 KiB of log, and as many guests at once as there are cores, 8 at most.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
        Self {
            fuel: 1_000_000_000,
            deadline: Duration::from_secs(5),
            memory_bytes: 64 << 20,
            output_bytes: 16 << 20,
            log_bytes: 64 << 10,
            instances: cores.clamp(1, 8),
        }
    }
}
