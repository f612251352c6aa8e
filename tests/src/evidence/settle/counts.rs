//! What was counted: what the records say against what the peers have.

use super::Wanted;
use super::books::Books;
use super::record::{Claim, Record, Records, Stands};
use proofport_core::contract::Outcome;
use serde::Serialize;
use std::collections::BTreeMap;

/// What was counted.
#[derive(Debug, Default, Serialize)]
pub struct Counts {
    /// Where the randomness began.
    pub seed: u64,
    /// Calls with inputs of their own.
    pub invocations: u64,
    /// Hosts killed.
    pub kills: u64,
    /// Of those, how many at a chosen point of their work; the others at a point of time.
    pub kills_at_a_point: u64,
    /// Calls that were under way when their host was killed, and were made again.
    pub calls_cut: u64,
    /// Requests on each connection's way, by what happened to them.
    pub accidents: BTreeMap<String, BTreeMap<String, u64>>,
    /// Effects in the books that no invocation asked for.
    pub foreign_effects: u64,
    /// Everything together.
    pub total: Tally,
    /// By what the binding promises about a second arrival.
    pub contracts: BTreeMap<String, Tally>,
    /// By connection and operation.
    pub operations: BTreeMap<String, Tally>,
}

/// What was counted of some invocations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Calls with inputs of their own.
    pub invocations: u64,
    /// Records: more, where one was called again after nothing had been done.
    pub records: u64,
    /// Dispatches.
    pub dispatches: u64,
    /// Effects that were asked for: a batch has several.
    pub wanted: u64,
    /// Effects that the peers have.
    pub effects: u64,
    /// Records by what settled them.
    pub settled: BTreeMap<String, u64>,
    /// Records of which nothing was dispatched, by the code that stopped them.
    pub stopped: BTreeMap<String, u64>,
    /// Unknowns by why they wait for a person.
    pub waits: BTreeMap<String, u64>,
    /// What the records say of the effects.
    pub claims: BTreeMap<String, u64>,
    /// Effects beyond one.
    pub duplicates: u64,
    /// Claimed done, or told to the caller, and the peer does not have it.
    pub lost: u64,
    /// Claimed rejected or not attempted, and the peer has it.
    pub false_refusals: u64,
    /// Told to the caller as done, and no record says so any more.
    pub forgotten_answers: u64,
    /// Unknowns for which nobody is told to do anything.
    pub forgotten: u64,
    /// Calls without a record.
    pub without_record: u64,
}

impl Counts {
    /// Whether every record is settled or waits for a person, and says what the peers have.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.total.is_sound() && self.foreign_effects == 0
    }

    pub(super) fn judge(&mut self, wanted: &[Wanted], records: &Records, books: &Books) {
        let mut explained = 0;
        for Wanted { kind, line, said } in wanted {
            let effects: Vec<u64> =
                kind.effects(line.n).iter().map(|name| books.count(*kind, name)).collect();
            let told = said.iter().any(|said| said.ok);
            let records = records.0.get(&line.n).map(Vec::as_slice).unwrap_or_default();
            let tally = Tally::of(&effects, records, told);
            explained += tally.effects;
            self.total.add(&tally);
            self.contracts.entry(kind.contract().to_owned()).or_default().add(&tally);
            let operation = format!("{}.{}", line.connection, line.operation);
            self.operations.entry(operation).or_default().add(&tally);
        }
        self.foreign_effects = books.0.values().sum::<u64>() - explained;
    }

    /// A line for each contract.
    #[must_use]
    pub fn table(&self) -> String {
        let line = |(contract, tally): (&String, &Tally)| {
            let waits: u64 = tally.waits.values().sum();
            format!(
                "  {contract}: {} invocations, {} of {} effects; {waits} wait for a person; duplicates {}, lost {}, false refusals {}\n",
                tally.invocations,
                tally.effects,
                tally.wanted,
                tally.duplicates,
                tally.lost,
                tally.false_refusals
            )
        };
        self.contracts.iter().map(line).collect()
    }
}

impl Tally {
    /// Whether nothing is wrong.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.duplicates
            + self.lost
            + self.false_refusals
            + self.forgotten_answers
            + self.forgotten
            + self.without_record
            == 0
    }

    /// One invocation: how often the peer has each effect, what its records say, and whether its caller was
    /// told that all was done.
    fn of(effects: &[u64], records: &[Record], told: bool) -> Self {
        let mut tally = Self {
            invocations: 1,
            records: records.len() as u64,
            dispatches: records.iter().map(|record| record.attempts).sum(),
            wanted: effects.len() as u64,
            effects: effects.iter().sum(),
            without_record: u64::from(records.is_empty()),
            ..Self::default()
        };
        for record in records {
            match &record.stands {
                Stands::Stopped(code) => *tally.stopped.entry(code.to_string()).or_default() += 1,
                Stands::Settled(source) => *tally.settled.entry(source.to_string()).or_default() += 1,
                Stands::Waits(reason) => *tally.waits.entry((*reason).to_owned()).or_default() += 1,
                Stands::Forgotten => tally.forgotten += 1,
            }
        }
        for (index, there) in effects.iter().enumerate() {
            let claims: Vec<Claim> = records.iter().map(|record| record.claims[index]).collect();
            let done = claims.iter().any(|claim| claim.ok);
            let open = claims.iter().any(|claim| match claim.outcome {
                Outcome::Unknown => true,
                // Carried out, and not a success: what is there of it is nobody's claim.
                Outcome::Committed => !claim.ok,
                Outcome::NotAttempted | Outcome::Rejected => false,
            });
            tally.duplicates += there.saturating_sub(1);
            tally.lost += u64::from((done || told) && *there == 0);
            tally.false_refusals += u64::from(!done && !open && *there > 0);
            tally.forgotten_answers += u64::from(told && !done);
            for claim in claims {
                let failed = claim.outcome == Outcome::Committed && !claim.ok;
                let word = if failed { "committed, failed" } else { claim.outcome.as_str() };
                *tally.claims.entry(word.to_owned()).or_default() += 1;
            }
        }
        tally
    }

    fn add(&mut self, other: &Self) {
        let Self {
            invocations,
            records,
            dispatches,
            wanted,
            effects,
            settled,
            stopped,
            waits,
            claims,
            duplicates,
            lost,
            false_refusals,
            forgotten_answers,
            forgotten,
            without_record,
        } = other;
        self.invocations += invocations;
        self.records += records;
        self.dispatches += dispatches;
        self.wanted += wanted;
        self.effects += effects;
        self.duplicates += duplicates;
        self.lost += lost;
        self.false_refusals += false_refusals;
        self.forgotten_answers += forgotten_answers;
        self.forgotten += forgotten;
        self.without_record += without_record;
        for (mine, theirs) in [
            (&mut self.settled, settled),
            (&mut self.stopped, stopped),
            (&mut self.waits, waits),
            (&mut self.claims, claims),
        ] {
            for (word, count) in theirs {
                *mine.entry(word.clone()).or_default() += count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofport_core::contract::Source;

    fn record(outcome: Outcome, ok: bool, stands: Stands) -> Record {
        Record { claims: vec![Claim { outcome, ok }], stands, attempts: 1 }
    }

    #[test]
    fn every_kind_of_falsehood_is_counted() {
        let done = || record(Outcome::Committed, true, Stands::Settled(Source::RemoteResponse));
        let absent = || record(Outcome::Rejected, false, Stands::Settled(Source::RemoteQuery));
        let waits = || record(Outcome::Unknown, false, Stands::Waits("somebody has to look"));
        let check = |there: u64, records: &[Record], told: bool, expected: Tally| {
            let Tally {
                duplicates, lost, false_refusals, forgotten_answers, forgotten, without_record, ..
            } = Tally::of(&[there], records, told);
            let got = Tally {
                duplicates,
                lost,
                false_refusals,
                forgotten_answers,
                forgotten,
                without_record,
                ..Tally::default()
            };
            assert_eq!(got, expected);
            assert_eq!(got.is_sound(), expected == Tally::default());
        };
        let sound = Tally::default;
        for told in [true, false] {
            check(1, &[done()], told, sound());
        }
        for there in [0, 1] {
            check(there, &[waits()], false, sound());
        }
        check(0, &[absent()], false, sound());
        // Called again after nothing had been done.
        check(1, &[absent(), done()], true, sound());
        check(2, &[done()], true, Tally { duplicates: 1, ..sound() });
        check(3, &[waits()], false, Tally { duplicates: 2, ..sound() });
        check(0, &[done()], false, Tally { lost: 1, ..sound() });
        check(1, &[absent()], false, Tally { false_refusals: 1, ..sound() });
        check(1, &[waits()], true, Tally { forgotten_answers: 1, ..sound() });
        check(0, &[waits()], true, Tally { lost: 1, forgotten_answers: 1, ..sound() });
        let nobody = record(Outcome::Unknown, false, Stands::Forgotten);
        check(1, &[nobody], false, Tally { forgotten: 1, ..sound() });
        check(0, &[], false, Tally { without_record: 1, ..sound() });
        check(1, &[], false, Tally { without_record: 1, false_refusals: 1, ..sound() });
    }
}
