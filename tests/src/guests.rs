//! The guests that `build.rs` built.

// A missing guest fails the test that wanted it.
#![allow(clippy::panic)]

use std::path::{Path, PathBuf};

/// The bytes of a guest: a file of `guests/examples` by its name, or a package that has a connector,
/// such as `proofport-connector-stripe`.
///
/// # Panics
/// When there is none of that name.
#[must_use]
pub fn guest(name: &str) -> Vec<u8> {
    let path = path(name);
    match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) => panic!("no guest `{name}` at {}: {error}", path.display()),
    }
}

/// Where a guest is.
#[must_use]
pub fn path(name: &str) -> PathBuf {
    let built = Path::new(env!("GUESTS"));
    let file = format!("{}.wasm", name.replace('-', "_"));
    let example = built.join("examples").join(&file);
    if example.exists() { example } else { built.join(file) }
}

/// The names of all hostile guests, sorted.
///
/// # Panics
/// When their folder can't be read.
#[must_use]
pub fn hostile() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests/examples");
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) => panic!("{}: {error}", folder.display()),
    };
    let mut names: Vec<String> =
        entries.filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    names
}
