//! Who an agent is: a process on the host's own machine, or the holder of a token. What operators decided
//! of either is in the journal, and [`Book`] is what those decisions say together.

use crate::closed::closed_enum;
use crate::digest::Digest;
use crate::event::HostEvent;
use crate::id::Name;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;

const ALPHABET: data_encoding::Encoding = data_encoding::BASE32_NOPAD;

/// The opaque, random name of a session: `ses_` and 26 characters. It encodes nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId([u8; 16]);

impl SessionId {
    /// An id from 16 random bytes.
    #[must_use]
    pub const fn from_random(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Reads the wire form.
    ///
    /// # Errors
    /// When the text is not `ses_` and 26 characters of lower-case base32.
    pub fn parse(text: &str) -> Result<Self, InvalidSessionId> {
        let rest = text.strip_prefix("ses_").ok_or(InvalidSessionId)?;
        if rest.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(InvalidSessionId);
        }
        let bytes = ALPHABET.decode(rest.to_ascii_uppercase().as_bytes()).map_err(|_| InvalidSessionId)?;
        bytes.try_into().map(Self).map_err(|_| InvalidSessionId)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ses_{}", ALPHABET.encode(&self.0).to_ascii_lowercase())
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for SessionId {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// The text is not a session's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a session id: it is `ses_` and 26 lower-case letters and digits")]
pub struct InvalidSessionId;

/// One run of one executable in one process. A process that becomes another program by `execve` keeps its
/// number and its start, so the executable is part of what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessKey {
    /// Which run of the machine: a digest of the kernel's boot id.
    pub boot: Digest,
    /// The user that it connected as.
    pub uid: u32,
    /// Its number, as the host sees it.
    pub pid: u32,
    /// When it started, in the kernel's clock ticks since boot (`/proc/PID/stat`, field 22).
    pub started: u64,
    /// SHA-256 of the executable.
    pub executable: Digest,
}

impl ProcessKey {
    /// Whether both are runs of programs in one and the same process.
    #[must_use]
    pub fn is_of_same_process(&self, other: &Self) -> bool {
        let Self { boot, uid: _, pid, started, executable: _ } = self;
        (boot, pid, started) == (&other.boot, &other.pid, &other.started)
    }
}

/// A process that an agent is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessFacts {
    /// What it is known by.
    #[serde(flatten)]
    pub key: ProcessKey,
    /// Where the executable lay, for people. A process has a say in it.
    pub path: String,
    /// The process that started it, for people: behind a shim, it is the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentFacts>,
}

/// The parent of an agent's process, as it was when that first called. Nothing is decided by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentFacts {
    /// Its number.
    pub pid: u32,
    /// Where its executable lay.
    pub path: String,
    /// SHA-256 of its executable; none where that can't be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable: Option<Digest>,
}

/// An agent that shows a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenFacts {
    /// The agent's name.
    pub agent: Name,
    /// SHA-256 of the token. The token itself is not kept: it has 256 random bits, so that nobody finds it
    /// from this.
    pub token: Digest,
}

/// Who an agent is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Who {
    /// A process that reached the host's own socket.
    Process(ProcessFacts),
    /// Whoever shows the token.
    Token(TokenFacts),
}

impl Who {
    /// Who is behind the session: other sessions of the same agent have the same.
    #[must_use]
    pub fn principal(&self) -> String {
        match self {
            Self::Process(ProcessFacts { key: ProcessKey { uid, executable, .. }, .. }) => {
                format!("uid:{uid}:exe:{}", executable.hex())
            }
            Self::Token(TokenFacts { agent, .. }) => format!("agent:{agent}"),
        }
    }
}

closed_enum! {
    /// By what a session was decided.
    pub enum DecidedBy {
        /// An operator's word.
        Operator = "operator",
        /// The executable's digest is listed in `proofport.toml`.
        Policy = "policy",
        /// The host saw that the process had become another program.
        Host = "host",
    }
}

/// A session that was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// Its name.
    pub id: SessionId,
    /// By what.
    pub by: DecidedBy,
    /// Who the agent is.
    pub who: Who,
}

closed_enum! {
    /// How a session stands.
    pub enum SessionStanding {
        /// Nobody has decided; it may not call.
        Waiting = "waiting",
        /// It may call.
        Allowed = "allowed",
        /// It never may again.
        Ended = "ended",
    }
}

/// A decided session and how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// What was decided of whom. Of a session that was ended, the newest.
    pub facts: SessionFacts,
    /// Whether it may call.
    pub allowed: bool,
    /// When that was decided.
    pub at: UnixMillis,
}

/// What all decisions say together: a fold over the host's events, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    sessions: HashMap<SessionId, Decided>,
    tokens: HashMap<Digest, SessionId>,
    /// By the run of a process, under each user and executable that it had.
    processes: HashMap<Run, HashMap<(u32, Digest), SessionId>>,
}

/// One run of a process, whatever it executes as whom: the boot, the number and the start.
type Run = (Digest, u32, u64);

const fn run(key: &ProcessKey) -> (Run, (u32, Digest)) {
    let ProcessKey { boot, uid, pid, started, executable } = *key;
    ((boot, pid, started), (uid, executable))
}

impl Book {
    /// Takes in one event. What is not about a session changes nothing, and nothing that was ended is
    /// allowed again.
    pub fn apply(&mut self, at: UnixMillis, event: &HostEvent) {
        match event {
            HostEvent::SessionDecided { allowed, session: Some(facts) } => {
                let ended = self.sessions.get(&facts.id).is_some_and(|known| !known.allowed);
                match &facts.who {
                    Who::Process(process) => {
                        let (run, program) = run(&process.key);
                        self.processes.entry(run).or_default().insert(program, facts.id)
                    }
                    Who::Token(token) => self.tokens.insert(token.token, facts.id),
                };
                let decided = Decided { facts: (**facts).clone(), allowed: *allowed && !ended, at };
                self.sessions.insert(facts.id, decided);
            }
            // An older host's, which had no sessions to speak of.
            HostEvent::SessionDecided { session: None, .. }
            | HostEvent::VaultStateChanged { .. }
            | HostEvent::UnlockFailed
            | HostEvent::OperatorRefused
            | HostEvent::SecretChanged { .. }
            | HostEvent::ConnectorDecided { .. }
            | HostEvent::ConfigLoaded { .. } => {}
        }
    }

    /// The session with this id.
    #[must_use]
    pub fn session(&self, id: &SessionId) -> Option<&Decided> {
        self.sessions.get(id)
    }

    /// The session of whoever shows the token with this digest.
    #[must_use]
    pub fn of_token(&self, token: &Digest) -> Option<&Decided> {
        self.sessions.get(self.tokens.get(token)?)
    }

    /// The session of this run of this executable.
    #[must_use]
    pub fn of_process(&self, key: &ProcessKey) -> Option<&Decided> {
        let (run, program) = run(key);
        self.sessions.get(self.processes.get(&run)?.get(&program)?)
    }

    /// The sessions of the same run of the same process that it has as other users or under other executables.
    pub fn of_same_process(&self, key: &ProcessKey) -> impl Iterator<Item = &Decided> {
        let (run, program) = run(key);
        let of_run = self.processes.get(&run).into_iter().flatten();
        let others = of_run.filter(move |(other, _)| **other != program);
        others.filter_map(|(_, id)| self.sessions.get(id))
    }

    /// The allowed session that an agent of this name has by a token.
    #[must_use]
    pub fn of_agent(&self, name: &Name) -> Option<&Decided> {
        self.sessions.values().find(|decided| match &decided.facts.who {
            Who::Token(token) => decided.allowed && token.agent == *name,
            Who::Process(_) => false,
        })
    }

    /// How many sessions were decided and not forgotten.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sessions.len()
    }

    /// Every decided session, in no order.
    pub fn sessions(&self) -> impl Iterator<Item = &Decided> {
        self.sessions.values()
    }

    /// Forgets the sessions of processes of which `gone` says that there is nothing left: none of those can
    /// call again.
    pub fn forget(&mut self, gone: impl Fn(&ProcessKey) -> bool) {
        let Self { sessions, tokens: _, processes } = self;
        processes.retain(|&(boot, pid, started), of_run| {
            of_run.retain(|&(uid, executable), id| {
                let keep = !gone(&ProcessKey { boot, uid, pid, started, executable });
                if !keep {
                    sessions.remove(id);
                }
                keep
            });
            !of_run.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(id: u8, allowed: bool, who: Who) -> HostEvent {
        let facts = SessionFacts { id: SessionId::from_random([id; 16]), by: DecidedBy::Operator, who };
        HostEvent::SessionDecided { allowed, session: Some(Box::new(facts)) }
    }

    fn token(agent: &str, token: u8) -> Who {
        Who::Token(TokenFacts { agent: Name::parse(agent).unwrap(), token: Digest::from_bytes([token; 32]) })
    }

    fn process(pid: u32, executable: u8) -> Who {
        let key = ProcessKey {
            boot: Digest::from_bytes([0; 32]),
            uid: 1000,
            pid,
            started: 7,
            executable: Digest::from_bytes([executable; 32]),
        };
        Who::Process(ProcessFacts { key, path: "/bin/agent".to_owned(), parent: None })
    }

    fn standing(book: &Book, who: &Who) -> Option<bool> {
        let found = match who {
            Who::Process(process) => book.of_process(&process.key),
            Who::Token(token) => book.of_token(&token.token),
        };
        found.map(|decided| decided.allowed)
    }

    #[test]
    fn decisions_hold_for_exactly_whom_they_name_and_ended_is_ended() {
        let check = |events: &[HostEvent], who: Who, expected: Option<bool>| {
            let mut book = Book::default();
            for event in events {
                let text = serde_json::to_string(event).unwrap();
                book.apply(UnixMillis(1), &serde_json::from_str(&text).unwrap());
            }
            assert_eq!(standing(&book, &who), expected, "{who:?} after {events:?}");
        };
        let allow = |id, who| decision(id, true, who);
        let end = |id, who| decision(id, false, who);
        check(&[], token("a", 1), None);
        check(&[allow(1, token("a", 1))], token("a", 1), Some(true));
        check(&[allow(1, token("a", 1))], token("a", 2), None);
        check(&[allow(1, token("a", 1)), end(1, token("a", 1))], token("a", 1), Some(false));
        let again = [allow(1, token("a", 1)), end(1, token("a", 1)), allow(1, token("a", 1))];
        check(&again, token("a", 1), Some(false));
        let renewed = [allow(1, token("a", 1)), end(1, token("a", 1)), allow(2, token("a", 2))];
        check(&renewed, token("a", 1), Some(false));
        check(&renewed, token("a", 2), Some(true));
        check(&[allow(1, process(9, 1))], process(9, 1), Some(true));
        check(&[allow(1, process(9, 1))], process(9, 2), None);
        check(&[allow(1, process(9, 1))], process(8, 1), None);
        check(&[end(1, process(9, 1))], process(9, 1), Some(false));
    }

    /// A process that became another user's, or another program, has left what it was.
    #[test]
    fn the_other_sessions_of_a_process_are_found() {
        let whose = |who: Who| {
            let Who::Process(process) = who else { panic!("it is a process") };
            process.key
        };
        let (first, exec, other) = (whose(process(9, 1)), whose(process(9, 2)), whose(process(8, 1)));
        let setuid = ProcessKey { uid: 0, ..first };
        let mut book = Book::default();
        for (id, key) in [(1, first), (2, exec), (3, other), (4, setuid)] {
            let who = Who::Process(ProcessFacts { key, path: String::new(), parent: None });
            book.apply(UnixMillis(1), &decision(id, true, who));
        }
        let check = |key: &ProcessKey, expected: &[u8]| {
            let mut found: Vec<_> = book.of_same_process(key).map(|decided| decided.facts.id).collect();
            found.sort();
            let expected: Vec<_> = expected.iter().map(|id| SessionId::from_random([*id; 16])).collect();
            assert_eq!(found, expected, "{key:?}");
        };
        check(&first, &[2, 4]);
        check(&exec, &[1, 4]);
        check(&setuid, &[1, 2]);
        check(&ProcessKey { uid: 7, ..first }, &[1, 2, 4]);
        check(&other, &[]);
        check(&ProcessKey { started: 8, ..first }, &[]);
    }

    #[test]
    fn an_older_hosts_decision_still_reads() {
        let old: HostEvent =
            serde_json::from_str(r#"{"host_event":"SESSION_DECIDED","allowed":true}"#).unwrap();
        assert_eq!(old, HostEvent::SessionDecided { allowed: true, session: None });
        let mut book = Book::default();
        book.apply(UnixMillis(1), &old);
        assert_eq!(book, Book::default());
    }

    #[test]
    fn what_is_gone_is_forgotten_and_nothing_else() {
        let mut book = Book::default();
        for event in [decision(1, true, process(9, 1)), decision(2, true, process(8, 1))] {
            book.apply(UnixMillis(1), &event);
        }
        book.apply(UnixMillis(1), &decision(3, false, token("a", 1)));
        book.forget(|key| key.pid == 9);
        assert_eq!(standing(&book, &process(9, 1)), None);
        assert_eq!(standing(&book, &process(8, 1)), Some(true));
        assert_eq!(standing(&book, &token("a", 1)), Some(false));
        assert_eq!(book.sessions().count(), 2);
    }

    #[test]
    fn an_id_reads_back_and_nothing_else_does() {
        let id = SessionId::from_random([7; 16]);
        assert_eq!(SessionId::parse(&id.to_string()), Ok(id));
        let upper = id.to_string().to_ascii_uppercase();
        for wrong in ["", "ses_", "act_aaaaaaaaaaaaaaaaaaaaaaaaaa", upper.as_str()] {
            assert_eq!(SessionId::parse(wrong), Err(InvalidSessionId), "{wrong}");
        }
    }
}
