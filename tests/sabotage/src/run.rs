//! Trying a sabotage.

use crate::case::{Case, CaseError};
use crate::tree::{Tree, TreeError};
use serde::Serialize;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// What became of a sabotage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Each of its tests failed.
    Caught,
    /// A test of it passed.
    Survived,
    /// It did not get as far as its tests, which says nothing of them.
    NotBuilt,
    /// A test of it does not pass, or is not there, without any sabotage.
    NotPassing,
}

/// One sabotage and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Its name.
    pub name: String,
    /// The law that it breaks.
    pub law: String,
    /// The tests that had to fail.
    pub tests: Vec<String>,
    /// What became of it.
    pub verdict: Verdict,
    /// How long that took, in seconds.
    pub seconds: u64,
    /// The last lines of what was printed, where it was not caught.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub printed: String,
}

/// A sabotage could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It is none any more.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The copy could not be changed.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Cargo did not run.
    #[error("cargo: {0}")]
    Cargo(#[from] io::Error),
}

/// What a test program said of one test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Nothing,
    Passed,
    Failed,
}

/// What was printed of the tests of one sabotage.
struct Printed {
    said: Vec<Said>,
    text: String,
}

/// How many lines of a build or a test that went wrong are shown.
const SHOWN_LINES: usize = 30;

impl Printed {
    fn all(&self, wanted: Said) -> bool {
        self.said.iter().all(|said| *said == wanted)
    }

    fn last_lines(&self) -> String {
        let lines: Vec<&str> = self.text.lines().collect();
        lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
    }
}

/// Tries these sabotages: the tests of each pass on the copy as it is, and fail with its replacement. `tell` is
/// told of each when it is over.
///
/// # Errors
/// When one could not be tried.
pub fn run(
    cases: &[&Case],
    tree: &Tree,
    target: &Path,
    tell: impl Fn(&Report),
) -> Result<Vec<Report>, RunError> {
    // First all of what is not broken, so that it is built once.
    let before: Result<Vec<_>, _> = cases.iter().map(|case| tests(case, tree.path(), target)).collect();
    let mut reports = Vec::new();
    for (case, before) in cases.iter().zip(before?) {
        let started = Instant::now();
        let broken = case.applied(tree.path())?;
        let (verdict, printed) = if before.all(Said::Passed) {
            tree.change(&case.file, &broken)?;
            let after = tests(case, tree.path(), target);
            tree.restore(&case.file)?;
            let after = after?;
            (verdict(&after), after)
        } else {
            (Verdict::NotPassing, before)
        };
        let Case { name, law, tests, .. } = (*case).clone();
        let printed = if verdict == Verdict::Caught { String::new() } else { printed.last_lines() };
        let report = Report { name, law, tests, verdict, seconds: whole(started.elapsed()), printed };
        tell(&report);
        reports.push(report);
    }
    Ok(reports)
}

fn verdict(after: &Printed) -> Verdict {
    if after.all(Said::Failed) {
        Verdict::Caught
    } else if after.all(Said::Nothing) {
        Verdict::NotBuilt
    } else {
        Verdict::Survived
    }
}

const fn whole(time: Duration) -> u64 {
    time.as_millis().div_ceil(1000) as u64
}

fn tests(case: &Case, tree: &Path, target: &Path) -> Result<Printed, RunError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(tree).env_remove("CARGO_TARGET_DIR").env("CARGO_TERM_COLOR", "never");
    // What tells the program how it was built is nothing to the one that it builds.
    command.env_remove("CARGO_MANIFEST_DIR").env_remove("RUST_BACKTRACE");
    command.args(["test", "--locked", "--package", &case.package, "--target-dir"]).arg(target);
    match case.program.as_str() {
        "lib" => command.arg("--lib"),
        program => command.args(["--test", program]),
    };
    command.args(["--", "--exact"]).args(&case.tests);
    let output = command.output()?;
    let text =
        [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
    let said = case.tests.iter().map(|test| said(&text, test)).collect();
    Ok(Printed { said, text })
}

/// What the harness printed of this test.
fn said(text: &str, test: &str) -> Said {
    let passed = format!("test {test} ... ok");
    let failed = format!("test {test} ... FAILED");
    if text.lines().any(|line| line == failed) {
        Said::Failed
    } else if text.lines().any(|line| line == passed) {
        Said::Passed
    } else {
        Said::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_test_that_ran_and_failed_catches() {
        let check = |text: &str, expected: Verdict| {
            let said = ["a::b", "c"].map(|test| said(text, test)).to_vec();
            assert_eq!(verdict(&Printed { said, text: text.to_owned() }), expected, "{text}");
        };
        check("test a::b ... FAILED\ntest c ... FAILED\n", Verdict::Caught);
        check("test a::b ... ok\ntest c ... FAILED\n", Verdict::Survived);
        check("test a::b ... FAILED\n", Verdict::Survived);
        check("test a::b ... ok\ntest c ... ok\n", Verdict::Survived);
        check("test a::bc ... FAILED\ntest x::c ... FAILED\n", Verdict::NotBuilt);
        check("error[E0308]: mismatched types\n", Verdict::NotBuilt);
        check("", Verdict::NotBuilt);
    }
}
