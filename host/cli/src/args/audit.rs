//! `audit`.

use clap::{Args, Subcommand};
use proofport_gateway::{Head, PublicKey};
use std::path::PathBuf;

const AUDIT_VERIFY_HELP: &str = "\
Examples:
  proofport audit verify
  proofport audit verify may.audit june.audit --expected-head 5120:9f3c…
  ssh host proofport audit export | proofport audit verify -

Checks every link and signature, and that every dispatch has an end on record; those that are open at the head are
listed. Of files, it needs no key, no passphrase and no home. Each of several files goes on where the
one before ends, or repeats its last blocks first. A file can't
prove that it is the newest, or that its key is the host's: give a head, or the key, that you noted elsewhere.

Exit status: 0 verified, 1 not, 2 usage or unreadable.";

const AUDIT_SHOW_HELP: &str = "\
Examples:
  proofport audit show --identity /media/stick/audit-identity.txt --by call
  proofport audit show --identity audit-identity.txt may.audit --json

Of a FILE, it needs no passphrase and no home.";

/// `audit`.
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Verify the log of this home, or exported files
    #[command(after_help = AUDIT_VERIFY_HELP)]
    Verify(AuditVerify),
    /// Write the log to a file that verifies by itself
    Export(AuditExport),
    /// Print where the log ends and which key signs it, to be noted elsewhere
    Head,
    /// Open what the log holds, with the identity that only the operator has
    #[command(after_help = AUDIT_SHOW_HELP)]
    Show(AuditShow),
    /// Take old segments out of the journal that an exported file holds; a block says so
    Remove(AuditRemove),
    /// Have a new key sign the log; the one before hands over to it
    RotateKey,
}

/// `audit verify`.
#[derive(Debug, Args)]
pub(crate) struct AuditVerify {
    /// Exported files in their order, or - for standard input; none: the log of this home
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A block that must be in it, as `audit head` printed it; may be given several times
    #[arg(long, value_name = "N:HASH", value_parser = Head::parse)]
    pub(crate) expected_head: Vec<Head>,
    /// A key that must sign in it, as `audit head` printed it
    #[arg(long, value_name = "KEY", value_parser = PublicKey::parse)]
    pub(crate) expected_key: Option<PublicKey>,
}

/// `audit export`.
#[derive(Debug, Args)]
pub(crate) struct AuditExport {
    /// A new file; unless given: standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
}

/// `audit show`.
#[derive(Debug, Args)]
pub(crate) struct AuditShow {
    /// The operator's key file, as `init` wrote it
    #[arg(long, value_name = "KEYFILE")]
    pub(crate) identity: PathBuf,
    /// An exported file; unless given: the log of this home
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// In groups, each in the order of its events
    #[arg(long, value_name = "session|call")]
    pub(crate) by: Option<By>,
}

/// How what the log holds is grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum By {
    /// By who called.
    Session,
    /// By call.
    Call,
}

/// `audit remove`.
#[derive(Debug, Args)]
pub(crate) struct AuditRemove {
    /// The file that holds what is taken out; it is verified first
    #[arg(long, value_name = "FILE")]
    pub(crate) exported: PathBuf,
}
