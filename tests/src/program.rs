//! The program, for tests that run it as people do.

// A program that can't be built fails the test that wanted it.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the program is, beside this one's own binaries. Cargo builds it for its own package's tests only,
/// so it is asked to here; it is there already where all tests run.
///
/// # Panics
/// When it can't be built.
#[must_use]
pub fn program() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    // A test lies one folder deeper than a program that runs for long.
    let folder = this.parent().unwrap();
    let folder = if folder.ends_with("deps") { folder.parent().unwrap() } else { folder };
    let profile = folder.file_name().and_then(|name| name.to_str()).unwrap();
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--quiet", "--workspace", "--bin", "proofport", "--manifest-path"]);
    build.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml"));
    build.args(if profile == "debug" { ["--profile", "dev"] } else { ["--profile", profile] });
    // What cargo tells a test of its package, build scripts would take for a change of theirs.
    for (name, _) in std::env::vars_os() {
        let told = name
            .to_str()
            .is_some_and(|name| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|of| name.starts_with(of)));
        if told {
            build.env_remove(name);
        }
    }
    assert!(build.status().unwrap().success());
    folder.join("proofport")
}
