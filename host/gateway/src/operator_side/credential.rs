//! The operator's credential: given for the passphrase, to one process, for a few minutes.

use super::failure::Failure;
use super::wire::Sent;
use crate::host::Host;
use crate::session::Peer;
use proofport_core::digest::Digest;
use proofport_core::event::HostEvent;
use proofport_core::secret::Secret;
use proofport_vault::{Vault, VaultError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// For how long a credential is good.
const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// How many credentials are good at a time; the oldest gives way.
const MOST: usize = 64;

/// How long nothing is checked after a first wrong passphrase. Each further one doubles it.
const FIRST_DELAY: Duration = Duration::from_millis(250);

/// The most that it grows to.
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// How long lies between two refusals: each is on record, and nobody may fill the disk with them.
const BETWEEN_REFUSALS: Duration = Duration::from_millis(100);

/// How many wait at a gate; whoever comes after them is sent away.
const MOST_AT_A_GATE: usize = 8;

/// Who has proved to be an operator.
pub(crate) struct Credentials {
    host: Arc<Host>,
    vault: PathBuf,
    logins: Gate,
    refusals: Gate,
    live: Mutex<Vec<Live>>,
}

/// One good credential, and the only process that may show it.
struct Live {
    token: Digest,
    holder: Holder,
    until: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Holder {
    uid: u32,
    pid: u32,
    started: u64,
}

impl Holder {
    const fn of(peer: &Peer) -> Self {
        Self { uid: peer.uid(), pid: peer.pid(), started: peer.started() }
    }
}

/// Lets through one at a time, and each not before its time.
#[derive(Default)]
struct Gate {
    at_it: AtomicUsize,
    pace: tokio::sync::Mutex<Pace>,
}

#[derive(Default)]
struct Pace {
    wrong: u32,
    not_before: Option<Instant>,
}

impl Pace {
    async fn wait(&self) {
        if let Some(at) = self.not_before {
            sleep_until(at).await;
        }
    }
}

/// A place at a gate, until it is left.
struct Place<'a>(&'a Gate);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.at_it.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Gate {
    fn enter(&self) -> Result<Place<'_>, Failure> {
        let before = self.at_it.fetch_add(1, Ordering::AcqRel);
        let place = Place(self);
        if before < MOST_AT_A_GATE { Ok(place) } else { Err(Failure::Busy) }
    }
}

impl Credentials {
    pub(crate) fn new(host: Arc<Host>) -> Arc<Self> {
        let vault = host.home().vault();
        let (logins, refusals) = (Gate::default(), Gate::default());
        Arc::new(Self { host, vault, logins, refusals, live: Mutex::new(Vec::new()) })
    }

    /// Gives a credential for the passphrase. It goes on when whoever asked is gone, so that nobody gets
    /// around the pace, or keeps a wrong one off the record, by going.
    pub(crate) async fn login(self: &Arc<Self>, peer: &Peer, passphrase: Secret) -> Result<Sent, Failure> {
        let (this, holder) = (Arc::clone(self), Holder::of(peer));
        let task = tokio::spawn(async move { this.check(holder, passphrase).await });
        task.await.unwrap_or_else(|_| {
            Err(Failure::Internal { said: "the check of a passphrase failed".to_owned() })
        })
    }

    async fn check(&self, holder: Holder, passphrase: Secret) -> Result<Sent, Failure> {
        let _place = self.logins.enter()?;
        let mut pace = self.logins.pace.lock().await;
        pace.wait().await;
        let path = self.vault.clone();
        let checked = tokio::task::spawn_blocking(move || Vault::open(&path)?.unlock(&passphrase)).await;
        match checked {
            Ok(Ok(())) => {
                *pace = Pace::default();
                self.give(holder)
            }
            Ok(Err(VaultError::WrongPassphrase { .. } | VaultError::EmptyPassphrase)) => {
                let delay = FIRST_DELAY.saturating_mul(2_u32.saturating_pow(pace.wrong)).min(LONGEST_DELAY);
                pace.wrong = pace.wrong.saturating_add(1);
                // On record first: what is slow is counted from there.
                self.host.record(HostEvent::UnlockFailed).await?;
                tracing::warn!(pid = holder.pid, uid = holder.uid, "a wrong passphrase was given");
                pace.not_before = Some(Instant::now() + delay);
                Err(Failure::WrongPassphrase)
            }
            Ok(Err(error)) => Err(error.into()),
            Err(error) => Err(Failure::internal(&error)),
        }
    }

    fn give(&self, holder: Holder) -> Result<Sent, Failure> {
        let token = crate::session::random_text("ppo_").map_err(|error| Failure::internal(&error))?;
        let now = Instant::now();
        let mut live = self.lock();
        live.retain(|live| live.until > now);
        if live.len() >= MOST {
            live.remove(0);
        }
        live.push(Live { token: digest(token.expose()), holder, until: now + LIFETIME });
        Ok(Sent(token))
    }

    /// Whether this process shows a good credential that was given to it.
    pub(crate) fn is_proved(&self, peer: &Peer, shown: &[u8]) -> bool {
        let (token, holder, now) = (digest(shown), Holder::of(peer), Instant::now());
        let good = |live: &Live| live.token == token && live.holder == holder && live.until > now;
        self.lock().iter().any(good) && !peer.has_exited()
    }

    /// Puts on record that somebody asked without a credential, and says what to answer.
    pub(crate) async fn refuse(self: &Arc<Self>) -> Failure {
        let this = Arc::clone(self);
        let task = tokio::spawn(async move {
            let _place = match this.refusals.enter() {
                Ok(place) => place,
                Err(busy) => return busy,
            };
            let mut pace = this.refusals.pace.lock().await;
            pace.wait().await;
            if let Err(error) = this.host.record(HostEvent::OperatorRefused).await {
                tracing::error!(%error, "a refusal could not be recorded");
            }
            pace.not_before = Some(Instant::now() + BETWEEN_REFUSALS);
            Failure::NotProved
        });
        task.await.unwrap_or(Failure::NotProved)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is kept of a credential: comparing digests tells nothing about it.
fn digest(token: &[u8]) -> Digest {
    Digest::of_parts("proofport.operator/1", &[token])
}
