//! Memory is counted over the whole instance. Wasmtime's own limiter counts each memory by itself, so
//! that a component of many small memories would pass it.

use wasmtime::ResourceLimiter;

/// What a table's element costs the host.
const ELEMENT_BYTES: usize = size_of::<usize>();

/// More core instances, memories or tables than a connector has use for.
const MOST_PARTS: usize = 32;

/// Sums what one instance was granted.
pub(crate) struct Limiter {
    left: usize,
    refused: bool,
}

impl Limiter {
    pub(crate) const fn new(bytes: usize) -> Self {
        Self { left: bytes, refused: false }
    }

    /// Whether the guest asked for more than it may have. It goes on with a failed allocation, which
    /// most guests answer with a trap.
    pub(crate) const fn refused(&self) -> bool {
        self.refused
    }

    fn grant(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                true
            }
            None => {
                self.refused = true;
                false
            }
        }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.grant(desired.saturating_sub(current)))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.grant(desired.saturating_sub(current).saturating_mul(ELEMENT_BYTES)))
    }

    fn instances(&self) -> usize {
        MOST_PARTS
    }

    fn memories(&self) -> usize {
        MOST_PARTS
    }

    fn tables(&self) -> usize {
        MOST_PARTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_memories_share_one_budget() {
        let mut limiter = Limiter::new(100);
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(!limiter.memory_growing(0, 60, None).unwrap(), "each alone would fit");
        assert!(limiter.refused());
        assert!(limiter.memory_growing(60, 100, None).unwrap(), "growth counts the difference");
    }

    #[test]
    fn tables_draw_on_the_same_budget() {
        let mut limiter = Limiter::new(100);
        assert!(limiter.table_growing(0, 10, None).unwrap());
        assert!(!limiter.memory_growing(0, 60, None).unwrap());
    }
}
