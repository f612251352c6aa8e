//! Batches: one request that carries several children, each with a fate of its own.
//!
//! Every child that was bound at validation has exactly one record at any time, [`State::child`], folded
//! from the invocation's events: from what an answer ([`judge`]), a later query ([`found`]) or a person
//! ([`attest`]) said of it, and else from what is known of the invocation. [`again`](mod@again) says which
//! children may be sent once more, as an invocation of their own that is linked to the first.
//!
//! [`State::child`]: crate::state::State::child

pub mod again;

pub(crate) mod attest;
mod bound;
mod child;
mod found;
mod judge;
mod told;
mod which;

pub use bound::{ChildId, InvalidChildId, LONGEST_ID, MOST_CHILDREN, bind, only};
pub use child::{ChildClaim, ChildRecord, WhyUnknown, claims};
pub use found::found;
pub use judge::{Answer, ChildJudgement, Held, Said, judge};
pub use told::Told;
pub use which::{NoSingleChild, Which};
