//! Fault runs with fixed seeds, counted from the peers' own logs. `make evidence` runs them long;
//! the tests run the same code with smaller numbers.

pub mod agents;
pub mod faults;
pub mod http;
pub mod kills;
mod seeded;
pub mod settle;
pub mod ssh;

pub use seeded::Seeded;
