//! The compiler of the guests' own workspace, and its target.

use crate::{BuildError, TARGET};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A cargo of the toolchain that the workspace pins. The outer build may use another one (`cargo
/// +nightly clippy`), and says so to everything below it.
pub(crate) fn cargo(workspace: &Path) -> Command {
    let under_rustup = std::env::var_os("RUSTUP_TOOLCHAIN").is_some();
    let outer = std::env::var_os("CARGO").filter(|_| !under_rustup);
    tool(outer.unwrap_or_else(|| "cargo".into()), workspace)
}

fn tool(program: impl AsRef<std::ffi::OsStr>, workspace: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(workspace).env_remove("RUSTUP_TOOLCHAIN");
    command
}

/// Installs the target where it is missing. Where it is there, `rustup` is not needed.
pub(crate) fn ensure_target(workspace: &Path) -> Result<(), BuildError> {
    if has_target(workspace)? {
        return Ok(());
    }
    let missing = |detail: String| BuildError::TargetMissing { detail };
    let output = tool("rustup", workspace)
        .args(["target", "add", TARGET])
        .output()
        .map_err(|error| missing(format!("rustup could not be started: {error}")))?;
    if output.status.success() && has_target(workspace)? {
        return Ok(());
    }
    Err(missing(String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// Whether the compiler has a standard library for the target.
fn has_target(workspace: &Path) -> Result<bool, BuildError> {
    let output = tool("rustc", workspace)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .map_err(|source| BuildError::Io { what: "rustc".to_owned(), source })?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    Ok(output.status.success() && folder.is_dir())
}
