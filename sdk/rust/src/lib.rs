//! The crate that a Proofport connector is written with.
//!
//! A connector says what its operations are ([`Connector::describe`]), what to send next
//! ([`Connector::next`]) and, where an operation's fate can be asked for, how to ask
//! ([`Connector::reconcile`]). It performs no input or output, holds no secret and reads no clock:
//! the same arguments must give the same answer, and everything that it needs is an argument.
//! `examples/charges` is a complete one in one file.
//!
//! ```
//! use proofport_sdk::{Connector, Exchange, Fault, HttpRequest, Call, Manifest, Operation, Step, Verdict, json};
//!
//! struct Ping;
//!
//! impl Connector for Ping {
//!     fn describe(_config: &str) -> Manifest {
//!         Manifest::new("ping", "1.0.0", "Asks a service whether it is there.")
//!             .operation(Operation::read("ping").summary("Ask whether the service is there."))
//!     }
//!
//!     fn next(_call: &Call, history: &[Exchange]) -> Result<Step, Fault> {
//!         let Some(exchange) = history.last() else {
//!             return Ok(HttpRequest::get("/health").as_query("Ask for the service's health"));
//!         };
//!         let verdict = exchange.http()?.verdict(proofport_sdk::Terms::NONE);
//!         Ok(if verdict.success { verdict.output(json!({})) } else { verdict }.into())
//!     }
//! }
//!
//! proofport_sdk::export!(Ping);
//! ```
//!
//! The types of the world (`wit/connector.wit`) are re-exported as they are, with builders added:
//! whatever a builder does not cover can be written as a plain struct.

mod call;
mod connector;
mod declare;
mod encode;
mod fault;
mod request;
mod response;
pub mod ssh;
mod table;
mod verdict;

/// The code that `wit-bindgen` generates from `wit/connector.wit`.
#[doc(hidden)]
#[allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    reason = "generated: it lifts and lowers the component model's values"
)]
pub mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "connector-world",
        pub_export_macro: true,
        export_macro_name: "export_bindings",
        default_bindings_module: "proofport_sdk::bindings",
        additional_derives: [PartialEq],
        generate_unused_types: true,
    });
}

pub use bindings::proofport::connector::types;

pub use connector::{Adapter, Connector};
pub use declare::{key_in_connector, key_in_header};
pub use fault::Fault;
pub use serde_json::{Value, json};
pub use table::{Terms, default_verdict};
pub use types::{
    BatchContract, BatchMode, Call, ChildVerdict, CredentialSlot as Slot, Effect, Evidence, Exchange, Header,
    HttpQueryTemplate, HttpRequest, HttpResponse, InjectionMode, Job, KeyPlace, KeyedContract, Manifest,
    Operation, Outcome, QueryTemplate, Reason, ReconcileContract, ReconcileStep, Repeat, Request, Response,
    Role, SshCommand, SshExit, SshRequest, SshResponse, Step, StopContract, StoredContent, Verdict,
};

/// Makes a [`Connector`] the one that this crate's Wasm component exports. On other targets it
/// expands to nothing, so that connectors are tested natively as plain functions.
#[macro_export]
macro_rules! export {
    ($connector:ty) => {
        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, missing_docs, reason = "generated: the component's exported entry points")]
        const _: () = {
            type Exported = $crate::Adapter<$connector>;
    $crate::bindings::export_bindings!(Exported with_types_in $crate::bindings);
        };
    };
}
