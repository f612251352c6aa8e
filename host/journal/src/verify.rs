//! The whole journal against itself.

use crate::audit;
use crate::error::JournalError;
use crate::keys::Authenticator;
use crate::record::{BEFORE_ALL, Payload, Record};
use crate::tables::{self, BODIES, FAILURES, HEADS, INTENTS, OPEN, RECORDS, UNSETTLED};
use proofport_core::digest::Digest;
use proofport_core::failures::Tally;
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;
use proofport_core::unknown::leaves_unsettled;
use redb::{
    Database, ReadTransaction, ReadableDatabase as _, ReadableTable as _, ReadableTableMetadata as _,
};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeSet, HashMap, HashSet};

/// What a whole journal holds, after everything in it verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many records.
    pub records: u64,
    /// The last event's sequence number; 0 where there is none.
    pub last_seq: u64,
    /// The code of the last record: whoever keeps it elsewhere can tell later whether the end was cut.
    pub head: [u8; 32],
}

pub(crate) fn whole(database: &Database, authenticator: &Authenticator) -> Result<Verified, JournalError> {
    transaction(&database.begin_read()?, authenticator)
}

/// What the indexes must hold, as the records tell it.
#[derive(Default)]
struct Expected {
    heads: HashMap<Option<RequestId>, u64>,
    intents: HashSet<(Digest, RequestId)>,
    open: BTreeSet<RequestId>,
    unsettled: BTreeSet<RequestId>,
    failures: HashMap<Digest, Tally>,
    bodies: u64,
    last_seq: u64,
    high_water: UnixMillis,
    /// The first event that the audit log still holds.
    audited_from: u64,
    /// What the audit log must list of the events from there on.
    listing: Sha256,
}

pub(crate) fn transaction(
    transaction: &ReadTransaction,
    authenticator: &Authenticator,
) -> Result<Verified, JournalError> {
    let (audit, listed) = audit::verify(transaction, authenticator, audit::Expected::default(), true)?;
    let audited_from = if audit.head.block == 0 { u64::MAX } else { audit.first_event };
    let mut expected = Expected { audited_from, ..Expected::default() };
    let mut verified = Verified { records: 0, last_seq: 0, head: BEFORE_ALL };
    let bodies = transaction.open_table(BODIES)?;
    for entry in transaction.open_table(RECORDS)?.iter()? {
        let (seq, bytes) = entry?;
        let seq = seq.value();
        let record = Record::verified(authenticator, seq, bytes.value())?;
        let payload = record.payload()?;
        let fits = record.predecessor == verified.head && expected.fits(&record, &payload);
        if !fits {
            return Err(JournalError::Tampered { seq });
        }
        for (position, mark) in (0_u16..).zip(&payload.bodies) {
            let intact = bodies
                .get((seq, position))?
                .is_some_and(|body| Digest::of_bytes(body.value()) == mark.digest);
            if !intact {
                return Err(JournalError::Tampered { seq });
            }
        }
        expected.list(&record, &payload, authenticator);
        expected.take(&record, payload);
        verified =
            Verified { records: verified.records + 1, last_seq: record.place.last_seq, head: record.code };
    }
    // What the host did with its dispatches is no damage.
    let whole = audit.findings.iter().all(|finding| finding.what.is_about_dispatches());
    let lists = listed == Some(expected.listing.clone().finalize().into());
    if !(whole && lists)
        || bodies.len()? != expected.bodies
        || !expected.indexes_agree(transaction, authenticator)?
    {
        return Err(JournalError::Tampered { seq: verified.last_seq });
    }
    Ok(verified)
}

impl Expected {
    fn fits(&self, record: &Record<'_>, payload: &Payload) -> bool {
        let place = &record.place;
        let events = payload.events.len() as u64;
        place.first_seq == self.last_seq + 1
            && events > 0
            && place.last_seq == self.last_seq + events
            && place.previous == self.heads.get(&place.invocation).copied().unwrap_or(0)
            && place.high_water == self.high_water.max(place.at)
    }

    /// What the audit log must have of a record.
    fn list(&mut self, record: &Record<'_>, payload: &Payload, authenticator: &Authenticator) {
        let place = &record.place;
        if place.first_seq >= self.audited_from {
            let tag = audit::tag(authenticator, place.invocation.as_ref());
            let kinds = payload.events.iter().map(|event| audit::number(event.kind()));
            audit::list(&mut self.listing, place.first_seq, tag, kinds);
        }
    }

    fn take(&mut self, record: &Record<'_>, payload: Payload) {
        let place = &record.place;
        self.last_seq = place.last_seq;
        self.high_water = place.high_water;
        self.heads.insert(place.invocation, place.first_seq);
        self.intents.extend(payload.intents);
        self.bodies += payload.bodies.len() as u64;
        match (place.invocation, payload.open) {
            (Some(id), Some(true)) => drop(self.open.insert(id)),
            (Some(id), Some(false)) => drop(self.open.remove(&id)),
            (Some(_), None) | (None, _) => {}
        }
        match (place.invocation, leaves_unsettled(&payload.events)) {
            (Some(id), Some(true)) => drop(self.unsettled.insert(id)),
            (Some(id), Some(false)) => drop(self.unsettled.remove(&id)),
            (Some(_), None) | (None, _) => {}
        }
        if let (Some(id), Some((whose, mark))) = (place.invocation, payload.tally) {
            match mark.applied(self.failures.get(&whose).copied(), place.at, id) {
                Some(tally) => drop(self.failures.insert(whose, tally)),
                None => drop(self.failures.remove(&whose)),
            }
        }
    }

    fn indexes_agree(
        &self,
        transaction: &ReadTransaction,
        authenticator: &Authenticator,
    ) -> Result<bool, JournalError> {
        let heads = transaction.open_table(HEADS)?;
        let mut agree = heads.len()? == self.heads.len() as u64;
        for (of, seq) in &self.heads {
            agree &= heads.get(tables::head_key(of.as_ref()))?.is_some_and(|stored| stored.value() == *seq);
        }
        let intents = transaction.open_table(INTENTS)?;
        agree &= intents.len()? == self.intents.len() as u64;
        for (key, id) in &self.intents {
            agree &= intents.get(&tables::intent_key(authenticator, key, id))?.is_some();
        }
        let failures = transaction.open_table(FAILURES)?;
        agree &= failures.len()? == self.failures.len() as u64;
        for (whose, tally) in &self.failures {
            let stored = failures.get(whose.as_bytes())?;
            agree &= stored.is_some_and(|stored| tables::tally(stored.value()) == *tally);
        }
        for (definition, expected) in [(OPEN, &self.open), (UNSETTLED, &self.unsettled)] {
            let table = transaction.open_table(definition)?;
            agree &= table.len()? == expected.len() as u64;
            for id in expected {
                agree &= table.get(id.as_bytes())?.is_some();
            }
        }
        Ok(agree)
    }
}
