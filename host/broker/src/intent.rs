//! Which calls are the same intent (design: calling again).

use proofport_core::digest::Digest;
use proofport_core::id::OperationName;

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The agent's token, or uid and executable; opaque.
    pub principal: String,
    /// The agent's process.
    pub session: String,
    /// By what right.
    pub authority: Authority,
}

/// By what right somebody calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// An operator's, proved by the passphrase, or the host's own within what its admin set: nobody is asked
    /// once more.
    Operator,
    /// An agent's, in an admitted session: the policy says who is asked.
    Agent,
}

/// Where an intent is remembered: for its session and for its principal, whatever the contract says. An
/// admin may take a contract away between two calls, and the first must be found all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IntentKeys {
    session: Scoped,
    principal: Scoped,
    /// Whether the principal's other sessions count.
    spans: bool,
}

/// The keys within one scope.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Scoped {
    /// Under this a call with this very key, or without one, is found again.
    exact: Digest,
    /// Under this a call without a key finds the newest with the same input.
    keyless: Digest,
    /// Under this the caller's key finds whatever input it was used with.
    call_key: Option<Digest>,
}

impl IntentKeys {
    /// The keys of one call. `spans`: it is met in all sessions of its principal, as with `repeat: none`.
    pub(crate) fn of(
        caller: &Caller,
        spans: bool,
        operation: &OperationName,
        canonical: &str,
        call_key: Option<&str>,
    ) -> Self {
        let name = operation.to_string();
        let scoped = |session: &str| Scoped::of([&caller.principal, session, &name], canonical, call_key);
        Self { session: scoped(&caller.session), principal: scoped(""), spans }
    }

    /// The intent itself, key included, whatever the session.
    pub(crate) const fn intent(&self) -> Digest {
        self.principal.exact
    }

    /// Where every call with this input is looked for, whatever its session and key.
    pub(crate) const fn family(&self) -> Digest {
        self.principal.keyless
    }

    /// Where this very call is looked for.
    pub(crate) fn exact(&self) -> impl Iterator<Item = Digest> {
        self.met().map(|scoped| scoped.exact)
    }

    /// Where other uses of the caller's key are looked for.
    pub(crate) fn call_keys(&self) -> impl Iterator<Item = Digest> {
        self.met().filter_map(|scoped| scoped.call_key)
    }

    fn met(&self) -> impl Iterator<Item = &Scoped> {
        [Some(&self.session), self.spans.then_some(&self.principal)].into_iter().flatten()
    }

    /// Every key under which this call is remembered, each once.
    pub(crate) fn all(&self) -> Vec<Digest> {
        let mut keys = Vec::with_capacity(6);
        for scoped in [&self.session, &self.principal] {
            keys.extend([scoped.exact, scoped.keyless].into_iter().chain(scoped.call_key));
        }
        let mut known = Vec::with_capacity(keys.len());
        for key in keys {
            if !known.contains(&key) {
                known.push(key);
            }
        }
        known
    }
}

/// Where every call with this input is looked for, whatever its session and key.
pub(crate) fn family(principal: &str, operation: &OperationName, canonical: &str) -> Digest {
    Scoped::of([principal, "", &operation.to_string()], canonical, None).keyless
}

/// Under this, children of a batch with this input are sent again right now.
pub(crate) fn dividing(family: &Digest) -> Digest {
    Digest::of_parts("proofport.dividing/1", &[family.as_bytes()])
}

impl Scoped {
    fn of(who: [&str; 3], canonical: &str, call_key: Option<&str>) -> Self {
        let digest = |name: &str, more: &[&str]| {
            let parts: Vec<&[u8]> = who.iter().chain(more).map(|part| part.as_bytes()).collect();
            Digest::of_parts(name, &parts)
        };
        let keyless = digest("proofport.intent/1", &[canonical]);
        let exact = call_key.map(|key| digest("proofport.intent-with-key/1", &[canonical, key]));
        Self {
            exact: exact.unwrap_or(keyless),
            keyless,
            call_key: call_key.map(|key| digest("proofport.call-key/1", &[key])),
        }
    }
}
