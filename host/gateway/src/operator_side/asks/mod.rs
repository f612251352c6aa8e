//! What operators ask for, one file per subject.

pub(super) mod approvals;
pub(super) mod audit;
pub(super) mod calls;
pub(super) mod connections;
pub(super) mod connectors;
pub(super) mod content;
pub(super) mod records;
pub(super) mod secrets;
pub(super) mod sessions;
pub(super) mod vault;
