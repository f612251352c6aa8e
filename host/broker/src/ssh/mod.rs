//! Execs over SSH: what an admin binds, what logs in, and the way to a loaded connection.

mod binding;
mod connect;
mod credential;

pub use binding::{SshBinding, SshJumpBinding};
