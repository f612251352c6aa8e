//! The one loop in which core, journal, vault, egress and sandbox meet.
//!
//! An invocation is driven by [`run`]: take one input, let the core decide, apply, and carry out what
//! is due. Nothing is carried out that must be durable before everything known is on disk; that is
//! one place, `Run::persist_then_act`. The broker owns the work: a caller that goes away cancels
//! nothing by going.

mod approvals;
mod ask;
mod attest;
mod batch;
mod begin;
mod broker;
mod call;
mod cancel;
mod connect;
mod connection;
mod content;
mod delivery;
mod dividing;
mod driver;
mod exchange;
mod failures;
mod figures;
mod follow;
mod host;
mod intent;
mod judge;
mod line;
mod links;
mod meeting;
mod notes;
mod prepare;
mod prepared;
mod probe;
mod proxy;
mod reconcile;
mod refuse;
mod retry;
mod retry_batch;
mod revoked;
mod run;
mod ssh;
mod start;
mod unknowns;
mod validate;
mod watch;
mod word;

pub use approvals::{Card, DecideError, Reach};
pub use attest::AttestError;
pub use broker::{Broker, CallRequest, Parts, ReadError};
pub use connection::{BadSchema, Binding, Connection, Declaration, Fresh, Limits, Place, ProxyBinding};
pub use delivery::Delivery;
pub use figures::{Counted, DURATION_MILLIS, Figures};
pub use follow::FollowError;
pub use host::{Clock, Entropy, SystemClock, SystemEntropy};
pub use intent::{Authority, Caller};
pub use line::{CallersEnd, Line};
pub use notes::{Answered, Note};
pub use probe::{NoProbe, Point, Probe};
pub use reconcile::ReconcileError;
pub use retry::RetryError;
pub use retry_batch::RetryBatchError;
pub use ssh::{SshBinding, SshJumpBinding};
pub use start::StartError;
pub use word::{Approvals, QUESTION_SECONDS};
