//! From authorisation to the dispatch boundary: queries, and a verified connection with the effect
//! loaded.

use crate::connect::Newness;
use crate::connection::Connection;
use crate::exchange::{Exchanged, Ready};
use crate::refuse;
use crate::run::Run;
use crate::validate::MOST_STEPS;
use proofport_core::code::Code;
use proofport_core::contract::{Repeat, Role};
use proofport_core::decide::{Input, Readiness};
use proofport_core::event::{KeyUse, QueryFacts, QueryPurpose, StopDetail};
use proofport_core::evidence::{Cause, Evidence, HttpEvidence, PeerIdentity};
use proofport_core::exchange::{Exchange, Header, Request, Send};
use proofport_core::id::IdempotencyKey;
use proofport_core::ssh::SshEvidence;
use proofport_core::state::State;
use proofport_core::time::UnixMillis;
use proofport_core::verdict::Step;
use proofport_egress::Guard;
use proofport_journal::{Body, BodyKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A verified connection with a request on it.
pub(crate) struct Connected {
    pub(crate) ready: Ready,
    pub(crate) peer: PeerIdentity,
    pub(crate) request: Request,
    /// How it came about.
    pub(crate) inputs: Vec<Input>,
}

impl Run {
    /// One step: a query, or everything up to the effect's dispatch, or a read's end.
    pub(crate) async fn prepare(&mut self) -> Vec<Input> {
        let Some(connection) = self.scratch.connection.clone() else {
            return vec![refuse::breach("no connection")];
        };
        let step = match self.scratch.step.take() {
            Some(step) => Ok(step),
            None if self.scratch.steps >= MOST_STEPS => Err("more steps than a call may take".to_owned()),
            None => self.step(&connection).await.map_err(|fault| fault.to_string()),
        };
        match step {
            Ok(Step::Send(send)) => match (self.before(&connection, &send), send.role) {
                (Some(inputs), _) => inputs,
                (None, Role::Query) => self.query(&connection, send).await,
                (None, Role::Effect) => self.load(&connection, send).await,
            },
            Ok(Step::Settle(verdict)) if self.is_read() && !self.state.queries.is_empty() => {
                vec![self.judge_read(Ok(verdict))]
            }
            // Nothing was asked, or a query says nothing about an effect that was not sent.
            Ok(Step::Settle(_)) => vec![refuse::breach("a verdict on an effect that was not sent")],
            Ok(Step::Refuse(_)) => self.fault_after_queries("a refusal after something was sent".to_owned()),
            Err(fault) => self.fault_after_queries(fault),
        }
    }

    /// What happens instead of this step, where it may not be carried out, or not yet.
    fn before(&mut self, connection: &Connection, send: &Send) -> Option<Vec<Input>> {
        match self.refuse_revoked(connection) {
            Some(refused) => Some(vec![refused]),
            None => self.ask_first(connection, send),
        }
    }

    /// Before an effect a fault stops the call; a read's complete answer stays what it is.
    fn fault_after_queries(&mut self, fault: String) -> Vec<Input> {
        if self.is_read() && !self.state.queries.is_empty() {
            vec![self.judge_read(Err(fault))]
        } else {
            vec![refuse::breach(&fault)]
        }
    }

    async fn query(&mut self, connection: &Arc<Connection>, send: Send) -> Vec<Input> {
        let purpose = if self.is_read() { QueryPurpose::Read } else { QueryPurpose::Prepare };
        let Connected { ready, peer, request, mut inputs } = match self.connect(connection, &send, &[]).await
        {
            Ok(connected) => connected,
            Err(inputs) => return inputs,
        };
        // Locked or taken back while the connection was made: nothing of the query has left.
        if let Some(refused) = self.refuse_taken_back(connection, &send) {
            inputs.push(refused);
            return inputs;
        }
        let fingerprint = send.request.fingerprint();
        let queried = |evidence: Evidence| {
            let facts = QueryFacts { purpose, request: fingerprint, peer: peer.clone(), evidence };
            Input::Queried(Box::new(facts))
        };
        // In case nobody waits for its end.
        self.scratch.seen.append(&mut inputs);
        let unseen = match &ready {
            Ready::Http(_) => HttpEvidence::nothing_seen(Cause::Cancelled).into(),
            Ready::Ssh(_) => SshEvidence::nothing_seen(Cause::Cancelled).into(),
        };
        self.scratch.seen.push(queried(unseen));
        self.scratch.asked.store(true, Ordering::Relaxed);
        let exchange = self.exchange_query(ready).await;
        let evidence = exchange.evidence();
        self.scratch.seen.pop();
        let mut inputs = std::mem::take(&mut self.scratch.seen);
        inputs.push(queried(evidence.clone()));
        match exchange.response() {
            Some(response) if evidence.complete() => {
                self.scratch.history.push(Exchange { role: Role::Query, request, response });
                self.scratch.exchange = None;
            }
            Some(_) | None => inputs.push(self.query_failed(purpose, &evidence)),
        }
        inputs
    }

    pub(crate) async fn exchange_query(&mut self, ready: Ready) -> Exchanged {
        // A reconciliation's answers are for the connector, whatever the operation's are for.
        let sink = if self.is_read() { self.storage(&ready) } else { None };
        // Before an effect a caller who has lost interest ends all of it, and a reconciliation has none.
        let mut cancelled = self.cancelled();
        let options = self.exchange_options(Role::Query);
        let mut exchange = ready.exchange(&options, Arc::new(()), sink, cancelled.wait()).await;
        self.screen(&mut exchange);
        self.note(&exchange);
        exchange
    }

    /// A query without a usable answer: the end of a read, or of a call before its effect.
    fn query_failed(&mut self, purpose: QueryPurpose, evidence: &Evidence) -> Input {
        match purpose {
            QueryPurpose::Read => self.judge_unread(evidence.clone()),
            QueryPurpose::Prepare | QueryPurpose::Reconcile => refuse::refused(
                Code::PreparationFailed,
                StopDetail::Query {
                    cause: evidence.cause(),
                    status: evidence.http().and_then(|http| http.status),
                },
            ),
        }
    }

    /// Everything up to the effect's first byte.
    async fn load(&mut self, connection: &Arc<Connection>, send: Send) -> Vec<Input> {
        let key = self.scratch.key.clone();
        let extra = key_header(&self.scratch.contract.as_ref().map(|c| c.repeat.clone()), key.as_ref());
        let mut inputs = Vec::new();
        let mut dead = 0;
        let Connected { ready, peer, request, .. } = loop {
            let first = count_attempts(&self.state, &inputs).saturating_add(1);
            let connected = self.connect_as(connection, &send, &extra, dead > 0, first).await;
            let mut connected = match connected {
                Ok(connected) => connected,
                Err(failed) => {
                    inputs.extend(failed);
                    return inputs;
                }
            };
            inputs.append(&mut connected.inputs);
            // The last look before the dispatch is made durable: until then a dead connection is a
            // failure of setup, and from then on nothing is.
            let attempts = count_attempts(&self.state, &inputs);
            let found = connected.ready.found_dead(attempts.saturating_add(1));
            let Some(found) = found else { break connected };
            inputs.push(Input::Connected(vec![found]));
            dead += 1;
            self.scratch.seen.clone_from(&inputs);
            // One more than the setup's own: a kept connection's death is nobody's fault.
            if dead > connection.limits.setup_attempts {
                inputs.push(refuse::refused(
                    Code::ConnectFailed,
                    StopDetail::Setup { cause: Cause::ConnectionStale },
                ));
                return inputs;
            }
        };
        // Locked or taken back while the connection was made: nothing of the effect has left.
        if let Some(refused) = self.refuse_taken_back(connection, &send) {
            inputs.push(refused);
            return inputs;
        }
        if self.taken_over().and_then(|continues| continues.key.as_ref()).is_some_and(|key| {
            // Asking a person may have taken longer than the remote remembers.
            key.expires <= self.inner.now()
        }) {
            inputs.push(refuse::refused(Code::IdempotencyMismatch, StopDetail::None));
            return inputs;
        }
        let fingerprint = request.fingerprint();
        let refused = self.refuse_taken_over(&peer).or_else(|| self.refuse_repeat(&peer, &fingerprint));
        if let Some(refused) = refused {
            inputs.push(refused);
            return inputs;
        }
        // What is stored is what is sent, should it ever be sent again.
        if let Ok(bytes) = serde_json::to_vec(&request) {
            self.bodies.push(Body { kind: BodyKind::Request, bytes });
        }
        let limits = connection.limits;
        let now = self.inner.now();
        let lease_millis = millis(limits.deadline).saturating_add(millis(limits.connect) * 4);
        let readiness = Readiness {
            request: fingerprint,
            peer,
            // A later attempt never renews the remote's memory: the first use counts.
            key: self.state.attempts.first().map_or_else(
                || key.and_then(|key| self.first_use(connection, key, now)),
                |first| first.dispatch.key.clone(),
            ),
            lease_millis,
            follows: self.scratch.follows.clone(),
        };
        if self.scratch.follows.is_none() {
            self.scratch.effect = Some(send);
        }
        self.scratch.loaded = Some((ready, request));
        inputs.push(Input::Ready(Box::new(readiness)));
        inputs
    }

    /// The key of an effect that is sent for the first time.
    fn first_use(&self, connection: &Connection, key: IdempotencyKey, now: UnixMillis) -> Option<KeyUse> {
        // One that something unknown was sent with is not used for the first time.
        if let Some(known) = self.taken_over().and_then(|continues| continues.key.clone()) {
            return Some(known);
        }
        // The remote forgets by real time: a clock that once ran ahead must not lengthen that.
        let first = now.min(self.inner.clock.now());
        key_use(&self.scratch.contract.as_ref()?.repeat, key, connection, first)
    }

    /// A verified connection with this request on it, or why not. Nothing has left.
    pub(crate) async fn connect(
        &mut self,
        connection: &Arc<Connection>,
        send: &Send,
        extra: &[Header],
    ) -> Result<Connected, Vec<Input>> {
        let first = count_attempts(&self.state, &[]).saturating_add(1);
        self.connect_as(connection, send, extra, false, first).await
    }

    async fn connect_as(
        &mut self,
        connection: &Arc<Connection>,
        send: &Send,
        extra: &[Header],
        fresh: bool,
        first: u32,
    ) -> Result<Connected, Vec<Input>> {
        match &send.request {
            Request::Http(request) => {
                self.connect_http(connection, send, request, extra, Newness { fresh, first }).await
            }
            // A key that travels in a header has no place in an exec; a connector puts its own there.
            Request::Ssh(exec) => self.connect_ssh(connection, send, exec, first).await,
        }
    }

    /// From now on every answer, and what is delivered, is searched by this too.
    pub(crate) fn guard_against(&mut self, guard: Arc<Guard>) {
        if !self.scratch.guards.iter().any(|known| Arc::ptr_eq(known, &guard)) {
            self.scratch.guards.push(guard);
        }
    }
}

/// A refusal, where the request has more content or input than the connection allows.
pub(crate) fn over_limit(connection: &Connection, request: &Request) -> Option<Input> {
    let most = connection.limits.request_bytes;
    let content = match request {
        Request::Http(request) => &request.body,
        Request::Ssh(exec) => &exec.stdin,
    };
    let over = content.as_ref().is_some_and(|content| content.len() > most);
    over.then(|| refuse::refused(Code::PayloadLimit, StopDetail::OverLimit { limit: most as u64 }))
}

/// The key's header, where the contract says that it travels in one.
fn key_header(repeat: &Option<Repeat>, key: Option<&IdempotencyKey>) -> Vec<Header> {
    use proofport_core::contract::KeyPlace;
    match (repeat, key) {
        (Some(Repeat::Keyed(keyed)), Some(key)) => match &keyed.place {
            KeyPlace::Header(name) => {
                vec![Header { name: name.to_ascii_lowercase(), value: key.as_str().to_owned() }]
            }
            KeyPlace::Connector => Vec::new(),
        },
        (Some(Repeat::Keyed(_)), None)
        | (Some(Repeat::None | Repeat::Idempotent | Repeat::Conditional) | None, _) => Vec::new(),
    }
}

/// The key with its earliest safe expiry: first use and retention, less the longest attempt and the
/// margin for clocks that differ.
fn key_use(repeat: &Repeat, key: IdempotencyKey, connection: &Connection, now: UnixMillis) -> Option<KeyUse> {
    let Repeat::Keyed(keyed) = repeat else { return None };
    let limits = connection.limits;
    let window = keyed.retention_seconds.unwrap_or(limits.key_window_seconds);
    let taken_off = limits.deadline.as_secs().saturating_add(limits.clock_margin_seconds);
    Some(KeyUse {
        key,
        scope: keyed.scope.clone(),
        first_use: now,
        expires: now.plus_seconds(window.saturating_sub(taken_off)),
    })
}

/// How many connection attempts there were, on record and on the way to it.
fn count_attempts(state: &State, inputs: &[Input]) -> u32 {
    let new: usize = inputs
        .iter()
        .map(|input| if let Input::Connected(attempts) = input { attempts.len() } else { 0 })
        .sum();
    u32::try_from(state.setup.len() + new).unwrap_or(u32::MAX)
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
