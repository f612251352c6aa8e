//! The closed words of the public contract, one file each. No match on them has a wildcard arm.

mod action;
mod effect;
mod mode;
mod outcome;
mod phase;
mod reason;
mod repeat;
mod retry;
mod retry_owner;
mod role;
mod source;
mod stage;

pub use action::Action;
pub use effect::Effect;
pub use mode::InjectionMode;
pub use outcome::Outcome;
pub use phase::Phase;
pub use reason::Reason;
pub use repeat::{KeyPlace, KeyedContract, Repeat, RepeatKind};
pub use retry::Retry;
pub use retry_owner::RetryOwner;
pub use role::Role;
pub use source::Source;
pub use stage::Stage;
