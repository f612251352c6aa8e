//! The real program, run as a process in homes of its own.

mod calls;
mod connectors;
mod homes;
mod secrets;
mod service;
mod support;
mod usage;
