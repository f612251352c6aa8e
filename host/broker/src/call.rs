//! One call, from the first gate to its answer.

use crate::broker::{CallRequest, Inner};
use crate::delivery::Delivery;
use crate::driver::add;
use crate::failures::Account;
use crate::intent::IntentKeys;
use crate::line::Line;
use crate::meeting::{Meeting, UnderWay};
use crate::run::Run;
use proofport_core::canonical::canonical;
use proofport_core::code::Code;
use proofport_core::contract::{Effect, Repeat};
use proofport_core::decide::Input;
use proofport_core::digest::Digest;
use proofport_core::envelope::Envelope;
use proofport_core::event::{Accepted, Continues};
use proofport_core::id::{OperationName, RequestId};
use proofport_core::inquiry::announced;
use proofport_core::state::State;
use proofport_journal::Room;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;

impl Inner {
    /// Carries out a call, and counts its answer.
    pub(crate) async fn answered(self: Arc<Self>, request: CallRequest, line: Option<Line>) -> Delivery {
        let since = Instant::now();
        let delivery = Arc::clone(&self).carry_out_on(request, None, None, line).await;
        let took = since.elapsed();
        self.figures.answered(&delivery.envelope, took);
        self.note_answer(&delivery, took);
        delivery
    }

    /// Carries out a call. `link`: it sends children of a batch once more, and is found again by this. `follows`:
    /// it looks at the job that this one submitted.
    pub(crate) async fn carry_out(
        self: Arc<Self>,
        request: CallRequest,
        link: Option<(Continues, Digest)>,
        follows: Option<RequestId>,
    ) -> Delivery {
        self.carry_out_on(request, link, follows, None).await
    }

    async fn carry_out_on(
        self: Arc<Self>,
        request: CallRequest,
        link: Option<(Continues, Digest)>,
        follows: Option<RequestId>,
        line: Option<Line>,
    ) -> Delivery {
        let (continues, link) = link.map(|(continues, link)| (Box::new(continues), link)).unzip();
        // The first gate, before anything is said about what exists.
        if self.is_locked() {
            return self.refusal(Code::VaultLocked, Some(request.operation));
        }
        let connection = self.connections.get(&request.operation.connection).cloned();
        let value = serde_json::from_slice::<serde_json::Value>(&request.input).ok();
        let canonical = value.as_ref().map_or_else(String::new, canonical);
        let declared = connection.as_ref().and_then(|c| c.manifest.operation(&request.operation.operation));
        let contract = connection.as_ref().zip(declared).map(|(c, operation)| c.contract(operation));
        // What sends children again keeps the whole call away by itself.
        let may_be_divided = link.is_none() && contract.as_ref().is_some_and(|terms| terms.batch.is_some());
        let contract_known = contract.is_some();
        let keys =
            contract.filter(|contract| contract.effect == Effect::Write && value.is_some()).map(|contract| {
                let spans = contract.repeat == Repeat::None;
                IntentKeys::of(
                    &request.caller,
                    spans,
                    &request.operation,
                    &canonical,
                    request.call_key.as_deref(),
                )
            });
        let (publish, watcher) = watch::channel(None);
        let under_way = UnderWay { inner: &self, keys: keys.as_ref(), own: watcher.clone() };
        let mut call_key_reused = false;
        if let Some(keys) = &keys {
            match self.meet(keys, &canonical, &watcher, may_be_divided).await {
                Meeting::Other(delivery) => return *delivery,
                Meeting::KeyReused => {
                    // It carries out nothing, so nobody may meet it.
                    under_way.leave();
                    call_key_reused = true;
                }
                Meeting::First => {}
            }
        }
        // A look at a job has a budget of its own, and its answer must be that job's; so must that to children
        // sent again be theirs.
        let by_itself = contract_known && follows.is_none() && link.is_none();
        let bound = connection.as_ref().filter(|_| by_itself);
        let account = bound.map(|c| {
            let who = (request.caller.principal.as_str(), request.caller.session.as_str());
            Account::of(&self.failures, who, &request.operation, c.failures)
        });
        let spent = account.as_ref().filter(|_| !call_key_reused);
        if let Some(stopped) = spent.and_then(|account| self.too_often(account, &request)) {
            return stopped;
        }
        let reads = declared.is_some_and(|operation| operation.contract.effect == Effect::Read);
        if reads && let Some(state) = self.same_question(&request, &Digest::of_bytes(canonical.as_bytes())) {
            return self.answer(&state, true);
        }
        if self.asks_too_much(&request.caller.session) {
            tracing::warn!("a session has as many questions open as it may; nothing more is taken on for it");
            return self.refusal(Code::ApprovalPending, Some(request.operation));
        }
        if self.journal.room() == Room::Short {
            // What is under way keeps the space that is left, for its settlement.
            tracing::error!("the disk is nearly full, so that nothing new is taken on; free some space");
            return self.refusal(Code::Internal, Some(request.operation));
        }
        let Ok(random) = self.entropy.bytes() else {
            return self.refusal(Code::Internal, Some(request.operation));
        };
        let accepted = Accepted {
            request_id: RequestId::from_random(random),
            operation: request.operation.clone(),
            principal: request.caller.principal.clone(),
            session: request.caller.session.clone(),
            input: Digest::of_bytes(if value.is_some() { canonical.as_bytes() } else { &request.input }),
            call_key: request.call_key.as_deref().map(|key| Digest::of_bytes(key.as_bytes())),
            at: self.now(),
            continues,
            follows,
        };
        let begun = Run::begin(Arc::clone(&self), connection, accepted, value, canonical, publish);
        let finished = match begun {
            Ok(mut run) => {
                run.account = account;
                run.scratch.authority = request.caller.authority;
                if let Some(line) = line {
                    let id = run.state.accepted.request_id;
                    tokio::spawn(line.attend(Arc::clone(&self), id, watcher.clone()));
                }
                // Whoever sent children again holds their batch until this is over: it does not rest meanwhile.
                run.scratch.rests = link.is_none();
                if let Some(keys) = keys.as_ref().filter(|_| !call_key_reused) {
                    run.remember(keys.all().into_iter().chain(link).collect());
                }
                // A task of its own: a panic in it must not take with it what is proved.
                let work = async move {
                    if call_key_reused { run.refuse_reused_key().await } else { run.drive().await }
                };
                tokio::spawn(work).await.map_err(|_| "it panicked".to_owned())
            }
            Err(error) => Ok(Err(error)),
        };
        let delivery = match finished.and_then(|finished| finished.map_err(|error| error.to_string())) {
            Ok(finished) => self.delivered(finished),
            Err(error) => {
                tracing::error!(operation = %request.operation, %error, "an invocation could not go on");
                let durable = watcher.borrow().clone();
                self.failed(durable, request.operation.clone()).await
            }
        };
        // Only now may another call of this intent look at the journal instead of at this one.
        drop(under_way);
        delivery
    }

    /// The answer when this host failed: by the last boundary that is proved, never by where it
    /// failed.
    pub(crate) async fn failed(
        self: &Arc<Self>,
        durable: Option<State>,
        operation: OperationName,
    ) -> Delivery {
        let Some(mut state) = durable else { return self.refusal(Code::Internal, Some(operation)) };
        let id = state.accepted.request_id;
        let now = self.now();
        let mut events = Vec::new();
        let decided = add(&mut state, &mut events, Input::Recovered, now)
            .and_then(|()| self.add_next_move(&mut state, &mut events, now));
        if decided.is_ok() && !events.is_empty() {
            if self.record(&state, events, now).await.is_err() {
                tracing::error!(%id, "the end of a failed invocation could not be recorded");
            }
        } else if announced(&state).is_some() {
            // What it announced stands, and is tried again; not at once, since it has just failed.
            self.put_off(id);
        }
        Delivery {
            envelope: Envelope::internal(&state, now),
            state: Some(Box::new(state)),
            inner: Arc::clone(self),
        }
    }
}
