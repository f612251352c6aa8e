//! What the tests share: plain values, histories that reach a standing, and events of every kind.

pub(crate) mod events;
pub(crate) mod golden;
pub(crate) mod history;
pub(crate) mod inputs;
pub(crate) mod values;
pub(crate) mod walk;
