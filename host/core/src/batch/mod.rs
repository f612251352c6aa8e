//! Batches: one request that carries several children, each with a fate of its own.
//!
//! Every child that was bound at validation has exactly one record at any time, [`State::child`], folded
//! from the invocation's events: from what an answer or a later query said of it ([`judge`], [`found`]), and
//! else from what is known of the invocation. [`again`](mod@again) says which children may be sent once
//! more, as an invocation of their own that is linked to the first.
//!
//! [`State::child`]: crate::state::State::child

pub mod again;

mod bound;
mod child;
mod judge;

pub use bound::{ChildId, InvalidChildId, LONGEST_ID, MOST_CHILDREN, bind, only};
pub use child::{ChildClaim, ChildRecord, claims};
pub use judge::{Answer, ChildJudgement, Held, Said, found, judge};
