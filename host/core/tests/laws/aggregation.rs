//! Law 3 over two attempts: every pair of endings, under every contract, as data that is read in review.

use crate::common::golden;
use crate::common::history::fold;
use crate::common::values::{
    KEY_END, START, accepted, binding, complete, contract, credential, digest, key_use, keyed, lost, marking,
    output, peer, reconcilable, stop,
};
use proofport_core::classify::{Reading, judge};
use proofport_core::code::Code;
use proofport_core::contract::{Effect, Outcome, Phase, Reason, Repeat};
use proofport_core::decide::{Input, Judged, Readiness, decide};
use proofport_core::event::{Event, EventKind};
use proofport_core::evidence::{Cause, Evidence, HttpEvidence};
use proofport_core::manifest::Contract;
use proofport_core::project::project;
use proofport_core::retry::permitted;
use proofport_core::row::Row;
use proofport_core::state::{IllegalEvent, Standing, State};
use proofport_core::time::UnixMillis;
use proofport_core::verdict::Verdict;
use std::fmt::Write as _;
use std::path::Path;

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A complete answer with this status, read as the table of statuses says.
    Status(u16),
    /// The same, where an intermediary may have sent a copy of the request before.
    AfterCopy(u16),
    /// The same as `Status`, with the header by which the contract marks the first request's answer.
    Marked(u16),
    /// The same as `AfterCopy`, with that header.
    MarkedAfterCopy(u16),
    /// A complete 400 that the connector reads as "this key came with another payload".
    Mismatch,
    /// REFUSED_STREAM, before any header of a response.
    RefusedStream,
    /// The connection ended before the first byte of a response.
    NoResponse,
    /// A response began and did not end.
    Cut,
    /// The connection was refused: it never reached its dispatch.
    ConnectionRefused,
    /// The vault is locked: it never reached its dispatch.
    VaultLocked,
}

use Ending::{
    AfterCopy, ConnectionRefused, Cut, Marked, MarkedAfterCopy, Mismatch, NoResponse, RefusedStream, Status,
    VaultLocked,
};

/// 409 is the status by which the keyed contract here says "the first is still running".
pub(crate) const ENDINGS: [Ending; 15] = [
    Status(200),
    Status(401),
    Status(404),
    Status(409),
    Status(412),
    AfterCopy(412),
    Status(429),
    Mismatch,
    RefusedStream,
    Status(500),
    Status(502),
    NoResponse,
    Cut,
    ConnectionRefused,
    VaultLocked,
];

/// What the header changes.
const MARKED: [Ending; 10] = [
    Status(404),
    Marked(200),
    Marked(401),
    Marked(404),
    Marked(409),
    Marked(412),
    MarkedAfterCopy(412),
    Marked(500),
    Marked(502),
    NoResponse,
];

impl Ending {
    fn word(self) -> String {
        match self {
            Status(status) => status.to_string(),
            AfterCopy(status) => format!("{status} after a copy"),
            Marked(status) => format!("{status} marked"),
            MarkedAfterCopy(status) => format!("{status} marked, copy"),
            Mismatch => "400 mismatch".to_owned(),
            RefusedStream => "REFUSED_STREAM".to_owned(),
            NoResponse => "no response".to_owned(),
            Cut => "200, cut".to_owned(),
            ConnectionRefused => "refused connection".to_owned(),
            VaultLocked => "locked vault".to_owned(),
        }
    }

    /// What an exchange that ends so shows; or the code with which it never came to one.
    pub(crate) fn shown(self) -> Result<HttpEvidence, (Phase, Code)> {
        Ok(match self {
            Status(status) => complete(status),
            AfterCopy(status) => HttpEvidence { may_be_repeated: true, ..complete(status) },
            Marked(status) => HttpEvidence { replayed: true, ..complete(status) },
            MarkedAfterCopy(status) => {
                HttpEvidence { replayed: true, may_be_repeated: true, ..complete(status) }
            }
            Mismatch => complete(400),
            RefusedStream => {
                HttpEvidence { refused_stream: true, cause: Some(Cause::StreamRefused), ..lost() }
            }
            NoResponse => lost(),
            Cut => HttpEvidence { completion: None, cause: Some(Cause::ConnectionReset), ..complete(200) },
            ConnectionRefused => return Err((Phase::ConnectionSetup, Code::ConnectFailed)),
            VaultLocked => return Err((Phase::CredentialInjection, Code::VaultLocked)),
        })
    }

    /// How a connector of good manners reads the answer.
    pub(crate) fn verdict(self, evidence: &HttpEvidence, terms: &Contract) -> Verdict {
        let (outcome, reason) = match self {
            Mismatch => (Outcome::Rejected, Reason::PayloadMismatch),
            // A connector knows nothing of copies.
            AfterCopy(status) | MarkedAfterCopy(status) => Row::of_status(status, terms).claims(),
            Status(_) | Marked(_) | RefusedStream | NoResponse | Cut | ConnectionRefused | VaultLocked => {
                Row::of(evidence, terms).claims()
            }
        };
        let success = outcome == Outcome::Committed && reason == Reason::Done;
        verdict(outcome, success, reason)
    }
}

pub(crate) fn verdict(outcome: Outcome, success: bool, reason: Reason) -> Verdict {
    let (output, retry_after_seconds, children, job) = (None, None, Vec::new(), None);
    Verdict { outcome, success, reason, output, retry_after_seconds, children, job }
}

pub(crate) fn take(state: &mut State, input: Input, now: UnixMillis) -> Result<Vec<EventKind>, IllegalEvent> {
    let events = decide(state, input, now)?;
    events.iter().for_each(|event| state.apply(event).unwrap());
    Ok(events.iter().map(Event::kind).collect())
}

pub(crate) fn begun(terms: &Contract) -> State {
    fold(&[
        accepted(),
        Event::PreflightValidated(Box::new(binding(terms.clone()))),
        Event::CredentialAuthorized(credential()),
    ])
}

pub(crate) fn ready(terms: &Contract) -> Input {
    let key = matches!(terms.repeat, Repeat::Keyed(_)).then(|| key_use(8, KEY_END));
    let (request, peer) = (digest(9), peer());
    Input::Ready(Box::new(Readiness { request, peer, key, lease_millis: 1000, follows: None }))
}

/// Makes the next attempt, which ends like this.
///
/// # Errors
/// When it may not be made.
pub(crate) fn attempt(
    state: &mut State,
    terms: &Contract,
    ending: Ending,
    now: UnixMillis,
) -> Result<(), IllegalEvent> {
    let evidence = match ending.shown() {
        Ok(evidence) => evidence,
        Err((phase, code)) => return take(state, Input::Refused(stop(phase, code)), now).map(drop),
    };
    take(state, ready(terms), now)?;
    let verdict = ending.verdict(&evidence, terms);
    let evidence = Evidence::from(evidence);
    take(state, Input::Exchanged(Box::new(evidence.clone())), now)?;
    if state.standing == Standing::Answered {
        let judgement = judge(&evidence, terms, Reading::Verdict(verdict), None);
        take(state, Input::Judged(Box::new(Judged { judgement, evidence, result: output() })), now)?;
    }
    Ok(())
}

/// When a second attempt is made.
const SECOND: UnixMillis = START.plus_seconds(1);

const LEGEND: &str = "\
What two attempts prove, by how each ended. Written by the test `aggregation`.

then    how the second attempt ended; - where there was none.
retry   and whose move it is; behind a slash what it is where the operation can be reconciled, if that differs.
marked  the answer says by the contract's header that it is the first request's: then a refusal settles, too.
again   whether another dispatch of the same bytes is permitted, or why not. Where it is not, no second attempt
        is made, however it would end, and no line has one.
";

/// What may be claimed of it then.
fn claim(state: &State, now: UnixMillis) -> [String; 4] {
    let claim = project(state, now);
    let code = claim.code.map_or("ok".to_owned(), |code| code.to_string());
    let again = permitted(state, now).map_or_else(|leave| leave.to_string(), |()| "yes".to_owned());
    [claim.outcome.to_string(), code, format!("{} {}", claim.retry, claim.retry_owner), again]
}

fn line(text: &mut String, first: &str, then: &str, cells: &[String]) {
    write!(text, "{first:20}{then:20}").unwrap();
    for (cell, width) in cells.iter().zip([15, 26, 36, 0]) {
        write!(text, "{cell:width$}").unwrap();
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
}

fn table(title: &str, repeat: &Repeat, endings: &[Ending], now: UnixMillis) -> String {
    let plain = contract(Effect::Write, repeat.clone());
    let both = [plain.clone(), reconcilable(plain)];
    let mut text = format!("\n## {title}\n\n");
    line(&mut text, "first", "then", &["outcome", "code", "retry", "again"].map(str::to_owned));
    for first in endings.iter().copied() {
        let after = both.each_ref().map(|terms| {
            let mut state = begun(terms);
            attempt(&mut state, terms, first, START).unwrap();
            state
        });
        row(&mut text, &first.word(), "-", &after, now);
        for second in endings.iter().copied() {
            let mut then = after.clone();
            let allowed = permitted(&then[0], SECOND).is_ok();
            let open = then[0].outcome() == Outcome::Unknown;
            let made = [0, 1].map(|i| attempt(&mut then[i], &both[i], second, SECOND).is_ok());
            if second.shown().is_ok() {
                // The record refuses what the plan does not permit, and nothing else.
                assert_eq!(made, [allowed; 2], "{title}: {first:?}, then {second:?}");
            }
            if allowed {
                row(&mut text, &first.word(), &second.word(), &then, now);
            }
            // Said once more without the table: no refusal settles an unknown, unless it is the first one's.
            let firsts = matches!(second, Marked(_) | MarkedAfterCopy(_));
            let refused = then.iter().any(|state| state.outcome() == Outcome::Rejected);
            assert!(!(open && refused) || firsts, "{title}: {first:?}, then {second:?}");
        }
    }
    text
}

fn row(text: &mut String, first: &str, then: &str, after: &[State; 2], now: UnixMillis) {
    let [plain, reconcilable] = after.each_ref().map(|state| claim(state, now));
    let [outcome, code, retry, again] = plain;
    assert_eq!((&outcome, &code, &again), (&reconcilable[0], &reconcilable[1], &reconcilable[3]));
    let retry = if retry == reconcilable[2] { retry } else { format!("{retry} / {}", reconcilable[2]) };
    line(text, first, then, &[outcome, code, retry, again]);
}

#[test]
fn every_pair_of_endings_under_every_contract() {
    let mut text = LEGEND.to_owned();
    for (title, repeat) in [
        ("A second arrival may be a second effect", Repeat::None),
        ("Idempotent", Repeat::Idempotent),
        ("Conditional", Repeat::Conditional),
        ("Keyed, within the key's window; 409: the first is still running", keyed()),
    ] {
        text.push_str(&table(title, &repeat, &ENDINGS, SECOND));
    }
    text.push_str(&table("Keyed, asked when the window is over", &keyed(), &ENDINGS, KEY_END));
    text.push_str(&table("Keyed, the first request's answer is marked", &marking(), &MARKED, SECOND));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/laws/aggregation.golden");
    golden::check(&path, &text);
}
