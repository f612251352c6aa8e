//! What the program claimed, as a caller reads it: its envelope and its exit status.

use super::service::{Books, Charge};
use anyhow::{Context as _, anyhow, bail};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Retry, Source};
use proofport_core::id::RequestId;
use serde::Deserialize;
use std::fmt;
use std::process::Output;

/// The part of an envelope that the demo compares with the books.
#[derive(Debug, Deserialize)]
struct Envelope {
    ok: bool,
    code: Option<Code>,
    outcome: Option<Outcome>,
    retry: Retry,
    repeated: bool,
    request_id: Option<RequestId>,
    result: Option<Charge>,
    evidence: Evidence,
}

#[derive(Debug, Deserialize)]
struct Evidence {
    source: Option<Source>,
}

/// What one run of the program claimed.
#[derive(Debug)]
pub(super) struct Claim {
    envelope: Envelope,
    /// The program's exit status.
    pub(super) exit: i32,
}

impl Claim {
    /// Reads what the program left.
    ///
    /// # Errors
    /// When it was killed, or printed no envelope.
    pub(super) fn read(output: &Output) -> anyhow::Result<Self> {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let Some(exit) = output.status.code() else { bail!("the program was killed: {said}") };
        let envelope = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("the program (exit status {exit}) printed no envelope: {said}"))?;
        Ok(Self { envelope, exit })
    }

    pub(super) const fn code(&self) -> Option<Code> {
        self.envelope.code
    }

    pub(super) const fn outcome(&self) -> Option<Outcome> {
        self.envelope.outcome
    }

    pub(super) const fn source(&self) -> Option<Source> {
        self.envelope.evidence.source
    }

    pub(super) const fn repeated(&self) -> bool {
        self.envelope.repeated
    }

    /// The invocation's id.
    ///
    /// # Errors
    /// When the program showed none.
    pub(super) fn id(&self) -> anyhow::Result<RequestId> {
        self.envelope.request_id.ok_or_else(|| anyhow!("the program showed no id"))
    }

    /// The id of the charge that is claimed to have been made.
    pub(super) fn charge(&self) -> Option<&str> {
        self.envelope.result.as_ref().map(|charge| charge.id.as_str())
    }

    /// Where the claim and the service's books disagree, if they do. `before` are the books as they
    /// were before the action was first asked for.
    pub(super) fn disagreement(&self, before: &Books, after: &Books) -> Option<String> {
        let made = after.charges.get(before.charges.len()..).unwrap_or_default();
        let asked = after.asked_to_charge() - before.asked_to_charge();
        let claim = self.envelope.outcome.map_or("nothing", Outcome::as_str);
        let agrees = match self.envelope.outcome {
            None | Some(Outcome::NotAttempted) => asked == 0,
            Some(Outcome::Rejected) => made.is_empty(),
            Some(Outcome::Committed) => made.len() == 1 && Some(made[0].id.as_str()) == self.charge(),
            // It leaves open whether there is one charge or none. Two are never right.
            Some(Outcome::Unknown) => made.len() <= 1,
        };
        (!agrees).then(|| {
            format!("claimed {claim}; the service was asked to charge {asked} times and made {}", made.len())
        })
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Envelope { ok, code, outcome, retry, repeated, result, .. } = &self.envelope;
        match code {
            Some(code) => write!(f, "{code}")?,
            None => f.write_str(if *ok { "ok" } else { "neither ok nor a code" })?,
        }
        if let Some(outcome) = outcome {
            write!(f, " · {outcome}")?;
        }
        match self.source() {
            Some(Source::RemoteQuery) => f.write_str(" by a query")?,
            Some(Source::TransportObserved | Source::RemoteResponse | Source::OperatorAttested) | None => {}
        }
        if let Some(charge) = result {
            write!(f, " · {}", charge.id)?;
        }
        if !ok {
            write!(f, " · retry {retry}")?;
        }
        if *repeated {
            f.write_str(" · repeated")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::service::Visit;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    fn output(status: i32, stdout: &str) -> Output {
        Output { status: ExitStatus::from_raw(status), stdout: stdout.into(), stderr: Vec::new() }
    }

    fn claim(outcome: Option<Outcome>, charge: Option<&str>) -> Claim {
        let result = charge.map(made);
        let evidence = Evidence { source: None };
        let (ok, code, retry, repeated, request_id) = (false, None, Retry::Never, false, None);
        Claim {
            envelope: Envelope { ok, code, outcome, retry, repeated, request_id, result, evidence },
            exit: 0,
        }
    }

    fn made(id: &str) -> Charge {
        let text = |text: &str| text.to_owned();
        Charge {
            id: text(id),
            amount: 1,
            currency: text("eur"),
            status: text("succeeded"),
            reference: text("pp"),
        }
    }

    #[test]
    fn what_is_no_envelope_is_no_claim() {
        let check = |output: &Output, part: &str| {
            let told = format!("{:#}", Claim::read(output).unwrap_err());
            assert!(told.contains(part), "{told}");
        };
        check(&output(9, ""), "was killed");
        check(&output(70 << 8, "panicked"), "(exit status 70) printed no envelope");
        check(&output(0, "{}"), "printed no envelope");
    }

    #[test]
    fn a_claim_is_held_against_the_books() {
        let visit = |request: &str| Visit { request: request.to_owned(), did: String::new() };
        let check =
            |outcome: Option<Outcome>, shown: Option<&str>, charges: &[&str], asked: usize, agrees: bool| {
                let before = Books { charges: vec![made("ch_1")], visits: vec![visit("POST /v1/charges")] };
                let mut after = before.clone();
                after.charges.extend(charges.iter().map(|id| made(id)));
                after.visits.extend((0..asked).map(|_| visit("POST /v1/charges")));
                after.visits.push(visit("GET /v1/charges"));
                let found = claim(outcome, shown).disagreement(&before, &after);
                assert_eq!(found.is_none(), agrees, "{outcome:?} {charges:?} {found:?}");
            };
        let (one, two) = (["ch_2"].as_slice(), ["ch_2", "ch_3"].as_slice());
        for outcome in [None, Some(Outcome::NotAttempted)] {
            check(outcome, None, &[], 0, true);
            check(outcome, None, &[], 1, false);
            check(outcome, None, one, 1, false);
        }
        check(Some(Outcome::Rejected), None, &[], 1, true);
        check(Some(Outcome::Rejected), None, one, 1, false);
        check(Some(Outcome::Committed), Some("ch_2"), one, 1, true);
        check(Some(Outcome::Committed), Some("ch_1"), one, 1, false);
        check(Some(Outcome::Committed), Some("ch_2"), two, 2, false);
        check(Some(Outcome::Committed), Some("ch_2"), &[], 1, false);
        check(Some(Outcome::Unknown), None, &[], 1, true);
        check(Some(Outcome::Unknown), None, one, 1, true);
        check(Some(Outcome::Unknown), None, two, 2, false);
    }
}
