//! The sessions of one host: who may call, who waits, and what operators decide.

use super::error::{SessionError, SessionsError};
use super::executable::{Executable, Executables};
use super::interpreters;
use super::peer::Peer;
use super::policy::Policy;
use super::token::{NoRandomness, Token, digest};
use super::{Admission, proc};
use crate::config::Config;
use crate::host::Host;
use proofport_broker::{Authority, Broker, Caller};
use proofport_core::digest::Digest;
use proofport_core::event::{Event, HostEvent};
use proofport_core::id::Name;
use proofport_core::session::{
    Book, Decided, DecidedBy, ParentFacts, ProcessFacts, ProcessKey, SessionFacts, SessionId,
    SessionStanding, TokenFacts, Who,
};
use proofport_core::time::UnixMillis;
use proofport_journal::Batch;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How many sessions may wait for a word at a time. Whoever comes after them is refused in the same way and
/// not listed.
const MOST_WAITING: usize = 64;

/// Of those, how many by one executable: one that restarts in a circle must not hide the others.
const MOST_WAITING_OF_ONE: usize = 16;

/// Who may call. What was decided is durable; what only waits is not, and asks again after a restart.
pub struct Sessions {
    broker: Broker,
    executables: Executables,
    policy: Policy,
    boot: Digest,
    state: Mutex<State>,
    /// One decision at a time, from the look at what is to be decided to its record.
    deciding: tokio::sync::Mutex<()>,
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    book: Book,
    waiting: BTreeMap<SessionId, Waiting>,
    /// How many sessions were left when it was last looked which processes are gone.
    swept: usize,
}

/// How many sessions there may be at least before it is looked which processes are gone.
const FEW: usize = 256;

/// A process that waits for a word.
#[derive(Clone)]
struct Waiting {
    facts: ProcessFacts,
    since: UnixMillis,
}

/// A session as operators see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionView {
    /// Its name.
    pub id: SessionId,
    /// How it stands.
    pub standing: SessionStanding,
    /// By what it was decided; none while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<DecidedBy>,
    /// Since when it stands so.
    pub since: UnixMillis,
    /// Whether its executable runs whatever it is told to, so that its digest tells little.
    pub interpreter: bool,
    /// Who is behind it.
    pub principal: String,
    /// Who it is.
    pub who: Who,
}

impl Sessions {
    /// The sessions of this host: what its record says, and what its configuration lets in. Reads files, so it
    /// takes a moment where the configuration lists executables.
    ///
    /// # Errors
    /// When the record or `/proc` can't be read.
    pub fn open(host: &Host) -> Result<Self, SessionsError> {
        let broker = host.broker().clone();
        let executables = Executables::default();
        // Mistakes in the file are told where connections are made ready; none of them lets anybody in.
        let listed = Config::load_or_empty(&host.home().config()).map(|config| config.sessions.allow);
        let policy = Policy::of(&listed.unwrap_or_default());
        let boot = proc::boot().map_err(SessionsError::Proc)?;
        let mut book = Book::default();
        for recorded in broker.journal().host_events(usize::MAX)? {
            if let Event::Host(event) = &recorded.event {
                book.apply(recorded.at, event);
            }
        }
        book.forget(|key| is_gone(key, boot));
        let state = Mutex::new(State { swept: book.count(), book, waiting: BTreeMap::new() });
        let (deciding, changes) = (tokio::sync::Mutex::new(()), watch::Sender::new(0));
        Ok(Self { broker, executables, policy, boot, state, deciding, changes })
    }

    /// Counts up whenever a session begins to wait or is decided.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Whether whoever shows this token may call; none where nobody was ever given it.
    #[must_use]
    pub fn of_token(&self, bearer: &str) -> Option<Admission> {
        // The lookup is by digest, so that its time says nothing about any token.
        self.lock().book.of_token(&digest(bearer.as_bytes())).map(admission)
    }

    /// Whether this process may call. To be asked at every use, since a process can become another program.
    /// The first look at an executable reads it, which takes a moment.
    #[must_use]
    pub fn of_process(&self, peer: &Peer) -> Admission {
        let executable = match self.identify(peer) {
            Ok(executable) => executable,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Admission::Ended,
            Err(error) => {
                tracing::warn!(pid = peer.pid(), uid = peer.uid(), %error, "a process can't be told from another");
                return Admission::Waiting;
            }
        };
        let key = ProcessKey {
            boot: self.boot,
            uid: peer.uid(),
            pid: peer.pid(),
            started: peer.started(),
            executable: executable.digest,
        };
        let permitted = self.policy.permits(&executable);
        let known = |state: &State| {
            let decided = state.book.of_process(&key)?;
            // What was let in by policy stays in only as long as the policy says so.
            let left = decided.allowed && decided.facts.by == DecidedBy::Policy && !permitted;
            Some(if left { Err(decided.facts.id) } else { Ok(admission(decided)) })
        };
        let mut state = self.lock();
        self.leave_earlier_programs(&mut state, &key);
        if let Some(Ok(admission)) = known(&state) {
            return admission;
        }
        if !permitted && state.waiting.values().any(|waiting| waiting.facts.key == key) {
            return Admission::Waiting;
        }
        drop(state);
        // The parent's file is looked at while nobody else has to wait for it, however large or slow it is.
        let facts = self.facts(key, executable);
        let mut state = self.lock();
        // So that what short-lived processes leave is no more than there is of others.
        if state.book.count() >= FEW.max(2 * state.swept) {
            self.sweep(&mut state);
        }
        match known(&state) {
            Some(Ok(admission)) => admission,
            None if permitted => self.admit_by_policy(&mut state, facts),
            Some(Err(id)) => {
                self.wait(&mut state, facts, Some(id));
                Admission::Waiting
            }
            None => {
                self.wait(&mut state, facts, None);
                Admission::Waiting
            }
        }
    }

    /// Whether the session with this id may still call.
    #[must_use]
    pub fn may_call(&self, id: &SessionId) -> bool {
        self.lock().book.session(id).is_some_and(|decided| decided.allowed)
    }

    /// Every session that is there: those that wait first, then the newest decisions.
    #[must_use]
    pub fn list(&self) -> Vec<SessionView> {
        let mut state = self.lock();
        self.sweep(&mut state);
        let mut waiting: Vec<_> = state.waiting.iter().map(|(id, waiting)| waiting.view(*id)).collect();
        waiting.sort_by_key(|view| view.since);
        let waits = |id: &SessionId| state.waiting.contains_key(id);
        let decided = state.book.sessions().filter(|decided| !waits(&decided.facts.id));
        let mut decided: Vec<_> = decided.map(SessionView::of).collect();
        decided.sort_by_key(|view| (std::cmp::Reverse(view.since), view.id));
        waiting.into_iter().chain(decided).collect()
    }

    /// Lets a waiting session in. That is durable before this returns. One that is in already stays so.
    ///
    /// # Errors
    /// When there is none, it was ended, or its process is gone or runs another program; when the record
    /// can't be written.
    pub async fn allow(&self, id: &SessionId) -> Result<SessionView, SessionError> {
        let _deciding = self.deciding.lock().await;
        let waiting = {
            let mut state = self.lock();
            self.sweep(&mut state);
            match (state.waiting.get(id).cloned(), state.book.session(id)) {
                (Some(waiting), _) => waiting,
                (None, Some(decided)) if decided.allowed => return Ok(SessionView::of(decided)),
                (None, Some(_)) => return Err(SessionError::Ended(*id)),
                (None, None) => return Err(SessionError::NoSuchSession(*id)),
            }
        };
        if !self.still_runs(&waiting.facts.key) {
            self.lock().waiting.remove(id);
            return Err(SessionError::Gone(*id));
        }
        self.decide(true, *id, Who::Process(waiting.facts)).await
    }

    /// Ends a session for good, or refuses one that waits. That is durable before this returns, and from then
    /// on it calls no more. One that was ended stays so.
    ///
    /// # Errors
    /// When there is none, or the record can't be written.
    pub async fn end(&self, id: &SessionId) -> Result<SessionView, SessionError> {
        let _deciding = self.deciding.lock().await;
        let who = {
            let state = self.lock();
            match (state.waiting.get(id), state.book.session(id)) {
                (Some(waiting), _) => Who::Process(waiting.facts.clone()),
                (None, Some(decided)) if decided.allowed => decided.facts.who.clone(),
                (None, Some(decided)) => return Ok(SessionView::of(decided)),
                (None, None) => return Err(SessionError::NoSuchSession(*id)),
            }
        };
        self.decide(false, *id, who).await
    }

    /// Makes a token for an agent, which is let in by it at once. This is the only time that it is shown.
    ///
    /// # Errors
    /// When the agent has one already, or the record can't be written.
    pub async fn token(&self, agent: &Name) -> Result<(SessionView, Token), SessionError> {
        let _deciding = self.deciding.lock().await;
        let holder = self.lock().book.of_agent(agent).map(|decided| decided.facts.id);
        if let Some(session) = holder {
            return Err(SessionError::AgentHasToken { agent: agent.clone(), session });
        }
        let token = Token::mint()?;
        let facts = TokenFacts { agent: agent.clone(), token: token.digest() };
        let view = self.decide(true, new_id()?, Who::Token(facts)).await?;
        Ok((view, token))
    }

    /// Puts an operator's word on record, and acts on it only then.
    async fn decide(&self, allowed: bool, id: SessionId, who: Who) -> Result<SessionView, SessionError> {
        let facts = SessionFacts { id, by: DecidedBy::Operator, who };
        let event = HostEvent::SessionDecided { allowed, session: Some(Box::new(facts)) };
        let at = self.broker.now();
        self.broker.journal().append(Batch::new(None, at, vec![Event::Host(event.clone())])).await?;
        self.broker.figures().recorded(event.kind());
        let view = {
            let mut state = self.lock();
            state.waiting.remove(&id);
            state.book.apply(at, &event);
            state.book.session(&id).map(SessionView::of)
        };
        self.changed();
        view.ok_or(SessionError::NoSuchSession(id))
    }

    /// What the process runs right now, while it still is this process.
    fn identify(&self, peer: &Peer) -> io::Result<Executable> {
        if peer.has_exited() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let executable = self.executables.of_process(peer.pid())?;
        if peer.has_exited() || proc::started(peer.pid())? != peer.started() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(executable)
    }

    /// Whether what waited still runs the same program.
    fn still_runs(&self, key: &ProcessKey) -> bool {
        let same = |found: Executable| found.digest == key.executable;
        self.executables.of_process(key.pid).is_ok_and(same) && !is_gone(key, self.boot)
    }

    /// The sessions of programs that this process was before end, so that becoming one of them again is
    /// becoming a new one.
    fn leave_earlier_programs(&self, state: &mut State, key: &ProcessKey) {
        let earlier = state.book.of_same_process(key).filter(|decided| decided.allowed);
        let left: Vec<SessionFacts> = earlier.map(|decided| decided.facts.clone()).collect();
        for facts in left {
            self.note(state, false, SessionFacts { by: DecidedBy::Host, ..facts });
        }
        state
            .waiting
            .retain(|_, waiting| waiting.facts.key == *key || !waiting.facts.key.is_of_same_process(key));
    }

    fn admit_by_policy(&self, state: &mut State, facts: ProcessFacts) -> Admission {
        // Without randomness there is no name for it, and it has to come again.
        let Ok(id) = new_id() else { return Admission::Waiting };
        state.waiting.retain(|_, waiting| waiting.facts.key != facts.key);
        let who = Who::Process(facts);
        self.note(state, true, SessionFacts { id, by: DecidedBy::Policy, who });
        state.book.session(&id).map_or(Admission::Waiting, admission)
    }

    /// Puts on record what follows from a rule. It rides along with the next commit, so that it is on disk
    /// before anything that the session does; were it lost, the same rule would say it again.
    fn note(&self, state: &mut State, allowed: bool, facts: SessionFacts) {
        let event = HostEvent::SessionDecided { allowed, session: Some(Box::new(facts)) };
        let at = self.broker.now();
        self.broker.journal().ride_along(Batch::new(None, at, vec![Event::Host(event.clone())]));
        if let (false, HostEvent::SessionDecided { session: Some(facts), .. }) = (allowed, &event) {
            self.broker.stop_session(&facts.id.to_string());
        }
        state.book.apply(at, &event);
        self.changed();
    }

    fn wait(&self, state: &mut State, facts: ProcessFacts, id: Option<SessionId>) {
        let key = &facts.key;
        if state.waiting.values().any(|waiting| waiting.facts.key == *key) {
            return;
        }
        let is_full = |state: &State| {
            let of_one = state.waiting.values().filter(|w| w.facts.key.executable == key.executable).count();
            state.waiting.len() >= MOST_WAITING || of_one >= MOST_WAITING_OF_ONE
        };
        if is_full(state) {
            self.sweep(state);
        }
        if is_full(state) {
            tracing::warn!(pid = key.pid, "too many sessions wait for a word, so this one is not listed");
            return;
        }
        let Some(id) = id.or_else(|| new_id().ok()) else { return };
        let waiting = Waiting { facts, since: self.broker.now() };
        state.waiting.insert(id, waiting);
        self.changed();
    }

    fn facts(&self, key: ProcessKey, executable: Executable) -> ProcessFacts {
        let parent = proc::parent(key.pid).ok().filter(|parent| *parent != 0).map(|pid| {
            let found = self.executables.of_process(pid).ok();
            let (path, executable) = found.map_or_else(Default::default, |e| (e.path, Some(e.digest)));
            ParentFacts { pid, path, executable }
        });
        ProcessFacts { key, path: executable.path, parent }
    }

    /// Forgets what can't call any more because its process is gone.
    fn sweep(&self, state: &mut State) {
        state.waiting.retain(|_, waiting| !is_gone(&waiting.facts.key, self.boot));
        state.book.forget(|key| is_gone(key, self.boot));
        state.swept = state.book.count();
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_gone(key: &ProcessKey, boot: Digest) -> bool {
    key.boot != boot || !proc::is_running(key.pid, key.started)
}

fn admission(decided: &Decided) -> Admission {
    let SessionFacts { id, by: _, who } = &decided.facts;
    if decided.allowed {
        let (principal, session) = (who.principal(), id.to_string());
        Admission::Admitted(Caller { principal, session, authority: Authority::Agent })
    } else {
        Admission::Ended
    }
}

fn new_id() -> Result<SessionId, NoRandomness> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(SessionId::from_random(bytes))
}

impl Waiting {
    fn view(&self, id: SessionId) -> SessionView {
        SessionView::new(id, SessionStanding::Waiting, None, self.since, Who::Process(self.facts.clone()))
    }
}

impl SessionView {
    fn of(decided: &Decided) -> Self {
        let Decided { facts: SessionFacts { id, by, who }, allowed, at } = decided;
        let standing = if *allowed { SessionStanding::Allowed } else { SessionStanding::Ended };
        Self::new(*id, standing, Some(*by), *at, who.clone())
    }

    fn new(
        id: SessionId,
        standing: SessionStanding,
        by: Option<DecidedBy>,
        since: UnixMillis,
        who: Who,
    ) -> Self {
        let interpreter = match &who {
            Who::Process(process) => interpreters::is_interpreter(Path::new(&process.path)),
            Who::Token(_) => false,
        };
        Self { id, standing, by, since, interpreter, principal: who.principal(), who }
    }
}
