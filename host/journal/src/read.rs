//! Reading. Every record's code is checked before it is believed.

use crate::batch::{BodyKind, Recorded};
use crate::error::JournalError;
use crate::files;
use crate::journal::Journal;
use crate::record::Record;
use crate::seal::Slot;
use crate::tables::{self, BODIES, EPOCHS, FAILURES, HEADS, INTENTS, OPEN, RECORDS, UNSETTLED};
use crate::verify::{self, Verified};
use proofport_core::digest::Digest;
use proofport_core::failures::Tally;
use proofport_core::id::RequestId;
use redb::{ReadTransaction, ReadableDatabase as _, ReadableTable as _};
use std::ops::ControlFlow;
use zeroize::Zeroizing;

impl Journal {
    /// The events of an invocation in order; none for an unknown one.
    ///
    /// # Errors
    /// [`JournalError::Tampered`] when a record of it was changed; when reading fails.
    pub fn history(&self, id: &RequestId) -> Result<Vec<Recorded>, JournalError> {
        self.reading(|transaction| {
            let mut newest_first = Vec::new();
            self.walk(transaction, Some(id), |record| {
                newest_first.push(record.recorded()?);
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(newest_first.into_iter().rev().flatten().collect())
        })
    }

    /// The last events of the host's own, at most that many, in order.
    ///
    /// # Errors
    /// As [`Journal::history`].
    pub fn host_events(&self, newest: usize) -> Result<Vec<Recorded>, JournalError> {
        self.reading(|transaction| {
            let mut newest_first: Vec<Recorded> = Vec::new();
            self.walk(transaction, None, |record| {
                newest_first.extend(record.recorded()?.into_iter().rev());
                let enough = newest_first.len() >= newest;
                Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
            newest_first.truncate(newest);
            newest_first.reverse();
            Ok(newest_first)
        })
    }

    /// The newest body of this kind that belongs to an invocation.
    ///
    /// # Errors
    /// [`JournalError::BodiesLocked`] when there is one and no identity to open it;
    /// [`JournalError::Tampered`] when it or its record was changed; when reading fails.
    pub fn body(&self, id: &RequestId, kind: BodyKind) -> Result<Option<Zeroizing<Vec<u8>>>, JournalError> {
        self.reading(|transaction| {
            let mut found = None;
            self.walk(transaction, Some(id), |record| {
                let marks = record.payload()?.bodies;
                match (0_u16..).zip(marks).filter(|(_, mark)| mark.kind == kind).last() {
                    Some((position, mark)) => {
                        found = Some((record.place.first_seq, position, mark.digest));
                        Ok(ControlFlow::Break(()))
                    }
                    None => Ok(ControlFlow::Continue(())),
                }
            })?;
            let Some((seq, position, digest)) = found else { return Ok(None) };
            let tampered = || JournalError::Tampered { seq };
            let bodies = transaction.open_table(BODIES)?;
            let sealed = bodies.get((seq, position))?.ok_or_else(tampered)?;
            if Digest::of_bytes(sealed.value()) != digest {
                return Err(tampered());
            }
            let wrapped = |epoch| {
                let epochs = transaction.open_table(EPOCHS)?;
                Ok(epochs.get(epoch)?.map(|wrapped| wrapped.value().to_vec()))
            };
            self.shared
                .opener
                .open(Slot::Body(id, kind), sealed.value(), wrapped)?
                .ok_or_else(tampered)
                .map(Some)
        })
    }

    /// Whether bodies can be read.
    #[must_use]
    pub fn bodies_locked(&self) -> bool {
        self.shared.opener.is_locked()
    }

    /// The invocations that carry out, or carried out, the intent with this key, in no meaningful order.
    ///
    /// # Errors
    /// When reading fails.
    pub fn intents(&self, key: &Digest) -> Result<Vec<RequestId>, JournalError> {
        let of = |id| tables::intent_key(&self.shared.authenticator, key, &RequestId::from_random(id));
        let (first, last) = (of([0; 16]), of([0xFF; 16]));
        self.reading(|transaction| {
            let intents = transaction.open_table(INTENTS)?;
            let mut found = Vec::new();
            for entry in intents.range::<&[u8; 48]>(&first..=&last)? {
                let mut id = [0; 16];
                id.copy_from_slice(&entry?.0.value()[32..]);
                found.push(RequestId::from_random(id));
            }
            Ok(found)
        })
    }

    /// The tally of these failures; none where nothing failed since the last success.
    ///
    /// # Errors
    /// When reading fails.
    pub fn tally(&self, whose: &Digest) -> Result<Option<Tally>, JournalError> {
        self.reading(|transaction| {
            let failures = transaction.open_table(FAILURES)?;
            Ok(failures.get(whose.as_bytes())?.map(|entry| tables::tally(entry.value())))
        })
    }

    /// The invocations in the open set, in no meaningful order.
    ///
    /// # Errors
    /// When reading fails.
    pub fn open_invocations(&self) -> Result<Vec<RequestId>, JournalError> {
        self.reading(|transaction| {
            let open = transaction.open_table(OPEN)?;
            open.iter()?.map(|entry| Ok(RequestId::from_random(*entry?.0.value()))).collect()
        })
    }

    /// The invocations with an attempt that ended and with no settlement since, in no meaningful order. An
    /// attempt that has no end on record is in the open set instead. Takes time in proportion to their
    /// number, whatever else the journal holds.
    ///
    /// # Errors
    /// When reading fails.
    pub fn unsettled_invocations(&self) -> Result<Vec<RequestId>, JournalError> {
        self.reading(|transaction| {
            let unsettled = transaction.open_table(UNSETTLED)?;
            unsettled.iter()?.map(|entry| Ok(RequestId::from_random(*entry?.0.value()))).collect()
        })
    }

    /// The invocations that were recorded last, at most that many, the newest first.
    ///
    /// # Errors
    /// [`JournalError::Tampered`] when a record on the way was changed; when reading fails.
    pub fn invocations(&self, newest: usize) -> Result<Vec<RequestId>, JournalError> {
        self.reading(|transaction| {
            let mut found = Vec::new();
            let records = transaction.open_table(RECORDS)?;
            let mut newest_first = records.iter()?.rev();
            while found.len() < newest {
                let Some(entry) = newest_first.next() else { break };
                let (seq, bytes) = entry?;
                let place = Record::verified(&self.shared.authenticator, seq.value(), bytes.value())?.place;
                // The first record of an invocation is where it began.
                found.extend(place.invocation.filter(|_| place.previous == 0));
            }
            Ok(found)
        })
    }

    /// Reads everything and checks every code, every link, every index and every body's digest, so that
    /// a removed, moved or inserted record is seen wherever it was. Takes time in proportion to the
    /// journal's size. That it ends where it should, only a head kept elsewhere can prove.
    ///
    /// # Errors
    /// [`JournalError::Tampered`] with the first place that doesn't verify; when reading fails.
    pub fn verify(&self) -> Result<Verified, JournalError> {
        self.reading(|transaction| verify::transaction(transaction, &self.shared.authenticator))
    }

    /// Follows a chain of records from its newest to its first, each verified.
    fn walk(
        &self,
        transaction: &ReadTransaction,
        of: Option<&RequestId>,
        mut visit: impl FnMut(&Record<'_>) -> Result<ControlFlow<()>, JournalError>,
    ) -> Result<(), JournalError> {
        let records = transaction.open_table(RECORDS)?;
        let Some(head) = transaction.open_table(HEADS)?.get(tables::head_key(of))? else { return Ok(()) };
        let mut seq = head.value();
        while seq != 0 {
            let tampered = JournalError::Tampered { seq };
            let Some(bytes) = records.get(seq)? else { return Err(tampered) };
            let record = Record::verified(&self.shared.authenticator, seq, bytes.value())?;
            // Another's record, or one that would lead in a circle, is not where this chain goes.
            if record.place.invocation.as_ref() != of || record.place.previous >= seq {
                return Err(tampered);
            }
            if visit(&record)?.is_break() {
                return Ok(());
            }
            seq = record.place.previous;
        }
        Ok(())
    }

    /// Reads one consistent state.
    pub(crate) fn reading<T>(
        &self,
        read: impl FnOnce(&ReadTransaction) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        files::undamaged(&self.shared.path, || read(&self.shared.database()?.begin_read()?))
    }
}
