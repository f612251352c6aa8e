//! Whose word the operations of a connection need.

use super::problem::{At, Place};
use super::reader::{Field, Reader, Section};
use proofport_broker::Approvals;
use proofport_core::approval::Approval;
use proofport_core::id::Name;
use std::ops::RangeInclusive;

const KEYS: [&str; 4] = ["reads", "writes", "operations", "seconds"];

const SECONDS: RangeInclusive<u64> = 10..=7 * 24 * 3600;

/// The policy as it is declared, with the places of the operations that it names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApprovalsConfig {
    /// The policy.
    pub policy: Approvals,
    /// The operations with a policy of their own.
    pub named: Vec<At<Name>>,
}

/// The policy; what isn't set is as without the section.
pub(super) fn read<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> ApprovalsConfig {
    reader.only(section, &KEYS);
    let mut config = ApprovalsConfig::default();
    for (key, usual) in [("reads", &mut config.policy.reads), ("writes", &mut config.policy.writes)] {
        if let Some(field) = reader.field(section, key)
            && let Some(approval) = approval(reader, &field)
        {
            *usual = approval;
        }
    }
    let operations = reader.field(section, "operations").and_then(|field| reader.section(&field));
    for (name, field) in operations.map(|section| reader.named(&section)).unwrap_or_default() {
        if let Some(approval) = approval(reader, &field) {
            config.named.push(At { value: name.clone(), place: key_place(&field) });
            config.policy.operations.insert(name, approval);
        }
    }
    let seconds = reader.field(section, "seconds").and_then(|field| reader.number(&field, SECONDS));
    if let Some(seconds) = seconds.and_then(|seconds| u32::try_from(seconds).ok()) {
        config.policy.seconds = seconds;
    }
    config
}

const fn key_place(field: &Field<'_>) -> Place {
    field.key_place
}

fn approval<'a>(reader: &mut Reader<'a>, field: &Field<'a>) -> Option<Approval> {
    let approval = Approval::parse(reader.text(field)?);
    if approval.is_none() {
        let what = "is none of \"auto\", \"session\" and \"each\"";
        let todo =
            "write whose word it needs: nobody's, an operator's once in a session, or one for each call";
        reader.report(field.place, &field.path, what, todo);
    }
    approval
}
