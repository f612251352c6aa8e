//! What the nested cargo inherits.

use std::path::Path;
use std::process::Command;

/// Variables that say where cargo finds things, not how it builds.
const KEPT: [&str; 6] =
    ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_SOURCE_", "CARGO_MAKEFLAGS"];

/// Variables that cargo and its front ends (clippy, coverage, sanitizers) set for the outer build.
const DROPPED: [&str; 14] = [
    "CARGO",
    "CLIPPY_ARGS",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "RUSTC",
    "RUSTDOC",
    "TARGET",
    "HOST",
    "OUT_DIR",
    "PROFILE",
    "DEBUG",
    "OPT_LEVEL",
    "NUM_JOBS",
    "LLVM_PROFILE_FILE",
];

/// Removes everything by which the outer build could change the guest's bytes.
pub(crate) fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        let of_cargo = text.starts_with("CARGO_") && !KEPT.iter().any(|kept| text.starts_with(kept));
        let of_rustc = text.starts_with("RUSTC_");
        if of_cargo || of_rustc || DROPPED.contains(&text) {
            command.env_remove(&name);
        }
    }
}

/// Takes the builder's folders out of the guest, so that the same source gives the same digest in
/// another folder too.
pub(crate) fn remap_paths(command: &mut Command, workspace: &Path) {
    let home = std::env::var_os("CARGO_HOME")
        .map(std::path::PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    // The compiler sees the folder's real path, whatever way led there.
    let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let mut flags = vec![format!("--remap-path-prefix={}=/guest", workspace.display())];
    if let Some(home) = home {
        flags.push(format!("--remap-path-prefix={}=/cargo", home.display()));
    }
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
}
