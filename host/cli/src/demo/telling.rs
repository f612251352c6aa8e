//! One scene as it is played: what was asked, what the service did, what was claimed, and whether
//! that is what the service's books say.

use super::claim::Claim;
use super::service::{Books, Manner};
use super::stage::{OPERATION, Running, Stage};
use anyhow::Context as _;
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::id::RequestId;

/// A line of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A command that was run.
    Command(String),
    /// What the service says that it did meanwhile.
    Service(String),
    /// What the program claimed, and its exit status.
    Claim { text: String, exit: i32 },
    /// What else happened, under a heading.
    Note(&'static str, String),
}

/// A scene that was played.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) title: &'static str,
    pub(super) lines: Vec<Line>,
    /// The last word about the scene's charge.
    pub(super) claim: Claim,
    /// The charges that the service made in this scene, by id.
    pub(super) made: Vec<String>,
    /// The service's books after it.
    pub(super) books: Books,
    /// Where claims and books disagree, or the story went another way.
    pub(super) doubts: Vec<String>,
}

/// How a step of the story has to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub(super) code: Option<Code>,
    pub(super) outcome: Outcome,
    pub(super) exit: i32,
}

/// A scene that is being played. Its charge has an amount of its own, so that a charge made twice
/// shows in the books.
pub(super) struct Telling<'a> {
    stage: &'a Stage,
    title: &'static str,
    input: String,
    before: Books,
    /// How many of the service's visits were told.
    told: usize,
    lines: Vec<Line>,
    doubts: Vec<String>,
    last: Option<Claim>,
}

impl<'a> Telling<'a> {
    /// Begins a scene in which the service behaves in this manner.
    pub(super) fn begin(stage: &'a Stage, title: &'static str, manner: Manner, amount: u64) -> Self {
        stage.service.behave(manner);
        let before = stage.service.books();
        Self {
            stage,
            title,
            input: format!(r#"{{"amount":{amount},"currency":"eur"}}"#),
            told: before.visits.len(),
            before,
            lines: Vec::new(),
            doubts: Vec::new(),
            last: None,
        }
    }

    /// Calls the operation with the scene's input.
    pub(super) fn call(&mut self, expected: Expected) -> anyhow::Result<()> {
        self.command(format!("call {OPERATION} --input '{}'", self.input));
        let claim = self.stage.call(&self.input)?;
        self.hear(claim, expected);
        Ok(())
    }

    /// Makes the same call once more: it has to meet the first, and nothing may be sent.
    pub(super) fn call_again(&mut self, expected: Expected) -> anyhow::Result<RequestId> {
        self.command(format!("call {OPERATION} --input '{}'  # once more", self.input));
        let claim = self.stage.call(&self.input)?;
        let id = claim.id()?;
        if !claim.repeated() || self.untold() > 0 {
            self.doubt("the same call was not answered from the record alone".to_owned());
        }
        if self.last.as_ref().is_some_and(|first| first.id().ok() != Some(id)) {
            self.doubt("the same call was answered under another id".to_owned());
        }
        self.hear(claim, expected);
        Ok(id)
    }

    /// Asks what became of the charge.
    pub(super) fn reconcile(&mut self, id: &RequestId, expected: Expected) -> anyhow::Result<()> {
        self.command(format!("reconcile {id}"));
        let claim = self.stage.reconcile(id)?;
        self.hear(claim, expected);
        Ok(())
    }

    /// Begins the scene's call without waiting for it.
    pub(super) fn begin_call(&mut self) -> anyhow::Result<Running> {
        self.command(format!("call {OPERATION} --input '{}'", self.input));
        self.stage.begin_call(&self.input)
    }

    /// Locks or unlocks the vault.
    pub(super) fn vault(&mut self, command: &str) -> anyhow::Result<()> {
        self.command(format!("vault {command}"));
        self.stage.vault(command)
    }

    /// Tells what the service did since it was told last.
    pub(super) fn service(&mut self) {
        let books = self.stage.service.books();
        let visits = books.visits.get(self.told..).unwrap_or_default();
        let did = visits.iter().map(|visit| format!("{}: {}", visit.request, visit.did)).collect::<Vec<_>>();
        let text = if did.is_empty() { "no request arrived".to_owned() } else { did.join("; ") };
        self.told = books.visits.len();
        self.lines.push(Line::Service(text));
    }

    /// Tells something else.
    pub(super) fn note(&mut self, heading: &'static str, text: String) {
        self.lines.push(Line::Note(heading, text));
    }

    /// Says that the story went another way.
    pub(super) fn doubt(&mut self, what: String) {
        self.doubts.push(what);
    }

    /// Ends the scene.
    ///
    /// # Errors
    /// When nothing was claimed in it.
    pub(super) fn end(self) -> anyhow::Result<Scene> {
        let claim = self.last.context("nothing was claimed")?;
        let books = self.stage.service.books();
        let made = books.charges.iter().skip(self.before.charges.len()).map(|c| c.id.clone()).collect();
        Ok(Scene { title: self.title, lines: self.lines, claim, made, books, doubts: self.doubts })
    }

    fn command(&mut self, command: String) {
        self.lines.push(Line::Command(command));
    }

    fn untold(&self) -> usize {
        self.stage.service.books().visits.len() - self.told
    }

    fn hear(&mut self, claim: Claim, expected: Expected) {
        self.service();
        self.lines.push(Line::Claim { text: claim.to_string(), exit: claim.exit });
        self.doubts.extend(claim.disagreement(&self.before, &self.stage.service.books()));
        let Expected { code, outcome, exit } = expected;
        if (claim.code(), claim.outcome(), claim.exit) != (code, Some(outcome), exit) {
            let code = code.map_or("ok", Code::as_str);
            self.doubt(format!(
                "claimed `{claim}`; the story has `{code} · {outcome}` and exit status {exit}"
            ));
        }
        self.last = Some(claim);
    }
}
