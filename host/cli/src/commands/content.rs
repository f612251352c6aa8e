//! A stored content, chunk by chunk, into a file or a stream. What a file holds already is verified
//! first, and the transfer goes on behind it: no byte of a file is ever overwritten.

use crate::exit::Usage;
use crate::render::visible;
use anyhow::Error;
use proofport_core::content::ContentFacts;
use proofport_core::digest::Digest;
use proofport_core::id::RequestId;
use sha2::{Digest as _, Sha256};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A stored content, one chunk at a time.
pub(crate) struct Source<'a> {
    /// How long it is and how it is cut.
    pub(crate) facts: ContentFacts,
    /// What the chunk with this number holds.
    pub(crate) chunk: &'a dyn Fn(u32) -> Result<Zeroizing<Vec<u8>>, Error>,
    /// SHA-256 of what it holds; none where the record knows no such chunk.
    pub(crate) digest: &'a dyn Fn(u32) -> Option<Digest>,
}

/// Where a content goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Standard output.
    Stream,
    /// A file, which may hold a part of the content already.
    File(PathBuf),
}

impl From<PathBuf> for Target {
    fn from(path: PathBuf) -> Self {
        if path.as_os_str() == "-" { Self::Stream } else { Self::File(path) }
    }
}

/// Why a content is not whole where it was to go.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stopped {
    /// The file can't be opened or made.
    #[error("it can't be opened: {0}")]
    Unopened(#[source] io::Error),
    /// It is a directory, a device or a pipe, where a transfer can't go on.
    #[error("it is no regular file; `-` is standard output")]
    NoFile,
    /// Another transfer writes it.
    #[error("another transfer writes it")]
    InUse,
    /// The file holds something else, and is left as it is.
    #[error(
        "it holds other bytes than this content, from byte {at} on, and is left as it is: name another file or empty \
         this one"
    )]
    OtherBytes {
        /// Where what it holds was last known to be the content's.
        at: u64,
    },
    /// What the file holds can't be read.
    #[error("what it holds can't be read: {0}")]
    Unread(#[source] io::Error),
    /// The target takes no more, or not for good.
    #[error("it can't be written: {error}")]
    Unwritten {
        /// How many bytes of the content it has.
        kept: u64,
        /// Why.
        error: io::Error,
    },
    /// The store doesn't give the content.
    #[error("the stored content can't be read: {error:#}")]
    NotGiven {
        /// How many bytes of the content the target has.
        kept: u64,
        /// Why.
        error: Error,
    },
    /// What the store gives is not what the record says.
    #[error("the stored content is not the one that is on record")]
    Damaged {
        /// How many bytes the target has; each chunk among them agrees with the record.
        kept: u64,
    },
}

/// Brings the whole content into a file and to the disk. Says how many bytes the file held before.
///
/// # Errors
/// See [`Stopped`]; what the file held and what was written stays.
pub(crate) fn into_file(source: &Source<'_>, path: &Path) -> Result<u64, Stopped> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(path).map_err(|error| {
        // A full disk has no room for a file either.
        let full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        if full { Stopped::Unwritten { kept: 0, error } } else { Stopped::Unopened(error) }
    })?;
    let found = file.metadata().map_err(Stopped::Unopened)?;
    if !found.is_file() {
        return Err(Stopped::NoFile);
    }
    // Where the file system has no locks, nobody is known to write it.
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(Stopped::InUse);
    }
    let held = found.len();
    let verified = verify(source, &mut file, held)?;
    match transfer(source, verified, &mut file) {
        Ok(kept) => to_disk(&file, path).map_err(|error| Stopped::Unwritten { kept, error })?,
        Err(stopped) => {
            // What was written is worth keeping; that it can't be kept is no other news.
            let _ = file.sync_data();
            return Err(stopped);
        }
    }
    Ok(held)
}

/// Writes the whole content.
///
/// # Errors
/// See [`Stopped`]; the count says how much was handed over.
pub(crate) fn into_stream(source: &Source<'_>, out: &mut impl Write) -> Result<(), Stopped> {
    transfer(source, Progress::default(), out).map(|_| ())
}

/// How far a transfer is.
#[derive(Default)]
struct Progress {
    /// The target has the content up to here.
    at: u64,
    /// Of everything before.
    hash: Sha256,
}

impl Progress {
    fn over(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.at = self.at.saturating_add(bytes.len() as u64);
    }
}

/// Holds what the target has against the record: whole chunks against their digests, the beginning of
/// a chunk against the chunk.
fn verify(source: &Source<'_>, target: &mut impl Read, held: u64) -> Result<Progress, Stopped> {
    let mut progress = Progress::default();
    for chunk in 0..source.facts.chunks {
        let at = progress.at;
        if at == held {
            return Ok(progress);
        }
        let length = source.length(chunk, at)?;
        let mut bytes = Zeroizing::new(vec![0; usize_of(length.min(held - at), at)?]);
        target.read_exact(&mut bytes).map_err(Stopped::Unread)?;
        let agrees = if bytes.len() as u64 == length {
            source.expected(chunk, at)? == Digest::of_bytes(&bytes)
        } else {
            source.given(chunk, at)?.starts_with(&bytes)
        };
        if !agrees {
            return Err(Stopped::OtherBytes { at });
        }
        progress.over(&bytes);
    }
    if progress.at == held { Ok(progress) } else { Err(Stopped::OtherBytes { at: progress.at }) }
}

/// Writes what is missing, and holds the whole against the record.
fn transfer(source: &Source<'_>, mut progress: Progress, target: &mut impl Write) -> Result<u64, Stopped> {
    let mut begin: u64 = 0;
    for chunk in 0..source.facts.chunks {
        let end = begin.saturating_add(source.length(chunk, progress.at)?);
        if progress.at < end {
            let bytes = source.given(chunk, progress.at)?;
            let missing = bytes.get(usize_of(progress.at - begin, progress.at)?..).unwrap_or_default();
            write(missing, &mut progress, target)?;
        }
        begin = end;
    }
    let kept = progress.at;
    target.flush().map_err(|error| Stopped::Unwritten { kept, error })?;
    let whole = Digest::from_bytes(progress.hash.finalize().into());
    if kept == source.facts.bytes && whole == source.facts.digest {
        Ok(kept)
    } else {
        Err(Stopped::Damaged { kept })
    }
}

/// Writes all of it, and counts also what a target took before it failed.
fn write(mut missing: &[u8], progress: &mut Progress, target: &mut impl Write) -> Result<(), Stopped> {
    while !missing.is_empty() {
        let error = match target.write(missing) {
            Ok(0) => io::ErrorKind::WriteZero.into(),
            Ok(taken) => {
                let (written, rest) = missing.split_at(taken.min(missing.len()));
                progress.over(written);
                missing = rest;
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => error,
        };
        return Err(Stopped::Unwritten { kept: progress.at, error });
    }
    Ok(())
}

impl Source<'_> {
    fn length(&self, chunk: u32, kept: u64) -> Result<u64, Stopped> {
        self.facts.chunk_length(chunk).ok_or(Stopped::Damaged { kept })
    }

    fn expected(&self, chunk: u32, kept: u64) -> Result<Digest, Stopped> {
        (self.digest)(chunk).ok_or(Stopped::Damaged { kept })
    }

    /// The chunk, if it is the one on record.
    fn given(&self, chunk: u32, kept: u64) -> Result<Zeroizing<Vec<u8>>, Stopped> {
        let bytes = (self.chunk)(chunk).map_err(|error| Stopped::NotGiven { kept, error })?;
        let fits = bytes.len() as u64 == self.length(chunk, kept)?;
        if fits && Digest::of_bytes(&bytes) == self.expected(chunk, kept)? {
            Ok(bytes)
        } else {
            Err(Stopped::Damaged { kept })
        }
    }
}

/// A length within a chunk.
fn usize_of(length: u64, kept: u64) -> Result<usize, Stopped> {
    usize::try_from(length).map_err(|_| Stopped::Damaged { kept })
}

/// The file's content and its name.
fn to_disk(file: &File, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // A folder that may be written but not read can't be synced.
    File::open(folder.unwrap_or(Path::new("."))).map_or(Ok(()), |folder| folder.sync_all())
}

/// What a person is told of a content that is whole.
pub(crate) fn whole(facts: &ContentFacts, target: &Target, held: u64) -> String {
    let ContentFacts { bytes, digest, chunks: _, chunk_bytes: _ } = facts;
    match target {
        Target::Stream => format!("the content was handed over whole: {bytes} bytes, {digest}"),
        Target::File(path) => {
            let before = if held == 0 { String::new() } else { format!("; it held {held} of them before") };
            format!("{} is the whole content: {bytes} bytes, {digest}{before}", spelled(path))
        }
    }
}

/// What a person is told of a transfer that stopped: how much is kept, and how to go on.
///
/// # Errors
/// When the file that was named can't take this content, whatever one does.
pub(crate) fn cut(
    stopped: &Stopped,
    facts: &ContentFacts,
    target: &Target,
    id: &RequestId,
) -> Result<String, Usage> {
    let (kept, goes_on) = match stopped {
        Stopped::Unopened(_)
        | Stopped::NoFile
        | Stopped::InUse
        | Stopped::OtherBytes { .. }
        | Stopped::Unread(_) => {
            let place = match target {
                Target::Stream => "standard output".to_owned(),
                Target::File(path) => spelled(path),
            };
            return Err(Usage(format!("{place} can't take the content: {stopped}")));
        }
        Stopped::Unwritten { kept, .. } | Stopped::NotGiven { kept, .. } => (kept, true),
        // The same bytes would come again.
        Stopped::Damaged { kept } => (kept, false),
    };
    let bytes = facts.bytes;
    let next = match (goes_on, target) {
        (false, _) => String::new(),
        (true, Target::Stream) => {
            format!("; with those in FILE, `proofport result {id} --content FILE` goes on from there")
        }
        (true, Target::File(path)) => {
            format!("; `proofport result {id} --content {}` goes on from there", spelled(path))
        }
    };
    Ok(match target {
        Target::Stream => {
            format!(
                "incomplete: {kept} of {bytes} bytes were handed over to standard output: {stopped}{next}"
            )
        }
        Target::File(path) => {
            format!("incomplete: {} holds {kept} of {bytes} bytes: {stopped}{next}", spelled(path))
        }
    })
}

/// A path as a shell takes it.
fn spelled(path: &Path) -> String {
    let text = visible::text(&path.to_string_lossy());
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests;
