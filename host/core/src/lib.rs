//! The pure core of Proofport: what an invocation is, what may be claimed of it, and what may be
//! done next.
//!
//! Nothing here performs input or output, reads a clock or rolls a die: time, randomness and ids are
//! arguments. That is what makes every claim testable as data and every replay equal to the live run.
//!
//! The life of an invocation is a sequence of [`event::Event`]s. [`state::State::apply`] folds them,
//! [`decide`](mod@decide) says which events an input causes, [`due`](mod@due) says what is to be carried
//! out next, and [`project`](mod@project) says what may be claimed.

mod attempts;
mod closed;
mod proof;

pub mod approval;
pub mod attestation;
pub mod batch;
pub mod boundary;
pub mod call;
pub mod canonical;
pub mod ceiling;
pub mod classify;
pub mod code;
pub mod content;
pub mod contract;
pub mod decide;
pub mod diagnostic;
pub mod digest;
pub mod due;
pub mod envelope;
pub mod event;
pub mod evidence;
pub mod exchange;
pub mod failures;
pub mod id;
pub mod inquiry;
pub mod job;
pub mod manifest;
pub mod origin;
pub mod project;
pub mod proxy_status;
pub mod retry;
pub mod row;
pub mod secret;
pub mod session;
pub mod ssh;
pub mod state;
pub mod time;
pub mod unknown;
pub mod verdict;

#[cfg(test)]
mod testing;
