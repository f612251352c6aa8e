//! Executables that are let in without a word, as `proofport.toml` lists them.

use super::executable::{Executable, Executables};
use super::interpreters;
use super::proc;
use crate::config::At;
use proofport_core::digest::Digest;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Why a digest can't be let in by policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is this program's: whoever starts it is behind it.
    Ours,
    /// It runs whatever it is told to. Where it lies.
    Interpreter(PathBuf),
}

/// The listed digests that can't be let in, with their positions. What is no interpreter of this machine and
/// not this program is no concern of this.
pub(crate) fn refusals(allow: &[At<Digest>]) -> Vec<(usize, Refusal)> {
    if allow.is_empty() {
        return Vec::new();
    }
    let executables = Executables::default();
    let ours = own(&executables);
    let interpreters = interpreters::installed(&executables);
    let refusal = |listed: &At<Digest>| match interpreters.get(&listed.value) {
        _ if ours == Some(listed.value) => Some(Refusal::Ours),
        Some(path) => Some(Refusal::Interpreter(path.clone())),
        None => None,
    };
    let judged = allow.iter().enumerate();
    judged.filter_map(|(index, listed)| refusal(listed).map(|refusal| (index, refusal))).collect()
}

fn own(executables: &Executables) -> Option<Digest> {
    executables.digest(File::open(proc::executable(std::process::id())).ok()?).ok()
}

/// Which executables need no word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policy {
    allow: BTreeSet<Digest>,
}

impl Policy {
    /// The listed ones, without those that can't be let in.
    pub(crate) fn of(allow: &[At<Digest>]) -> Self {
        let refused = refusals(allow);
        let listed = allow.iter().enumerate();
        let kept = listed.filter(|(index, _)| !refused.iter().any(|(refused, _)| refused == index));
        Self { allow: kept.map(|(_, listed)| listed.value).collect() }
    }

    /// Whether this one needs no word. An interpreter under a name of its own that is installed nowhere else
    /// is still told by the name.
    pub(crate) fn permits(&self, executable: &Executable) -> bool {
        self.allow.contains(&executable.digest) && !interpreters::is_interpreter(Path::new(&executable.path))
    }
}
