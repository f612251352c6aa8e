//! What one transaction does: gives each batch its place, chains it, and keeps the indexes in step.

use crate::audit::{self, Between, Chain, Entry, Pending, Removal, State, Tag, hash};
use crate::batch::{Batch, Committed};
use crate::error::JournalError;
use crate::keys::{Authenticator, Code};
use crate::record::{self, BEFORE_ALL, BodyMark, Place, Record};
use crate::seal::{Sealer, Slot};
use crate::tables::{self, AUDIT, BODIES, EPOCHS, FAILURES, HEADS, INTENTS, OPEN, RECORDS, UNSETTLED};
use proofport_core::digest::Digest;
use proofport_core::event::{Event, EventKind};
use proofport_core::failures::Mark;
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;
use proofport_core::unknown::leaves_unsettled;
use redb::{Database, ReadableDatabase as _, ReadableTable as _};
use zeroize::Zeroizing;

/// The most that one batch may hold, in bytes as stored.
pub(crate) const LARGEST_BATCH: usize = 64 * 1024 * 1024;
/// The most bodies in one batch.
const MOST_BODIES: usize = 1024;

/// A batch as it is stored but for its place, made on the caller's thread.
pub(crate) struct Prepared {
    invocation: Option<RequestId>,
    at: UnixMillis,
    events: u64,
    /// What it says, for the audit log, which seals it to the operator.
    json: Vec<u8>,
    /// The same, as the record has it.
    payload: Vec<u8>,
    bodies: Vec<Vec<u8>>,
    intents: Vec<(Digest, RequestId)>,
    open: Option<bool>,
    unsettled: Option<bool>,
    tally: Option<(Digest, Mark)>,
    /// What the audit log shows of it.
    tag: Tag,
    kinds: Vec<EventKind>,
}

/// What a transaction does beside its batches.
#[derive(Default)]
pub(crate) struct Besides {
    /// The process ends: the audit log is signed up to here.
    pub(crate) closing: bool,
    /// Blocks of the audit log that are exported and taken out.
    pub(crate) removal: Option<Removal>,
}

impl Prepared {
    pub(crate) fn new(
        mut batch: Batch,
        sealer: &Sealer,
        authenticator: &Authenticator,
    ) -> Result<Self, JournalError> {
        if batch.events.is_empty() {
            return Err(JournalError::EmptyBatch);
        }
        if batch.bodies.len() > MOST_BODIES {
            return Err(JournalError::TooLarge);
        }
        let mut bodies = Vec::with_capacity(batch.bodies.len());
        let mut marks = Vec::with_capacity(batch.bodies.len());
        let plain = std::mem::take(&mut batch.bodies);
        for (kind, plain) in plain.into_iter().map(|body| (body.kind, Zeroizing::new(body.bytes))) {
            let invocation = batch.invocation.as_ref().ok_or(JournalError::NoInvocation)?;
            let sealed = sealer.seal(Slot::Body(invocation, kind), &plain)?;
            marks.push(BodyMark { kind, digest: Digest::of_bytes(&sealed) });
            bodies.push(sealed);
        }
        if batch.invocation.is_none() && (batch.open.is_some() || batch.tally.is_some()) {
            return Err(JournalError::NoInvocation);
        }
        let json = record::encode_payload(&batch, &marks)?;
        let payload = record::encrypt_payload(authenticator, &json)?;
        if bodies.iter().map(Vec::len).sum::<usize>() + payload.len() > LARGEST_BATCH {
            return Err(JournalError::TooLarge);
        }
        let Batch { invocation, at, events, intents, open, tally, bodies: _ } = batch;
        let unsettled = leaves_unsettled(&events);
        let kinds: Vec<_> = events.iter().map(Event::kind).collect();
        let tag = audit::tag(authenticator, invocation.as_ref());
        let events = events.len() as u64;
        Ok(Self {
            invocation,
            at,
            events,
            json,
            payload,
            bodies,
            intents,
            open,
            unsettled,
            tally,
            tag,
            kinds,
        })
    }

    fn audited(&self) -> Entry<'_> {
        let Self { tag, invocation, kinds, at, json, .. } = self;
        Entry { tag: *tag, invocation: invocation.as_ref(), kinds, at: *at, payload: json }
    }
}

/// The end of the journal, to which the next record is chained.
pub(crate) struct End {
    next_seq: u64,
    code: Code,
    pub(crate) high_water: UnixMillis,
    epoch_stored: bool,
    pub(crate) audit: Chain,
}

impl End {
    /// Reads and checks the last record, and the last block of the audit log.
    pub(crate) fn read(
        database: &Database,
        authenticator: &Authenticator,
        audit: impl FnOnce(State) -> Result<Chain, JournalError>,
    ) -> Result<Self, JournalError> {
        let transaction = database.begin_read()?;
        let state = audit::state(&transaction, authenticator)?;
        let last =
            transaction.open_table(AUDIT)?.last()?.map(|(at, block)| (at.value(), hash(block.value())));
        let records = transaction.open_table(RECORDS)?;
        let end = records.last()?;
        let stands = last == (state.block > 0).then_some((state.block, state.hash));
        if !stands {
            return Err(JournalError::Tampered { seq: end.map_or(0, |(seq, _)| seq.value()) });
        }
        let audit = audit(state)?;
        let Some((seq, bytes)) = end else {
            let high_water = UnixMillis(0);
            return Ok(Self { next_seq: 1, code: BEFORE_ALL, high_water, epoch_stored: false, audit });
        };
        let record = Record::verified(authenticator, seq.value(), bytes.value())?;
        Ok(Self {
            next_seq: record.place.last_seq + 1,
            code: record.code,
            high_water: record.place.high_water,
            epoch_stored: false,
            audit,
        })
    }

    /// The number of a new process's epoch.
    pub(crate) fn next_epoch(database: &Database) -> Result<u64, JournalError> {
        let epochs = database.begin_read()?.open_table(EPOCHS)?;
        Ok(epochs.last()?.map_or(1, |(epoch, _)| epoch.value() + 1))
    }

    /// Writes and commits these batches as one transaction. On an error nothing of this value may be
    /// used any more.
    pub(crate) fn commit<'a>(
        &mut self,
        database: &Database,
        authenticator: &Authenticator,
        sealer: &Sealer,
        batches: impl Iterator<Item = &'a Prepared>,
        besides: &Besides,
    ) -> Result<Vec<Committed>, redb::Error> {
        let transaction = tables::begin(database)?;
        let mut committed = Vec::new();
        {
            let mut records = transaction.open_table(RECORDS)?;
            let mut heads = transaction.open_table(HEADS)?;
            let mut bodies = transaction.open_table(BODIES)?;
            let mut intents = transaction.open_table(INTENTS)?;
            let mut open = transaction.open_table(OPEN)?;
            let mut unsettled = transaction.open_table(UNSETTLED)?;
            let mut failures = transaction.open_table(FAILURES)?;
            let mut blocks = transaction.open_table(AUDIT)?;
            let mut audited = Pending::default();
            let mut sealed = false;
            for batch in batches {
                let first_seq = self.next_seq;
                let last_seq = first_seq + batch.events - 1;
                let head = tables::head_key(batch.invocation.as_ref());
                let previous = heads.insert(head, first_seq)?.map_or(0, |old| old.value());
                self.high_water = self.high_water.max(batch.at);
                let place = Place {
                    first_seq,
                    last_seq,
                    previous,
                    at: batch.at,
                    high_water: self.high_water,
                    invocation: batch.invocation,
                };
                let (bytes, code) = record::encode(authenticator, &place, &self.code, &batch.payload);
                records.insert(first_seq, bytes.as_slice())?;
                for (position, body) in (0_u16..).zip(&batch.bodies) {
                    bodies.insert((first_seq, position), body.as_slice())?;
                }
                sealed |= !batch.bodies.is_empty();
                for (key, invocation) in &batch.intents {
                    intents.insert(&tables::intent_key(authenticator, key, invocation), ())?;
                }
                match (&batch.invocation, batch.open) {
                    (Some(id), Some(true)) => drop(open.insert(id.as_bytes(), ())?),
                    (Some(id), Some(false)) => drop(open.remove(id.as_bytes())?),
                    (Some(_), None) | (None, _) => {}
                }
                match (&batch.invocation, batch.unsettled) {
                    (Some(id), Some(true)) => drop(unsettled.insert(id.as_bytes(), ())?),
                    (Some(id), Some(false)) => drop(unsettled.remove(id.as_bytes())?),
                    (Some(_), None) | (None, _) => {}
                }
                if let (Some(id), Some((whose, mark))) = (&batch.invocation, batch.tally) {
                    let before = failures.get(whose.as_bytes())?.map(|entry| tables::tally(entry.value()));
                    match mark.applied(before, batch.at, *id) {
                        Some(tally) => {
                            drop(failures.insert(whose.as_bytes(), &tables::tally_bytes(&tally))?);
                        }
                        None if before.is_some() => drop(failures.remove(whose.as_bytes())?),
                        None => {}
                    }
                }
                if audited.is_full() {
                    self.audit.events(&mut blocks, std::mem::take(&mut audited))?;
                }
                audited.add(first_seq, self.high_water, &batch.audited());
                self.code = code;
                self.next_seq = last_seq + 1;
                committed.push(Committed { first_seq, last_seq });
            }
            if sealed && !self.epoch_stored {
                transaction.open_table(EPOCHS)?.insert(sealer.epoch, sealer.wrapped.as_slice())?;
                self.epoch_stored = true;
            }
            self.audit.events(&mut blocks, audited)?;
            let between = Between { next_event: self.next_seq, at: self.high_water };
            let first = self.audit.state.first;
            if let Some(Removal { through, hash }) = besides.removal
                && through >= first
            {
                blocks.retain_in(first..=through, |_, _| false)?;
                self.audit.removed(&mut blocks, between, through, hash)?;
            }
            let wanted = besides.closing || besides.removal.is_some();
            self.audit.checkpoint(&mut blocks, between, wanted)?;
            tables::write_audit_head(&transaction, &self.audit.state.encode(authenticator, &self.code))?;
        }
        transaction.commit()?;
        Ok(committed)
    }
}
