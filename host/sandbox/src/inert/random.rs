//! Randomness by the call's reference.

use super::Refused;
use crate::guest::Guest;
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};

/// The most bytes of one request: the host makes them, and fuel does not count its work.
const MOST_BYTES: u64 = 64 << 10;

fn bytes(guest: &mut Guest, len: u64) -> wasmtime::Result<Vec<u8>> {
    match usize::try_from(len) {
        Ok(count) if len <= MOST_BYTES => Ok(guest.dice.bytes(count)),
        Ok(_) | Err(_) => Err(Refused::RandomBytes.into()),
    }
}

impl random::Host for Guest {
    fn get_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        bytes(self, len)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        Ok(self.dice.number())
    }
}

impl insecure::Host for Guest {
    fn get_insecure_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        bytes(self, len)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        Ok(self.dice.number())
    }
}

impl insecure_seed::Host for Guest {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        Ok((self.dice.number(), self.dice.number()))
    }
}
