//! How wasmtime is set up: deterministic, metered, and with slots for instances made ahead.

use crate::limits::Limits;
use sha2::{Digest as _, Sha256};
use std::hash::{Hash as _, Hasher};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

/// A component built from Rust has one memory; adapters add small modules around it.
const PARTS_PER_GUEST: u32 = 16;
const MEMORIES_PER_GUEST: u32 = 4;
const TABLES_PER_GUEST: u32 = 8;

/// The deepest stack of a guest; its thread's own is larger.
const GUEST_STACK: usize = 512 << 10;

const WASM_PAGE: usize = 64 << 10;

pub(crate) fn engine(limits: &Limits) -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    // Same input, same output: on every machine, whatever its floating-point and vector units do.
    config.cranelift_nan_canonicalization(true);
    config.relaxed_simd_deterministic(true);
    // Threads are not compiled in; naming it here keeps it so if the feature appears.
    config.shared_memory(false);
    config.consume_fuel(true);
    config.epoch_interruption(true);
    config.max_wasm_stack(GUEST_STACK);
    // A trap's name is all that is kept of it.
    config.wasm_backtrace_max_frames(None);
    config.generate_address_map(false);
    config.native_unwind_info(false);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(limits)));
    Engine::new(&config)
}

fn pool(limits: &Limits) -> PoolingAllocationConfig {
    let guests = limits.instances.max(1);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(guests)
        .total_core_instances(guests.saturating_mul(PARTS_PER_GUEST))
        .max_core_instances_per_component(PARTS_PER_GUEST)
        .total_memories(guests.saturating_mul(MEMORIES_PER_GUEST))
        .max_memories_per_component(MEMORIES_PER_GUEST)
        .total_tables(guests.saturating_mul(TABLES_PER_GUEST))
        .max_tables_per_component(TABLES_PER_GUEST)
        .max_memory_size(limits.memory_bytes.next_multiple_of(WASM_PAGE))
        // Guests run on their threads' own stacks.
        .total_stacks(1)
        // Slots of modules that are not running give their memory back first.
        .max_unused_warm_slots(guests)
        .linear_memory_keep_resident(KEEP_RESIDENT)
        // Where the kernel can say which pages were touched, only those are cleared.
        .pagemap_scan(Enabled::Auto)
        .table_keep_resident(WASM_PAGE);
    pool
}

/// Bytes of a slot's memory that are cleared by hand instead of being given back to the system: for a
/// guest that touched little, cheaper than faulting the pages in anew and than interrupting every other
/// processor for it. A guest built from Rust has a stack of 1 MiB below its data.
const KEEP_RESIDENT: usize = 2 << 20;

/// A digest of everything that decides whether compiled code fits an engine: wasmtime's version,
/// its settings, the processor's features.
pub(crate) fn compatibility(engine: &Engine) -> [u8; 32] {
    let mut hasher = Sha(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.0.finalize().into()
}

/// The standard library's default hasher promises nothing between versions.
struct Sha(Sha256);

impl Hasher for Sha {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.clone().finalize();
        digest.iter().take(8).fold(0, |value, byte| (value << 8) | u64::from(*byte))
    }
}
