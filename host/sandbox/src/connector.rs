//! One loaded connector, and how it is called.

use crate::convert::{from_guest, to_guest};
use crate::fault::{Breach, Fault};
use crate::guest::Guest;
use crate::inert::Refused;
use crate::limits::Limits;
use crate::sandbox::Shared;
use crate::ticker;
use crate::world::{ConnectorWorld, ConnectorWorldPre};
use proofport_core::call::{Call, DispatchFacts};
use proofport_core::digest::Digest;
use proofport_core::exchange::Exchange;
use proofport_core::id::Name;
use proofport_core::manifest::Manifest;
use proofport_core::origin::Origin;
use proofport_core::time::UnixMillis;
use proofport_core::verdict::Step;
use std::sync::Arc;
use std::time::Instant;
use wasmtime::{Store, Trap};

/// A connector that was checked, compiled and linked. Cheap to clone.
#[derive(Clone)]
pub struct Connector {
    digest: Digest,
    pre: ConnectorWorldPre<Guest>,
    shared: Arc<Shared>,
}

/// What a connector's requests are held against.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The connection's origins, the default first.
    pub origins: Vec<Origin>,
    /// What the connector declared.
    pub manifest: Arc<Manifest>,
    /// The operation that is called.
    pub operation: Name,
    /// The connection's SSH hosts as spelled there, the default first.
    pub ssh_hosts: Vec<String>,
    /// Whether the connection allows commands that the host does not quote.
    pub raw_commands: bool,
}

/// An answer, and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Report<T> {
    /// The answer.
    pub value: T,
    /// Units of fuel used.
    pub fuel: u64,
    /// From before instantiation until the answer was lifted, in microseconds.
    pub micros: u64,
    /// Standard output and error, bounded, for the protected record.
    pub log: Vec<u8>,
}

impl<T> Report<T> {
    fn try_map<U>(self, map: impl FnOnce(T) -> Result<U, Breach>) -> Result<Report<U>, Fault> {
        Ok(Report { value: map(self.value)?, fuel: self.fuel, micros: self.micros, log: self.log })
    }
}

impl Connector {
    pub(crate) const fn new(digest: Digest, pre: ConnectorWorldPre<Guest>, shared: Arc<Shared>) -> Self {
        Self { digest, pre, shared }
    }

    /// The SHA-256 of the module.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// What the connector is, under this `config`: canonical JSON, `{}` at installation.
    ///
    /// # Errors
    /// When the guest gives no manifest, or one that can't be accepted.
    pub async fn describe(&self, config: &str) -> Result<Report<Manifest>, Fault> {
        let config = config.to_owned();
        let report = self
            .run("describe", UnixMillis(0), move |world, store| {
                world.proofport_connector_connector().call_describe(store, &config)
            })
            .await?;
        report.try_map(from_guest::manifest)
    }

    /// The next step of a call, given its completed exchanges, in order.
    ///
    /// # Errors
    /// When the guest gives no answer, or one that breaks the rules.
    pub async fn next(
        &self,
        call: &Call,
        history: &[Exchange],
        rules: &Rules,
    ) -> Result<Report<Step>, Fault> {
        let args = (to_guest::call(call), to_guest::history(history));
        let report = self
            .run(call.reference.as_str(), call.accepted_at, move |world, store| {
                world.proofport_connector_connector().call_next(store, &args.0, &args.1)
            })
            .await?;
        report.try_map(|step| from_guest::step(step, call, history, rules))
    }

    /// The next step of finding out what became of a call's effect. `history` holds the completed
    /// queries of this reconciliation. The answer is never [`Step::Refuse`].
    ///
    /// # Errors
    /// When the guest gives no answer, or one that breaks the rules.
    pub async fn reconcile(
        &self,
        call: &Call,
        facts: &DispatchFacts,
        history: &[Exchange],
        rules: &Rules,
    ) -> Result<Report<Step>, Fault> {
        let args = (to_guest::call(call), to_guest::facts(facts), to_guest::history(history));
        let report = self
            .run(call.reference.as_str(), call.accepted_at, move |world, store| {
                world.proofport_connector_connector().call_reconcile(store, &args.0, &args.1, &args.2)
            })
            .await?;
        report.try_map(|step| from_guest::reconcile_step(step, rules))
    }

    async fn run<T: Send + 'static>(
        &self,
        reference: &str,
        now: UnixMillis,
        call: impl FnOnce(&ConnectorWorld, &mut Store<Guest>) -> wasmtime::Result<T> + Send + 'static,
    ) -> Result<Report<T>, Fault> {
        let guest = Guest::new(&self.shared.limits, reference, now);
        let (limits, pre, ticker) = (self.shared.limits, self.pre.clone(), Arc::clone(&self.shared.ticker));
        let figures = Arc::clone(&self.shared.figures);
        let work = move || {
            let (_running, _counted) = (ticker.run(), figures.run());
            attempt(&pre, &limits, guest, call)
        };
        self.shared.threads.run(work).await.unwrap_or(Err(Fault::Unavailable))
    }
}

/// One call in one fresh instance, on the current thread.
fn attempt<T>(
    pre: &ConnectorWorldPre<Guest>,
    limits: &Limits,
    guest: Guest,
    call: impl FnOnce(&ConnectorWorld, &mut Store<Guest>) -> wasmtime::Result<T>,
) -> Result<Report<T>, Fault> {
    let start = Instant::now();
    let mut store = Store::new(pre.engine(), guest);
    store.limiter(|guest| &mut guest.limiter);
    store.set_epoch_deadline(ticker::epochs(limits.deadline));
    store.set_hostcall_fuel(limits.output_bytes);
    store.set_fuel(limits.fuel).map_err(|_| Fault::Unavailable)?;
    let answer = pre.instantiate(&mut store).and_then(|world| call(&world, &mut store));
    let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    let fuel = limits.fuel.saturating_sub(store.get_fuel().unwrap_or(0));
    let log = store.data_mut().log.take();
    match answer {
        Ok(value) => Ok(Report { value, fuel, micros, log }),
        Err(error) => Err(fault(&error, store.data(), log)),
    }
}

/// What a failed call was, by the runtime's typed cause where it has one.
fn fault(error: &wasmtime::Error, guest: &Guest, log: Vec<u8>) -> Fault {
    let trap = error.downcast_ref::<Trap>().copied();
    if trap == Some(Trap::OutOfFuel) {
        return Fault::OutOfFuel;
    }
    if trap == Some(Trap::Interrupt) {
        return Fault::DeadlinePassed;
    }
    if guest.limiter.refused() {
        return Fault::MemoryLimit;
    }
    // The runtime has no public type for this cause; its words are pinned by a hostile guest's test.
    if error.root_cause().to_string().contains("fuel allocated for hostcalls has been exhausted") {
        return Fault::OutputLimit;
    }
    if error.is::<wasmtime::PoolConcurrencyLimitError>() {
        return Fault::Unavailable;
    }
    let kind = match (trap, error.downcast_ref::<Refused>()) {
        (Some(trap), _) => trap.to_string(),
        (None, Some(refused)) => refused.to_string(),
        (None, None) => "it answered with a value that does not fit its type, or leaked handles".to_owned(),
    };
    Fault::Trap { kind, log }
}
