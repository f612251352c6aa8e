//! Builds with one law broken on purpose, each of which has to make a named test fail. A test that no breach of
//! its law can make fail proves nothing.
//!
//! A sabotage is a file in `cases/`: what is replaced where, and which tests must see it. Each is tried alone,
//! in a copy of the tree, with the same tests run on the copy before.

mod case;
mod run;
mod tree;

pub use case::{Case, CaseError, cases};
pub use run::{Report, RunError, Verdict, run};
pub use tree::{Tree, TreeError};

use std::path::{Path, PathBuf};

/// The project's root.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
