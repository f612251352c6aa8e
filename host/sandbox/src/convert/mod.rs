//! The border between the world's words and the core's types. Nothing unparsed crosses it.

pub(crate) mod from_guest;
pub(crate) mod to_guest;
