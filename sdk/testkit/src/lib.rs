//! Runs a connector natively against scripted answers: no network, no WebAssembly, no clock.
//!
//! A connector is three pure functions, so a test of it is data: a call, the answers that the service
//! gives, and the steps that the connector must take. [`Cases`] reads such data from JSON files and runs
//! them; the format is described in `README.md` beside this crate's manifest.

// A test says what it expects by panicking, and this crate is part of tests only.
#![allow(clippy::panic)]

mod drive;
mod format;
mod request;
mod verdict;

use format::Case;
use proofport_sdk::{Connector, Operation};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// The reference of every call.
pub const REFERENCE: &str = "ppcase";

/// The idempotency key of every call of a keyed operation.
pub const KEY: &str = "ppk-case";

/// A folder of cases, and what all of them have in common.
pub struct Cases {
    folder: PathBuf,
    config: Value,
    credential: Option<String>,
    headers: BTreeMap<String, String>,
}

impl Cases {
    /// The files `*.json` of this folder.
    #[must_use]
    pub fn of(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), config: json!({}), credential: None, headers: BTreeMap::new() }
    }

    /// The connection's config, where a case has none of its own.
    #[must_use]
    pub fn config(mut self, config: Value) -> Self {
        self.config = config;
        self
    }

    /// The slot whose credential every request asks for. Without one, none may ask.
    #[must_use]
    pub fn credential(mut self, slot: &str) -> Self {
        self.credential = Some(slot.to_owned());
        self
    }

    /// A header that every request has; `name` in lower case.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Runs all of them and says how many there were.
    ///
    /// # Panics
    /// Where a case does not hold, names no operation or can't be read, and where an operation has no
    /// case, or one that can be reconciled has no case of that.
    #[must_use]
    pub fn check<C: Connector>(&self) -> usize {
        let operations = C::describe(&self.config.to_string()).operations;
        let (mut run, mut seen) = (0, BTreeSet::new());
        for file in self.files() {
            for case in read(&file) {
                let operation = operations.iter().find(|operation| operation.name == case.operation);
                let Some(operation) = operation else { panic!("no operation {}", case.operation) };
                let held =
                    catch_unwind(AssertUnwindSafe(|| drive::check::<C>(self, &case, operation))).is_ok();
                assert!(held, "in {}: {}: {}", file.display(), case.operation, case.about);
                run += 1;
                seen.insert((case.operation, case.reconcile));
            }
        }
        assert_covered(&operations, &seen);
        run
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) => panic!("{}: {error}", self.folder.display()),
        };
        let json = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
        let mut files: Vec<_> =
            entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).filter(json).collect();
        files.sort();
        files
    }
}

fn read(file: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn assert_covered(operations: &[Operation], seen: &BTreeSet<(String, bool)>) {
    for operation in operations {
        let has = |reconcile| seen.contains(&(operation.name.clone(), reconcile));
        assert!(has(false), "no case for {}", operation.name);
        assert!(operation.reconcile.is_none() || has(true), "no case for reconciling {}", operation.name);
    }
}

/// Whether a value is valid under a schema (2020-12).
///
/// # Panics
/// When the schema is not one.
#[must_use]
pub fn obeys(schema: &str, value: &Value) -> bool {
    let schema: Value = serde_json::from_str(schema).unwrap_or_else(|error| panic!("a schema: {error}"));
    match jsonschema::draft202012::new(&schema) {
        Ok(schema) => schema.is_valid(value),
        Err(error) => panic!("a schema: {error}"),
    }
}
