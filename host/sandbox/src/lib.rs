//! The sandbox: loads connectors, checks them and calls them.
//!
//! A connector is a WebAssembly component that performs no input or output. Every call runs in a
//! fresh instance, on a thread kept for guests, under limits of fuel, time, memory and output, and
//! sees nothing but its arguments: no environment, no files, no network, one clock that stands still
//! at the call's acceptance, and randomness that is a function of the call's reference. What it
//! answers is parsed once, here, into the core's validated types; anything that the world's rules
//! forbid is a [`Fault`] and never an action.
//!
//! The rooms: [`inspect`] reads a module without running it; `cache` keeps compiled code under a MAC;
//! `inert` is all of WASI that a guest can reach; `convert` is the border between the world's words
//! and the core's types.

mod cache;
mod connector;
mod convert;
mod engine;
mod fault;
mod figures;
mod guest;
mod inert;
mod inspect;
mod limiter;
mod limits;
mod sandbox;
mod threads;
mod ticker;
mod world;

pub use connector::{Connector, Report, Rules};
pub use fault::{Breach, Fault, FieldPlace, ManifestProblem};
pub use figures::Figures;
pub use inspect::{Inspection, LARGEST_MODULE, ModuleError, SUPPORTED_WORLD, inspect};
pub use limits::Limits;
pub use sandbox::{LoadError, Sandbox, SandboxError};
