//! The host's two sides, agents and operators, and what they stand on: the home directory, the
//! connections declared in it, the approved connectors, and the checks that meet them.

pub mod bind;
pub mod check;
pub mod config;
pub mod home;
pub mod host;
pub mod operator;
pub mod registry;
pub mod review;

#[cfg(test)]
mod testing;
