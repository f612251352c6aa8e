#![doc = include_str!("../README.md")]

mod answer;
mod call;
mod client;
mod closed;
mod code;
mod content;
mod contract;
mod doubt;
mod envelope;
mod error;
mod id;
mod next;
mod operations;
mod retries;
mod success;
mod twice;
mod wire;

pub use call::{Call, CallKey, InvalidCall};
pub use client::{Client, NotLoopback};
pub use code::Code;
pub use content::{Content, ContentError};
pub use contract::{
    Action, Effect, EnvelopeSchema, Outcome, Phase, RepeatKind, Retry, RetryOwner, Source, Stage,
};
pub use doubt::InDoubt;
pub use envelope::{
    Child, ContentFacts, ContractLine, Envelope, Evidence, Job, RemoteData, ResultError, SetupLine,
};
pub use error::{CallError, Cause, Contradiction, Malformed, NoAnswer, Reach};
pub use id::{InvalidId, InvalidName, OperationName, RequestId};
pub use next::{Next, next_step};
pub use operations::Operation;
pub use retries::Retries;
pub use success::Success;
pub use twice::{MayHappenTwice, NotRepeatable, i_accept_that_this_may_happen_twice};
pub use wire::{InvalidToken, Token};
