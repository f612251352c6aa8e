//! `audit`: what operators do with the log, and what anybody can do with an exported file.

use super::App;
use crate::args::{Audit, AuditExport, AuditRemove, AuditShow, AuditVerify};
use crate::exit::{self, Usage};
use crate::operator::Operator;
use crate::render::audit::{self as render, Shown, Told};
use crate::render::visible;
use anyhow::Context as _;
use proofport_core::secret::Secret;
use proofport_gateway::host::{Connections, HostError};
use proofport_gateway::operator_side::{
    AuditHead, AuditPart, Ending, ExportAudit, RemoveAudit, RotateAuditKey, VerifyAudit,
};
use proofport_gateway::{
    AuditEntry, Expected, Export, Exported, Held, JournalError, NotOpened, RemoveError, Report, Then,
    Unreadable, Verifier, open_export,
};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Read, Seek as _, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroize as _;

/// The longest key file that is read, in bytes.
const LONGEST_KEY_FILE: u64 = 64 * 1024;

pub(super) async fn run(app: &App, command: Audit) -> anyhow::Result<u8> {
    match command {
        Audit::Verify(args) => verify(app, args).await,
        Audit::Export(args) => export(app, args).await,
        Audit::Head => head(app).await,
        Audit::Show(args) => show(app, args).await,
        Audit::Remove(args) => remove(app, args).await,
        Audit::RotateKey => rotate_key(app).await,
    }
}

async fn verify(app: &App, args: AuditVerify) -> anyhow::Result<u8> {
    let AuditVerify { files, expected_head, expected_key } = args;
    let expected = Expected { heads: expected_head, key: expected_key };
    let report = if files.is_empty() { own(app, expected).await? } else { of_files(&files, expected)? };
    app.out.answer(&render::Report::of(&report), || render::report(&report))?;
    Ok(if report.is_verified() { exit::OK } else { exit::FAILED })
}

/// Of the home. What can't be opened is not thereby altered.
async fn own(app: &App, expected: Expected) -> anyhow::Result<Report> {
    let operator = match app.operator(Connections::None).await {
        Ok(operator) => operator,
        Err(error) => {
            let altered =
                matches!(error.downcast_ref(), Some(HostError::Journal(JournalError::Tampered { .. })));
            return Err(if altered { error } else { Usage(format!("{error:#}")).into() });
        }
    };
    let Expected { heads, key } = expected;
    let report = operator.ask(VerifyAudit { heads, key }).await;
    operator.close()?;
    report
}

/// Of exported files, one after the other: with nothing but what stands in them.
fn of_files(files: &[PathBuf], expected: Expected) -> anyhow::Result<Report> {
    let mut verifier = Verifier::new(expected);
    for path in files {
        let unread = |error: Unreadable| Usage(format!("{}: {error}", spelled(path)));
        let opened = source(path).map_err(|error| unread(error.into()))?;
        verifier.export(opened).map_err(unread)?;
    }
    Ok(verifier.finish())
}

fn source(path: &Path) -> io::Result<Box<dyn Read>> {
    Ok(if path.as_os_str() == "-" { Box::new(io::stdin()) } else { Box::new(File::open(path)?) })
}

async fn export(app: &App, args: AuditExport) -> anyhow::Result<u8> {
    let AuditExport { to } = args;
    if to.is_none() && io::stdout().is_terminal() {
        let what = "standard output is a terminal: name a file with --to, or a program with `|`";
        return Err(Usage(what.to_owned()).into());
    }
    if let Some(path) = to.as_deref().filter(|path| path.exists()) {
        return Err(Usage(format!("{} exists, and no export replaces another file", spelled(path))).into());
    }
    let operator = app.operator(Connections::None).await?;
    let exported = match &to {
        Some(path) => into_file(&operator, path).await,
        None => write(&operator, &mut BufWriter::new(io::stdout().lock())).await,
    };
    operator.close()?;
    let exported = exported?;
    let told = Told::of(&exported.head, &exported.key);
    match &to {
        Some(path) => app.out.answer(&told, || render::exported(&exported, &spelled(path)))?,
        // The file is the answer.
        None => app.out.remark(&format!("the log ends at {}", exported.head)),
    }
    Ok(exit::OK)
}

/// Whole and on disk under its name, or not there.
async fn into_file(operator: &Operator, path: &Path) -> anyhow::Result<Exported> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = || format!("could not write {}", spelled(path));
    let temporary = tempfile::Builder::new().prefix(".audit-").tempfile_in(folder).with_context(failed)?;
    let mut out = BufWriter::new(temporary);
    let exported = write(operator, &mut out).await?;
    let temporary = out.into_inner().map_err(io::IntoInnerError::into_error).with_context(failed)?;
    temporary.as_file().sync_all().with_context(failed)?;
    temporary.persist_noclobber(path).map_err(|error| error.error).with_context(failed)?;
    // A folder that may be written but not read can't be synced.
    File::open(folder).map_or(Ok(()), |folder| folder.sync_all()).with_context(failed)?;
    Ok(exported)
}

/// The log, part by part.
async fn write(operator: &Operator, to: &mut impl Write) -> anyhow::Result<Exported> {
    let mut from = Export::default();
    loop {
        let AuditPart { bytes, then } = operator.ask(ExportAudit { from }).await?;
        to.write_all(&bytes.0).context("the export can't be written")?;
        match then {
            Then::More(next) => from = next,
            Then::End(exported) => {
                to.flush().context("the export can't be written")?;
                return Ok(exported);
            }
        }
    }
}

async fn head(app: &App) -> anyhow::Result<u8> {
    let operator = app.operator(Connections::None).await?;
    let found = operator.ask(AuditHead {}).await;
    operator.close()?;
    let Ending { head, key } = found?.context("the audit log has not begun: nothing was recorded yet")?;
    app.out.answer(&Told::of(&head, &key), || render::head(&head, &key))?;
    Ok(exit::OK)
}

async fn show(app: &App, args: AuditShow) -> anyhow::Result<u8> {
    let AuditShow { identity, file, by } = args;
    let identity = key_file(&identity)?;
    let mut entries: Vec<AuditEntry> = Vec::new();
    let opened = match &file {
        Some(path) => {
            // What isn't a log is not shown as one.
            let report = of_files(std::slice::from_ref(path), Expected::default())?;
            if let Some(finding) = report.findings.first() {
                app.out.remark(&format!("not verified, and shown all the same: {finding}"));
            }
            open_export(File::open(path)?, &identity, |entry| entries.push(entry))
        }
        None => {
            // Sealed as it is, for the time of this command: only here is it opened, where the identity is.
            let mut copy = tempfile::tempfile().context("could not make a temporary file")?;
            let operator = app.operator(Connections::None).await?;
            let written = write(&operator, &mut BufWriter::new(&copy)).await;
            operator.close()?;
            written?;
            copy.rewind().context("could not read the temporary file")?;
            let mut verifier = Verifier::new(Expected::default());
            verifier.export(&copy)?;
            if let Some(finding) = verifier.finish().findings.first() {
                app.out.remark(&format!("not verified, and shown all the same: {finding}"));
            }
            copy.rewind().context("could not read the temporary file")?;
            open_export(copy, &identity, |entry| entries.push(entry))
        }
    };
    opened.map_err(|error| match error {
        NotOpened::BadIdentity | NotOpened::NotAnExport | NotOpened::Io(_) => {
            anyhow::Error::from(Usage(error.to_string()))
        }
        NotOpened::OtherRecipient { .. } | NotOpened::Altered { .. } => error.into(),
    })?;
    let shown = Shown::of(&entries, by);
    app.out.answer(&shown, || render::shown(&shown))?;
    Ok(exit::OK)
}

/// A key file as it is. Its bytes are wiped with the value.
fn key_file(path: &Path) -> anyhow::Result<Secret> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST_KEY_FILE).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(Secret::new(bytes)),
        Err(error) => {
            bytes.zeroize();
            Err(Usage(format!("could not read the key file {}: {error}", spelled(path))).into())
        }
    }
}

#[derive(Serialize)]
struct TakenOut {
    first_block: u64,
    last_block: u64,
}

async fn remove(app: &App, args: AuditRemove) -> anyhow::Result<u8> {
    let AuditRemove { exported } = args;
    let file = File::open(&exported)
        .map_err(|error| Usage(format!("could not read {}: {error}", spelled(&exported))))?;
    let held = Held::by(file).map_err(|error| match error {
        RemoveError::Unreadable(_) => anyhow::Error::from(Usage(error.to_string())),
        RemoveError::NotVerified(_)
        | RemoveError::OtherLog
        | RemoveError::NothingToRemove
        | RemoveError::Journal(_) => error.into(),
    })?;
    let operator = app.operator(Connections::None).await?;
    let removed = operator.ask(RemoveAudit { held }).await;
    operator.close()?;
    let removed = removed?;
    let taken_out = TakenOut { first_block: removed.first, last_block: removed.last };
    app.out.answer(&taken_out, || {
        format!(
            "Took blocks {} to {} out of the journal; a block of the log says so. Keep {}: nothing else has them.\n",
            removed.first,
            removed.last,
            spelled(&exported)
        )
    })?;
    Ok(exit::OK)
}

#[derive(Serialize)]
struct Rotated {
    audit_key: u32,
    /// Whether a host that runs goes on with the key before until it ends.
    after_restart: bool,
}

async fn rotate_key(app: &App) -> anyhow::Result<u8> {
    let operator = app.operator(Connections::None).await?;
    let rotated = operator.ask(RotateAuditKey {}).await;
    let after_restart = operator.embedded().is_none();
    operator.close()?;
    let audit_key = rotated?;
    app.out.answer(&Rotated { audit_key, after_restart }, || {
        let from = if after_restart { "once the host was started again" } else { "from the next record on" };
        format!("Key {audit_key} signs the audit log {from}, by the hand of the one before.\n")
    })?;
    Ok(exit::OK)
}

fn spelled(path: &Path) -> String {
    visible::text(&path.to_string_lossy())
}

/// Tells where the identity of an older home's log was put.
pub(super) fn advice(path: &Path) -> String {
    format!(
        "the identity that opens the audit log is in {}. Move it to where this host can't read it: until then, \
         whoever has this account can read what the log seals, and nobody can once it is lost",
        spelled(path)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_verified_in_their_order() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../journal/src/tests/audit/golden-1.audit");
        let report = of_files(std::slice::from_ref(&golden), Expected::default()).unwrap();
        assert!(report.is_verified(), "{report:?}");
        let twice = of_files(&[golden.clone(), golden], Expected::default()).unwrap();
        assert_eq!((twice.is_verified(), twice.head), (true, report.head), "it says the same once more");
        let none = of_files(&[PathBuf::from("/no/such/file")], Expected::default()).unwrap_err();
        assert!(none.is::<Usage>(), "{none}");
    }
}
