//! Answers as people read them. Everything that a remote or a connector wrote is made visible first,
//! so that it can't move the cursor or hide text.

pub(crate) mod audit;
pub(crate) mod cards;
mod children;
pub(crate) mod envelope;
mod evidence;
pub(crate) mod inspect;
pub(crate) mod lines;
pub(crate) mod published;
pub(crate) mod review;
pub(crate) mod sessions;
pub(crate) mod time;
pub(crate) mod timeline;
pub(crate) mod unknowns;
pub(crate) mod visible;
