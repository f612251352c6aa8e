//! Going on with what a person approved: the stored bytes, under the binding and the credential that the
//! word was about (law 8). A restart in between changes nothing.

use crate::ask::Authorized;
use crate::broker::{Inner, ReadError};
use crate::driver::add;
use crate::failures::Account;
use crate::refuse;
use crate::run::Run;
use crate::word::Halted;
use proofport_core::call::Call;
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::decide::Input;
use proofport_core::event::StopDetail;
use proofport_core::exchange::Send;
use proofport_core::id::RequestId;
use proofport_core::state::{IllegalEvent, State};
use proofport_core::verdict::Step;
use proofport_journal::{BodyKind, JournalError};
use std::sync::{Arc, PoisonError};

/// What was approved can't be begun now. It stays approved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BeginError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the host decided what can't happen: {0}")]
    Illegal(#[from] IllegalEvent),
}

impl Inner {
    /// Carries out what was approved. False: not now.
    pub(crate) async fn begin(self: &Arc<Self>, id: RequestId) -> Result<bool, BeginError> {
        let Some(claim) = self.claim(id) else { return Ok(false) };
        let Some(state) = self.state(&id)? else { return Ok(true) };
        if !state.waits_to_begin() {
            self.keep_in_mind(&state);
            return Ok(true);
        }
        let operation = state.accepted.operation.clone();
        let mut run = match self.approved(state.clone()).await? {
            Ok(run) => run,
            Err(Some(refused)) => {
                self.give_up(state, *refused).await?;
                return Ok(true);
            }
            Err(None) => return Ok(false),
        };
        run.scratch.claim = Some(claim);
        let newest = run.newest();
        // A task of its own: a panic in it must not take with it what is proved.
        let failed = match tokio::spawn(run.drive()).await {
            Ok(Ok(_)) => return Ok(true),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it panicked".to_owned(),
        };
        tracing::error!(%operation, error = %failed, "an approved call could not go on");
        let durable = newest.borrow().clone();
        self.failed(durable, operation).await;
        Ok(true)
    }

    /// A run of what was approved, where it was halted; or why it is over; or nothing: not now.
    async fn approved(self: &Arc<Self>, state: State) -> Result<Result<Run, Option<Box<Input>>>, BeginError> {
        let over = |code| Ok(Err(Some(Box::new(refuse::refused(code, StopDetail::None)))));
        let id = state.accepted.request_id;
        if state.question.is_some_and(|question| self.now() >= question.until) {
            // It waited for its hand longer than the question was good for.
            return over(Code::ApprovalExpired);
        }
        let bound = self.bound_connection(&state);
        let Some((connection, binding)) = bound.zip(state.binding.clone()) else {
            return over(Code::FingerprintMismatch);
        };
        let declared = connection.manifest.operation(&state.accepted.operation.operation);
        let same_contract =
            declared.is_some_and(|operation| connection.contract(operation) == binding.contract);
        let same_ways = binding.ways == Some(connection.ways());
        if !same_contract || !same_ways || binding.redirect_origins != connection.redirect_origins {
            return over(Code::FingerprintMismatch);
        }
        let used = state.credential.as_ref().and_then(|used| used.secret.clone().zip(used.version));
        if let Some((secret, version)) = &used {
            let newest = self.vault.read().unwrap_or_else(PoisonError::into_inner).newest_version(secret);
            match newest {
                Some(newest) if newest == *version => {}
                // Another version is another invocation.
                Some(_) => return over(Code::FingerprintMismatch),
                None => return over(Code::CredentialUnavailable),
            }
        }
        if !self.carries_unknowns_only(&state)? {
            // Something of what it would send again is known by now.
            return over(Code::FingerprintMismatch);
        }
        let input = self.journal.body(&id, BodyKind::Input)?;
        let input = input.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        let request = self.journal.body(&id, BodyKind::Request)?;
        let request = request.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let halted = self.journal.body(&id, BodyKind::Halted)?;
        let halted = halted.and_then(|bytes| serde_json::from_slice::<Halted>(&bytes).ok());
        let (Some(canonical), Some(request), Some(halted)) = (input, request, halted) else {
            tracing::error!(%id, "what was approved is not stored any more");
            return over(Code::Internal);
        };
        let Halted { role, summary, history, steps, key } = halted;
        let call = Call {
            operation: state.accepted.operation.operation.clone(),
            input: canonical.clone(),
            config: connection.config.clone(),
            reference: binding.reference.clone(),
            idempotency_key: key.clone(),
            accepted_at: state.accepted.known_since(),
        };
        let send = Send { role, request, summary };
        let accepted = state.accepted.clone();
        let Ok(mut run) = Run::resume(Arc::clone(self), Arc::clone(&connection), state) else {
            return Ok(Err(None));
        };
        // Whoever rests holds none of the host's hands; only what can't be loaded again waits with one.
        run.scratch.rests = !history.is_empty();
        let by_itself = accepted.continues.is_none() && accepted.follows.is_none();
        run.account = by_itself.then(|| {
            Account::of(
                &self.failures,
                (&accepted.principal, &accepted.session),
                &accepted.operation,
                connection.failures,
            )
        });
        run.scratch.input = serde_json::from_str(&canonical).ok();
        run.scratch.canonical = canonical;
        run.scratch.contract = Some(binding.contract);
        run.scratch.call = Some(call);
        run.scratch.key = key;
        run.scratch.history = history;
        run.scratch.steps = steps;
        run.scratch.protected.connector =
            format!("{} {}", connection.manifest.name, connection.manifest.version);
        // Effects stay pinned to the credential that was authorized.
        run.scratch.credential = used.and_then(|(secret, version)| {
            let bound = connection.credentials.iter().find(|(_, binding)| binding.secret == secret);
            let slot = send.request.credential().or_else(|| bound.map(|(slot, _)| slot)).cloned()?;
            Some(Authorized { slot, secret, version })
        });
        // What its queries carried is recognised in what is delivered.
        match run.dispatched_guard(&connection).await {
            Ok(guard) => guard.into_iter().for_each(|guard| run.guard_against(guard)),
            Err(_) => run.scratch.blind = true,
        }
        run.scratch.step = Some(Step::Send(send));
        Ok(Ok(run))
    }

    /// Whether the children of another batch that it was to send again as unknown still are.
    fn carries_unknowns_only(&self, state: &State) -> Result<bool, BeginError> {
        let Some(continues) = &state.accepted.continues else { return Ok(true) };
        let Some(parent) = self.state(&continues.parent)? else { return Ok(false) };
        let bound = parent.binding.as_ref().map_or(&[][..], |binding| &binding.children);
        let own = state.binding.as_ref().map_or(&[][..], |binding| &binding.children);
        let of = |index: &u32| {
            let id = own.get(usize::try_from(*index).ok()?)?;
            let position = bound.iter().position(|known| known == id)?;
            Some(parent.child(u32::try_from(position).ok()?).outcome)
        };
        Ok(continues.unknown.iter().all(|index| of(index) == Some(Outcome::Unknown)))
    }

    /// Ends what was approved and can't be carried out any more. Nothing of it has left.
    async fn give_up(&self, mut state: State, refused: Input) -> Result<(), BeginError> {
        let (now, mut events) = (self.now(), Vec::new());
        add(&mut state, &mut events, refused, now)?;
        self.record(&state, events, now).await?;
        Ok(())
    }
}
