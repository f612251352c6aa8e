//! Whether everything that was dispatched has an end: the one law that can be checked without reading a body.
//!
//! An attempt that began to be dispatched gets its end from the same process, or, where that one stopped, from
//! the next, before it dispatches anything itself. So a dispatch may be open at a log's end, and one of an
//! earlier process only until a later one dispatches.

use super::form::Tag;
use super::report::{OpenDispatch, Wrong};
use super::verify::MOST_FINDINGS;
use proofport_core::event::EventKind;
use std::collections::{HashMap, HashSet};

/// What was dispatched and has no end yet.
#[derive(Default)]
pub(crate) struct Dispatches {
    open: HashMap<Tag, Open>,
    /// Which process of the log's it is.
    process: u64,
    /// How many of the open ones are of an earlier process.
    left: usize,
    unsettled: HashSet<Tag>,
    wrong: Vec<Wrong>,
}

struct Open {
    event: u64,
    block: u64,
    process: u64,
}

impl Dispatches {
    /// Another process has the journal.
    pub(crate) fn another_process(&mut self) {
        self.process += 1;
        self.left = self.open.len();
    }

    /// Takes the next event.
    pub(crate) fn take(&mut self, tag: Tag, kind: EventKind, event: u64, block: u64) {
        match kind {
            EventKind::DispatchStarted => self.begin(tag, event, block),
            EventKind::AttemptEnded => {
                self.end(tag);
                self.unsettled.insert(tag);
            }
            EventKind::OutcomeSettled | EventKind::Stopped => drop(self.unsettled.remove(&tag)),
            EventKind::ActionAccepted
            | EventKind::PreflightValidated
            | EventKind::ApprovalRequested
            | EventKind::ApprovalDecided
            | EventKind::CredentialAuthorized
            | EventKind::ConnectionAttempted
            | EventKind::QueryExchanged
            | EventKind::CancelRequested
            | EventKind::LeaseTaken
            | EventKind::RequestSent
            | EventKind::RemoteResponseStarted
            | EventKind::RemoteResponseComplete
            | EventKind::ChildSettled
            | EventKind::JobAccepted
            | EventKind::ResultCommitted
            | EventKind::ResultDelivered
            | EventKind::RetryScheduled
            | EventKind::ReconcileScheduled
            | EventKind::JobFollowed
            | EventKind::EvidenceAttached
            | EventKind::SessionDecided
            | EventKind::VaultStateChanged
            | EventKind::UnlockFailed
            | EventKind::OperatorRefused
            | EventKind::SecretChanged
            | EventKind::ConnectorDecided
            | EventKind::ConfigLoaded => {}
        }
    }

    fn begin(&mut self, tag: Tag, event: u64, block: u64) {
        if self.left > 0 {
            let process = self.process;
            let left = self.open.extract_if(|_, open| open.process < process);
            let mut left: Vec<_> = left.map(|(tag, open)| (open.event, tag)).collect();
            left.sort_unstable();
            self.wrong.extend(left.into_iter().map(|(event, tag)| Wrong::DispatchWithoutEnd { event, tag }));
            self.left = 0;
        }
        let open = Open { event, block, process: self.process };
        // A file that is made of nothing else must not fill the memory.
        if let Some(before) = self.open.insert(tag, open).filter(|_| self.wrong.len() < MOST_FINDINGS) {
            self.wrong.push(Wrong::DispatchTwice { event, before: before.event });
        }
    }

    fn end(&mut self, tag: Tag) {
        let ended = self.open.remove(&tag);
        if ended.is_some_and(|ended| ended.process < self.process) {
            self.left -= 1;
        }
    }

    /// What was found to be wrong since this was last asked.
    pub(crate) fn wrong(&mut self) -> Vec<Wrong> {
        std::mem::take(&mut self.wrong)
    }

    /// What has no end yet, the oldest first.
    pub(crate) fn open(&self) -> Vec<OpenDispatch> {
        let of =
            |(tag, open): (&Tag, &Open)| OpenDispatch { tag: *tag, event: open.event, block: open.block };
        let mut open: Vec<_> = self.open.iter().map(of).collect();
        open.sort_by_key(|open| open.event);
        open
    }

    /// How many invocations have an ended attempt and no settlement.
    pub(crate) fn unsettled(&self) -> u64 {
        self.unsettled.len() as u64
    }
}
