//! Spans out of the record. Each event is committed once, and gives its spans once, whichever process wrote it.
//!
//! The record has the times of commits, dispatches and questions in milliseconds, and how long connections and
//! exchanges took in microseconds. Where a thing's duration is on record and its beginning is not, it is laid
//! right before what followed it; never before what was on record earlier.

use super::span::{Attribute, Decision, Name, Nanos, Span, SpanId, Status, TraceId};
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::event::{AttemptEnd, Dispatch, Event, QueryFacts};
use proofport_core::evidence::{Evidence, SetupAttempt};
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;
use proofport_journal::Recorded;
use std::ops::RangeInclusive;

/// The spans of these events, which are one commit's, given the whole history that they belong to.
pub(super) fn spans(invocation: RequestId, history: &[Recorded], commit: &RangeInclusive<u64>) -> Vec<Span> {
    let earlier = history.iter().take_while(|recorded| recorded.seq < *commit.start());
    let accepted = history.iter().find_map(|recorded| {
        let Event::ActionAccepted(accepted) = &recorded.event else { return None };
        Some(accepted.at)
    });
    let floor = earlier.last().map(|recorded| recorded.at).or(accepted).unwrap_or(UnixMillis(0));
    let mut made = Made {
        trace: *invocation.as_bytes(),
        invocation,
        floor: Nanos::at(floor),
        unplaced: Vec::new(),
        spans: Vec::new(),
    };
    let mut last = floor;
    for (position, recorded) in history.iter().enumerate() {
        if !commit.contains(&recorded.seq) {
            continue;
        }
        let before = history.get(..position).unwrap_or_default();
        made.take(recorded, before);
        last = recorded.at;
    }
    made.place(Nanos::at(last));
    made.spans
}

/// What is known by its duration alone.
enum Unplaced<'a> {
    Connection(u64, &'a SetupAttempt),
    Query(u64, &'a QueryFacts),
}

struct Made<'a> {
    trace: TraceId,
    invocation: RequestId,
    /// Nothing that is not placed yet began before this.
    floor: Nanos,
    unplaced: Vec<Unplaced<'a>>,
    spans: Vec<Span>,
}

const fn micros_of(evidence: &Evidence) -> u64 {
    match evidence {
        Evidence::Http(http) => http.micros,
        Evidence::Ssh(ssh) => ssh.micros,
    }
}

fn micros_of_setup(setup: &SetupAttempt) -> u64 {
    setup.timings.iter().map(|timing| timing.micros).fold(0, u64::saturating_add)
}

impl Unplaced<'_> {
    fn micros(&self) -> u64 {
        match self {
            Self::Connection(_, setup) => micros_of_setup(setup),
            Self::Query(_, query) => micros_of(&query.evidence),
        }
    }
}

impl<'a> Made<'a> {
    fn take(&mut self, recorded: &'a Recorded, before: &[Recorded]) {
        let seq = recorded.seq;
        match &recorded.event {
            Event::ConnectionAttempted(setup) => self.unplaced.push(Unplaced::Connection(seq, setup)),
            Event::QueryExchanged(query) => self.unplaced.push(Unplaced::Query(seq, query)),
            Event::DispatchStarted(dispatch) => {
                self.place(Nanos::at(dispatch.at));
                self.retry_wait(seq, dispatch, before);
            }
            Event::AttemptEnded(end) => self.attempt(seq, end, before),
            Event::ApprovalDecided(word) => {
                let decision = match (word.approved, word.by) {
                    (true, None) => Decision::Approved,
                    (true, Some(_)) => Decision::Granted,
                    (false, _) => Decision::Denied,
                };
                let since = asked(before).unwrap_or(recorded.at);
                self.approval(seq, since, recorded.at, decision);
            }
            Event::Stopped(stop) => {
                if let Some(since) = asked(before) {
                    let lapsed = stop.code == Code::ApprovalExpired;
                    let decision = if lapsed { Decision::Lapsed } else { Decision::Withdrawn };
                    self.approval(seq, since, recorded.at, decision);
                }
            }
            // Moments, which the spans of others begin or end at.
            Event::ActionAccepted(_)
            | Event::PreflightValidated(_)
            | Event::ApprovalRequested(_)
            | Event::CredentialAuthorized(_)
            | Event::CancelRequested
            | Event::LeaseTaken { .. }
            | Event::RequestSent { .. }
            | Event::RemoteResponseStarted { .. }
            | Event::RemoteResponseComplete { .. }
            | Event::ChildSettled(_)
            | Event::JobAccepted { .. }
            | Event::OutcomeSettled(_)
            | Event::ResultCommitted(_)
            | Event::ResultDelivered
            | Event::RetryScheduled { .. }
            | Event::ReconcileScheduled { .. }
            | Event::JobFollowed(_)
            | Event::EvidenceAttached { .. }
            | Event::Host(_) => {}
        }
    }

    fn push(
        &mut self,
        seq: u64,
        name: Name,
        time: (Nanos, Nanos),
        said: &[Attribute],
        status: Status,
    ) -> SpanId {
        let id = SpanId::of(&[&self.trace, b"event", &seq.to_be_bytes()]);
        let attributes = [&[Attribute::RequestId(self.invocation)], said].concat();
        let parent = Some(SpanId::of_call(&self.trace));
        let (start, end) = time;
        self.spans.push(Span { trace: self.trace, id, parent, name, start, end, attributes, status });
        id
    }

    /// Lays what has no place yet one after the other, so that it ends at this time.
    fn place(&mut self, end: Nanos) {
        let unplaced = std::mem::take(&mut self.unplaced);
        let total = unplaced.iter().map(Unplaced::micros).fold(0, u64::saturating_add);
        // The clock of the record is coarser than the durations.
        let mut next = end.minus_micros(total).max(self.floor);
        for thing in unplaced {
            let start = next;
            next = start.plus_micros(thing.micros());
            match thing {
                Unplaced::Connection(seq, setup) => self.connection(seq, setup, (start, next)),
                Unplaced::Query(seq, query) => self.query(seq, query, (start, next)),
            }
        }
        self.floor = self.floor.max(end);
    }

    fn connection(&mut self, seq: u64, setup: &SetupAttempt, time: (Nanos, Nanos)) {
        let mut said =
            vec![Attribute::Stage(setup.stage), Attribute::Hop(setup.hop), Attribute::Reused(setup.reused)];
        said.extend(setup.cause.map(Attribute::Cause));
        let parent = self.push(seq, Name::Connection, time, &said, status(setup.cause.is_none()));
        let mut start = time.0;
        for (n, timing) in (0_u32..).zip(&setup.timings) {
            let end = start.plus_micros(timing.micros);
            self.spans.push(Span {
                trace: self.trace,
                id: SpanId::of(&[&self.trace, b"stage", &seq.to_be_bytes(), &n.to_be_bytes()]),
                parent: Some(parent),
                name: Name::Stage(timing.stage),
                start,
                end,
                attributes: vec![Attribute::RequestId(self.invocation), Attribute::Stage(timing.stage)],
                // Only stages that were passed have a duration.
                status: Status::Ok,
            });
            start = end;
        }
    }

    fn query(&mut self, seq: u64, query: &QueryFacts, time: (Nanos, Nanos)) {
        let cause = query.evidence.cause();
        let mut said = vec![Attribute::Purpose(query.purpose)];
        said.extend(cause.map(Attribute::Cause));
        self.push(seq, Name::Query, time, &said, status(query.evidence.complete() && cause.is_none()));
    }

    /// An attempt that was never dispatched has no time of its own: its connections have.
    fn attempt(&mut self, seq: u64, end: &AttemptEnd, before: &[Recorded]) {
        let Some(dispatch) = dispatch_of(before, end.generation) else { return };
        let start = Nanos::at(dispatch.at);
        let time = (start, start.plus_micros(micros_of(&end.evidence)));
        let mut said = vec![
            Attribute::Generation(u64::from(end.generation)),
            Attribute::Outcome(end.outcome),
            Attribute::Code(end.code),
            Attribute::Source(end.source),
        ];
        said.extend(end.evidence.cause().map(Attribute::Cause));
        let well = end.outcome == Outcome::Committed && end.code.is_none();
        self.push(seq, Name::Attempt, time, &said, status(well));
    }

    fn approval(&mut self, seq: u64, since: UnixMillis, until: UnixMillis, decision: Decision) {
        let time = (Nanos::at(since), Nanos::at(until));
        self.push(seq, Name::Approval, time, &[Attribute::Decision(decision)], Status::Unset);
    }

    fn retry_wait(&mut self, seq: u64, dispatch: &Dispatch, before: &[Recorded]) {
        let scheduled = before.iter().rev().find_map(|recorded| {
            let Event::RetryScheduled { generation, at } = &recorded.event else { return None };
            (*generation == dispatch.generation).then_some((recorded.at, *at))
        });
        let Some((since, due)) = scheduled else { return };
        let time = (Nanos::at(since), Nanos::at(due.min(dispatch.at).max(since)));
        let said = [Attribute::Generation(u64::from(dispatch.generation))];
        self.push(seq, Name::RetryWait, time, &said, Status::Unset);
    }
}

const fn status(well: bool) -> Status {
    if well { Status::Ok } else { Status::Error }
}

/// When the question was put that nobody has decided yet.
fn asked(before: &[Recorded]) -> Option<UnixMillis> {
    let turn = before
        .iter()
        .rev()
        .find(|recorded| matches!(recorded.event, Event::ApprovalRequested(_) | Event::ApprovalDecided(_)))?;
    matches!(turn.event, Event::ApprovalRequested(_)).then_some(turn.at)
}

fn dispatch_of(before: &[Recorded], generation: u32) -> Option<&Dispatch> {
    before.iter().rev().find_map(|recorded| {
        let Event::DispatchStarted(dispatch) = &recorded.event else { return None };
        (dispatch.generation == generation).then_some(dispatch)
    })
}
