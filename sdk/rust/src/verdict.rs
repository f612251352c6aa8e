//! Building verdicts.

use crate::{ChildVerdict, Job, Outcome, Reason, ReconcileStep, Step, Value, Verdict};

impl Verdict {
    /// The effect happened and is what was asked for. `output` obeys the output schema.
    #[must_use]
    pub fn committed(output: Value) -> Self {
        Self::of(Outcome::Committed, true, Reason::Done).output(output)
    }

    /// The remote took the work on, as a job that another operation follows.
    #[must_use]
    pub fn accepted(job: impl Into<String>, output: Value) -> Self {
        let job = Some(Job { id: job.into() });
        Self { job, ..Self::of(Outcome::Committed, true, Reason::Accepted).output(output) }
    }

    /// A complete, authoritative answer that is not a success, and no refusal either: the effect, or
    /// a part of it, may have happened.
    #[must_use]
    pub const fn failed(reason: Reason) -> Self {
        Self::of(Outcome::Committed, false, reason)
    }

    /// A complete, authoritative refusal: the effect did not happen.
    #[must_use]
    pub const fn rejected(reason: Reason) -> Self {
        Self::of(Outcome::Rejected, false, reason)
    }

    /// The answer does not say what became of the effect.
    #[must_use]
    pub const fn unknown(reason: Reason) -> Self {
        Self::of(Outcome::Unknown, false, reason)
    }

    /// A reconciliation found the effect. `output` obeys the output schema.
    #[must_use]
    pub fn present(output: Value) -> Self {
        Self::of(Outcome::Committed, true, Reason::Present).output(output)
    }

    /// A reconciliation proved that the effect did not happen. The host believes it only after the
    /// declared delay.
    #[must_use]
    pub const fn absent() -> Self {
        Self::of(Outcome::Rejected, false, Reason::Absent)
    }

    /// A verdict without output, children or job.
    #[must_use]
    pub const fn of(outcome: Outcome, success: bool, reason: Reason) -> Self {
        Self {
            outcome,
            success,
            reason,
            output: None,
            retry_after_seconds: None,
            children: Vec::new(),
            job: None,
        }
    }

    /// Adds an output: by the output schema on success, else by the failure schema.
    #[must_use]
    pub fn output(mut self, output: Value) -> Self {
        self.output = Some(output.to_string());
        self
    }

    /// Adds how long the remote asks to wait.
    #[must_use]
    pub const fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_seconds = Some(seconds);
        self
    }

    /// Adds the fates of a batch's children.
    #[must_use]
    pub fn children(mut self, children: Vec<ChildVerdict>) -> Self {
        self.children = children;
        self
    }
}

impl ChildVerdict {
    /// The child at this position, with this identity, was carried out as asked.
    #[must_use]
    pub fn committed(index: u32, id: impl Into<String>) -> Self {
        Self::of(index, id, Outcome::Committed, true, Reason::Done)
    }

    /// A complete, authoritative refusal of this child alone.
    #[must_use]
    pub fn rejected(index: u32, id: impl Into<String>, reason: Reason) -> Self {
        Self::of(index, id, Outcome::Rejected, false, reason)
    }

    /// The answer speaks of this child, and does not say what became of it.
    #[must_use]
    pub fn unknown(index: u32, id: impl Into<String>, reason: Reason) -> Self {
        Self::of(index, id, Outcome::Unknown, false, reason)
    }

    /// A verdict on a child without output.
    #[must_use]
    pub fn of(index: u32, id: impl Into<String>, outcome: Outcome, success: bool, reason: Reason) -> Self {
        Self { index, id: id.into(), outcome, success, reason, output: None }
    }

    /// Adds an output: by the batch's child output schema on success, else by the failure schema.
    #[must_use]
    pub fn output(mut self, output: Value) -> Self {
        self.output = Some(output.to_string());
        self
    }
}

impl From<Verdict> for Step {
    fn from(verdict: Verdict) -> Self {
        Self::Settle(verdict)
    }
}

impl From<Verdict> for ReconcileStep {
    fn from(verdict: Verdict) -> Self {
        Self::Settle(verdict)
    }
}
