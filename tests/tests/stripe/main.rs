//! The Stripe connector through a whole host against a real `localstripe`, over a way on which requests and
//! answers meet with accidents: behind a layer that honours idempotency keys, and as it is, where the admin
//! has taken the keys' contract away. What is claimed is compared with what the service has.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod bare;
mod keyed;
mod keys;

use proofport_broker::{Clock, SystemClock};
use proofport_core::envelope::Envelope;
use proofport_core::origin::Origin;
use proofport_core::time::UnixMillis;
use proofport_tests::localstripe::{KEY, LocalStripe};
use proofport_tests::rig::{Open, Rig, Wanted};
use proofport_tests::way::{Habits, Keys, Way};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Every write.
const WRITES: [&str; 4] =
    ["create_customer", "create_payment_intent", "confirm_payment_intent", "create_refund"];

/// A clock that can be put forward.
#[derive(Default)]
struct Ahead(AtomicU64);

impl Clock for Ahead {
    fn now(&self) -> UnixMillis {
        SystemClock.now().plus_seconds(self.0.load(Ordering::SeqCst))
    }
}

/// A service, a way to it, and a host on that way.
struct Site {
    stripe: LocalStripe,
    way: Way,
    _rig: Rig,
    open: Open,
    clock: Arc<Ahead>,
}

impl Site {
    /// `more` are lines of the connection's table. The host waits for one second, and late is later. Only who
    /// asks, asks.
    async fn new(keys: Option<Keys>, more: &str) -> Self {
        let stripe = LocalStripe::start().unwrap_or_else(|error| panic!("{error}"));
        let way = Way::to(stripe.address(), Habits::smooth(Duration::from_millis(1200)), keys).unwrap();
        let origin = Origin::parse(&way.origin()).unwrap();
        let wanted = Wanted {
            secret: KEY.to_owned(),
            more: format!("{more}\n[connections.c.reconciliations]\nattempts = 0\n"),
            ..Wanted::new("proofport-connector-stripe", origin, "api_key")
        };
        let mut rig = Rig::new(&wanted.limits("deadline_seconds = 1")).await;
        let clock = Arc::new(Ahead::default());
        rig.clock = Arc::<Ahead>::clone(&clock);
        let open = rig.open().await;
        Self { stripe, way, _rig: rig, open, clock }
    }

    /// A form, past everything that is tested.
    fn make(&self, path: &str, form: &str) -> Value {
        let (status, made) = self.stripe.ask(path, Some(form)).unwrap();
        assert_eq!(status, 200, "{made}");
        made
    }

    /// An input of this operation that no call had before, and where its effect is to be seen.
    fn fresh(&self, operation: &str, n: usize) -> (Value, Effect) {
        let payment = || {
            let made =
                self.make("/v1/payment_intents", "amount=2000&currency=usd&payment_method=pm_card_visa");
            made["id"].as_str().unwrap().to_owned()
        };
        let (input, resource) = match operation {
            "create_customer" => (json!({ "email": format!("n{n}@example.com") }), "customers"),
            "create_payment_intent" => (
                json!({ "amount": 100 + n, "currency": "eur", "payment_method": "pm_card_visa" }),
                "payment_intents",
            ),
            "confirm_payment_intent" => (json!({ "payment_intent": payment() }), "charges"),
            "create_refund" => {
                let payment = payment();
                self.make(&format!("/v1/payment_intents/{payment}/confirm"), "");
                (json!({ "payment_intent": payment, "amount": 500 }), "refunds")
            }
            other => panic!("{other} is no write"),
        };
        (input, Effect { resource, before: self.stripe.count(resource).unwrap() })
    }

    async fn call(&self, operation: &str, input: &Value) -> Envelope {
        self.open.call(operation, &input.to_string()).await
    }

    /// How often an effect came to be since it was asked for.
    fn effects(&self, effect: &Effect) -> u64 {
        self.way.log().wait_quiet();
        self.stripe.count(effect.resource).unwrap() - effect.before
    }

    /// Requests for effects that came to the way.
    fn sent(&self) -> usize {
        self.way.log().passed().iter().filter(|passed| passed.line.starts_with("POST ")).count()
    }
}

/// Where an effect is to be seen.
struct Effect {
    resource: &'static str,
    /// How many were there already.
    before: u64,
}
