//! What is claimed of an exec: its row, and a connector's reading of a whole answer under the ceiling that
//! the row sets.

use super::evidence::SshEvidence;
use super::row::SshRow;
use crate::ceiling::Ceiling;
use crate::classify::{Judgement, Reading, Shown, claim, under, unread};
use crate::code::Code;
use crate::contract::{Effect, Outcome, Source};
use crate::exchange::SshExit;
use crate::manifest::Contract;

/// What a reading of this answer may claim. One that is not whole is read by nobody.
///
/// The contract's list of statuses before any work permits a refusal and makes none: any program in the
/// command's place may end with that status, so that it takes the connector's word, too.
#[must_use]
pub fn ceiling(evidence: &SshEvidence, contract: &Contract) -> Ceiling {
    if !evidence.complete() {
        return Ceiling::Nothing;
    }
    match SshRow::of(evidence) {
        SshRow::Success => Ceiling::Any,
        SshRow::Status => match evidence.exit {
            Some(SshExit::Status(status)) if is_before_work(status, contract) => Ceiling::Refusal,
            Some(SshExit::Status(_) | SshExit::Signal(_) | SshExit::Marker) | None => Ceiling::Failure,
        },
        SshRow::Signal => Ceiling::Failure,
        // It finished. Whether it went well is in its output.
        SshRow::Marker => Ceiling::NoRefusal,
        SshRow::OutputCut
        | SshRow::OutputNotTaken
        | SshRow::Refused
        | SshRow::ClosedWithoutEnd
        | SshRow::ClosedWithoutReply
        | SshRow::TransportLost
        | SshRow::Keepalive
        | SshRow::NoReply
        | SshRow::Deadline
        | SshRow::Cancelled
        | SshRow::Contradiction
        | SshRow::Local => Ceiling::Nothing,
    }
}

/// Judges one attempt, or a read.
pub(crate) fn judge(evidence: &SshEvidence, contract: &Contract, reading: Reading) -> Judgement {
    let row = SshRow::of(evidence);
    let ceiling = ceiling(evidence, contract);
    let claims = row.claims();
    if row.refused_on_the_way() {
        let refused = claim(claims.0, claims.1, contract);
        // A read has no effect that could be proved not to have begun: it was answered with a refusal.
        let source = match contract.effect {
            Effect::Read => refused.source,
            Effect::Write => Source::TransportObserved,
        };
        return Judgement { source, ..refused };
    }
    // The caller's own word, and no failure: what the remote makes of it is as unknown as ever.
    if row == SshRow::Cancelled && contract.effect == Effect::Write {
        return Judgement { code: Some(Code::CallerCancelled), ..claim(claims.0, claims.1, contract) };
    }
    // The end is known and the output is not whole. A read is nothing but its output.
    if ceiling == Ceiling::Nothing && claims.0 == Outcome::Committed && contract.effect == Effect::Write {
        return unread(claims, contract);
    }
    under(Shown { claims, ceiling, started: evidence.response_started() }, contract, reading, None)
}

/// Whether the contract says that the command ends with this status before any work. It can't say so of
/// a success.
fn is_before_work(status: u32, contract: &Contract) -> bool {
    status != 0 && u16::try_from(status).is_ok_and(|status| contract.statuses_before_work.contains(&status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify;
    use crate::contract::Reason;
    use crate::evidence::{Cause, Evidence};
    use crate::ssh::StreamSeen;
    use crate::testing::contract;
    use crate::verdict::Verdict;

    fn whole(exit: Option<SshExit>) -> SshEvidence {
        let stream = StreamSeen { bytes: 1, digest: None, complete: true };
        SshEvidence {
            exec_offered: true,
            command_accepted: Some(true),
            stdin_complete: true,
            exit,
            stdout: stream,
            stderr: stream,
            eof: true,
            closed: true,
            cause: None,
            ..SshEvidence::nothing_seen(Cause::LocalIo)
        }
    }

    fn cut(exit: Option<SshExit>) -> SshEvidence {
        let stream = StreamSeen { bytes: 1, digest: None, complete: false };
        let cause = Some(Cause::ConnectionReset);
        SshEvidence { stdout: stream, stderr: stream, eof: false, closed: false, cause, ..whole(exit) }
    }

    fn verdict(outcome: Outcome, success: bool, reason: Reason) -> Reading {
        Reading::Verdict(Verdict {
            outcome,
            success,
            reason,
            output: None,
            retry_after_seconds: None,
            children: Vec::new(),
            job: None,
        })
    }

    #[test]
    fn a_reading_stays_under_what_the_exec_proved() {
        use Outcome::{Committed, Rejected, Unknown};
        let listed = contract(&[0, 105]);
        let signal = || Some(SshExit::Signal("KILL".to_owned()));
        let status = |status| Some(SshExit::Status(status));
        let check = |evidence: SshEvidence, ceiling: Ceiling, allowed: [bool; 4]| {
            let got = super::ceiling(&evidence, &listed);
            assert_eq!(got, ceiling, "{evidence:?}");
            let claims = [(Committed, true), (Committed, false), (Rejected, false), (Unknown, false)];
            assert_eq!(claims.map(|(outcome, success)| got.allows(outcome, success)), allowed);
        };
        check(whole(status(0)), Ceiling::Any, [true; 4]);
        check(whole(status(105)), Ceiling::Refusal, [false, true, true, true]);
        for other in [1, 23, 255, 105 + 65536, u32::MAX] {
            check(whole(status(other)), Ceiling::Failure, [false, true, false, true]);
        }
        check(whole(signal()), Ceiling::Failure, [false, true, false, true]);
        check(whole(Some(SshExit::Marker)), Ceiling::NoRefusal, [true, true, false, true]);
        for exit in [status(0), status(105), signal(), Some(SshExit::Marker), None] {
            check(cut(exit), Ceiling::Nothing, [false, false, false, true]);
        }
    }

    #[test]
    fn each_end_has_its_claim() {
        use Outcome::{Committed, Rejected, Unknown};
        let write = contract(&[105]);
        let read = Contract { effect: Effect::Read, ..write.clone() };
        let check = |contract: &Contract, evidence: SshEvidence, reading, outcome, code| {
            let what = format!("{evidence:?} {reading:?}");
            let got = classify::judge(&Evidence::Ssh(evidence), contract, reading, Some(9));
            assert_eq!((got.outcome, got.code, got.retry_after_seconds), (outcome, code, None), "{what}");
            got
        };
        let status = |status| Some(SshExit::Status(status));
        let (none, withheld) = (|| Reading::None, || Reading::Withheld);
        let refusal = || verdict(Rejected, false, Reason::Conflict);
        let success = || verdict(Committed, true, Reason::Done);
        let (failed, unreadable) = (Some(Code::RemoteFailed), Some(Code::ResultUnreadable));
        let incomplete = Some(Code::RemoteResultIncomplete);
        check(&write, whole(status(0)), success(), Committed, None);
        check(&write, whole(status(0)), refusal(), Rejected, Some(Code::RemoteRejected));
        check(&write, whole(status(0)), none(), Committed, unreadable);
        check(&write, whole(status(0)), withheld(), Committed, None);
        check(&write, whole(status(23)), none(), Committed, failed);
        let above = check(&write, whole(status(23)), refusal(), Committed, failed);
        assert!(above.above_ceiling);
        // By its number alone a listed status refuses nothing.
        check(&write, whole(status(105)), none(), Committed, failed);
        check(&write, whole(status(105)), refusal(), Rejected, Some(Code::RemoteRejected));
        check(&write, whole(Some(SshExit::Marker)), withheld(), Committed, unreadable);
        check(&write, whole(Some(SshExit::Marker)), success(), Committed, None);
        check(&write, cut(status(0)), none(), Committed, unreadable);
        check(&write, cut(status(105)), none(), Committed, failed);
        check(&write, cut(Some(SshExit::Marker)), none(), Committed, unreadable);
        check(&write, cut(None), none(), Unknown, incomplete);
        let cancelled = SshEvidence { cause: Some(Cause::Cancelled), ..cut(None) };
        check(&write, cancelled.clone(), none(), Unknown, Some(Code::CallerCancelled));
        check(&read, cancelled, none(), Unknown, incomplete);
        let nothing = SshEvidence::nothing_seen(Cause::HostStopped);
        check(&write, nothing.clone(), none(), Unknown, Some(Code::OutcomeUnknown));
        for of_read in [cut(status(0)), cut(status(3)), cut(None)] {
            check(&read, of_read, none(), Unknown, incomplete);
        }
        check(&read, nothing, none(), Unknown, Some(Code::OutcomeUnknown));
        check(&read, whole(status(3)), none(), Committed, failed);
        let refused = SshEvidence {
            command_accepted: Some(false),
            stdout: StreamSeen::default(),
            stderr: StreamSeen::default(),
            ..cut(None)
        };
        for (contract, source) in [(&write, Source::TransportObserved), (&read, Source::RemoteQuery)] {
            let got = check(contract, refused.clone(), success(), Rejected, Some(Code::RemoteRejected));
            assert_eq!(got.source, source);
        }
    }
}
