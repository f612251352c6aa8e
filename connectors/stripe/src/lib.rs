//! Customers, payment intents and refunds at Stripe.
//!
//! One file per resource; [`api`] holds what Stripe publishes about all of them, [`failure`] reads its
//! errors and [`search`] finds out what became of a create whose answer was lost.

mod api;
mod config;
mod customers;
mod failure;
mod money;
mod payment_intents;
mod refunds;
mod search;

use proofport_sdk::{
    Call, Connector, Evidence, Exchange, Fault, InjectionMode, Manifest, ReconcileStep, Slot, Step,
};

/// The connector.
pub struct Stripe;

proofport_sdk::export!(Stripe);

impl Connector for Stripe {
    fn describe(_config: &str) -> Manifest {
        Manifest::new(
            "stripe",
            env!("CARGO_PKG_VERSION"),
            "Customers, payment intents and refunds at Stripe.",
        )
        .config(&config::schema())
        .slot(Slot::new(
            api::SLOT,
            "A secret or restricted key with write access to customers, payment intents and refunds.",
            &[InjectionMode::HttpBearer, InjectionMode::HttpBasic],
        ))
        .operation(customers::declare_create())
        .operation(customers::declare_retrieve())
        .operation(payment_intents::declare_create())
        .operation(payment_intents::declare_confirm())
        .operation(payment_intents::declare_retrieve())
        .operation(refunds::declare_create())
        .operation(refunds::declare_retrieve())
    }

    fn next(call: &Call, history: &[Exchange]) -> Result<Step, Fault> {
        let answer = history.last().map(Exchange::http).transpose()?;
        match call.operation.as_str() {
            "create_customer" => customers::create(call, answer),
            "retrieve_customer" => customers::retrieve(call, answer),
            "create_payment_intent" => payment_intents::create(call, answer),
            "confirm_payment_intent" => payment_intents::confirm(call, answer),
            "retrieve_payment_intent" => payment_intents::retrieve(call, answer),
            "create_refund" => refunds::create(call, answer),
            "retrieve_refund" => refunds::retrieve(call, answer),
            _ => Err(Fault::no_such_operation()),
        }
    }

    fn reconcile(call: &Call, evidence: &Evidence, history: &[Exchange]) -> Result<ReconcileStep, Fault> {
        match call.operation.as_str() {
            "create_customer" => customers::find_created(call, evidence, history),
            "create_payment_intent" => payment_intents::find_created(call, evidence, history),
            "confirm_payment_intent" => payment_intents::look_at_confirmed(call, history),
            "create_refund" => refunds::find_created(call, history),
            _ => Err(Fault::no_such_operation()),
        }
    }
}
