//! Power loss under the journal, as often as a test likes and at every moment of a run.
//!
//! A [`Watched`] disk lets every call through to real files, but for syncs, and writes each down. From
//! such a [`History`] come the disks that a power loss at any moment may leave: what was synced is there,
//! and what was not is lost, reordered or torn as a [`Loss`] says. A [`Story`] is what a host did with a
//! journal meanwhile and what it was told is durable; [`recover`] opens the journal on what is left and
//! checks that against the laws.
//!
//! - To add a way of losing what was not synced: a variant of [`Loss`].
//! - To add a way for a call to fail: a variant of [`Fault`].
//! - To watch another program's files: [`Watched`] is a `Disk`, and knows nothing of stories.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod backend;
mod book;
mod disk;
mod fault;
mod history;
mod image;
mod laws;
mod run;
mod seeded;
mod story;

pub use book::{Book, Promise, Stored, id};
pub use disk::Watched;
pub use fault::{Fault, Plan};
pub use history::{Call, Entry, FileId, History};
pub use image::{Image, Loss};
pub use laws::{Recovered, recover};
pub use run::{Counts, crash, go_on, run};
pub use seeded::Seeded;
pub use story::{Desk, Host, Length, Open, Story, folder};
