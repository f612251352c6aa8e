//! Calls through a whole host against a scripted peer: what is claimed against what happened.

mod commits;
mod field;
mod hostile;
mod intents;
mod stripe;
