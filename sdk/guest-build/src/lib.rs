//! Builds guests (connectors and test components) from a build script, with a nested cargo.
//!
//! The nested build has a target directory of its own, so that it never waits for the lock that the
//! outer build holds, and an environment cleaned of the outer build's settings, so that the bytes of
//! a guest do not depend on who builds it: `cargo build`, `cargo test` and `cargo clippy` all yield
//! the same module, with the same digest.

mod environment;
mod toolchain;

use std::io;
use std::path::{Path, PathBuf};

/// The target that guests are compiled for.
pub const TARGET: &str = "wasm32-wasip2";

/// The cargo profile that guests are compiled with; the guest's workspace defines it.
pub const PROFILE: &str = "guest";

/// Which guests to build, from one cargo workspace.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The folder of the workspace's `Cargo.toml`.
    pub workspace: PathBuf,
    /// Where everything is built: one shared folder for all specs, `target/guests`.
    pub target_dir: PathBuf,
    /// What to build.
    pub guests: Guests,
    /// Files and folders, besides the workspace's own manifest and lock file, whose change means
    /// that the build script runs again. Those that do not exist are left out.
    pub watch: Vec<PathBuf>,
}

/// What a [`Spec`] builds.
#[derive(Clone, Debug)]
pub enum Guests {
    /// Packages that have a `cdylib` library.
    Packages(Vec<String>),
    /// Every file of the workspace's `examples` folder, each of which has an `[[example]]` entry
    /// with `crate-type = ["cdylib"]`.
    Examples,
}

/// A guest that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The package's or example's name.
    pub name: String,
    /// The component.
    pub path: PathBuf,
}

/// Why guests could not be built.
#[derive(Debug)]
pub enum BuildError {
    /// A program could not be started, or a folder not be read.
    Io {
        /// The program or folder.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The target is not installed, and could not be.
    TargetMissing {
        /// What `rustup` said.
        detail: String,
    },
    /// The nested cargo failed; its messages are in the build script's output.
    Cargo {
        /// The workspace that was built.
        workspace: PathBuf,
        /// What cargo said.
        detail: String,
    },
    /// Cargo succeeded without making this file.
    NotMade {
        /// The guest.
        name: String,
        /// The file that is not there.
        path: PathBuf,
    },
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io { what, source } => write!(f, "{what}: {source}"),
            Self::TargetMissing { detail } => {
                write!(f, "the target {TARGET} is missing; run `rustup target add {TARGET}`\n{detail}")
            }
            Self::Cargo { workspace, detail } => {
                write!(f, "the guests of {} do not build:\n{detail}", workspace.display())
            }
            Self::NotMade { name, path } => write!(
                f,
                "the guest `{name}` was not made at {}: does its manifest say crate-type = [\"cdylib\"] for it?",
                path.display()
            ),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::TargetMissing { .. } | Self::Cargo { .. } | Self::NotMade { .. } => None,
        }
    }
}

/// Builds the guests and tells the outer cargo what to watch. To be called from a build script.
///
/// # Errors
/// When the target can't be installed, the nested build fails, or a guest is not where cargo puts a
/// `cdylib`.
pub fn build(spec: &Spec) -> Result<Vec<Built>, BuildError> {
    toolchain::ensure_target(&spec.workspace)?;
    let wanted = wanted(spec)?;
    cargo(spec)?;
    let mut built = Vec::with_capacity(wanted.len());
    for guest in wanted {
        if !guest.path.is_file() {
            return Err(BuildError::NotMade { name: guest.name, path: guest.path });
        }
        built.push(guest);
    }
    announce(spec, &built);
    Ok(built)
}

/// The guests of a spec and where cargo will put them.
fn wanted(spec: &Spec) -> Result<Vec<Built>, BuildError> {
    let out = spec.target_dir.join(TARGET).join(PROFILE);
    match &spec.guests {
        Guests::Packages(names) => Ok(names
            .iter()
            .map(|name| Built { name: name.clone(), path: out.join(format!("{}.wasm", file_stem(name))) })
            .collect()),
        Guests::Examples => {
            let folder = spec.workspace.join("examples");
            let mut guests = Vec::new();
            let read = |source| BuildError::Io { what: folder.display().to_string(), source };
            for entry in std::fs::read_dir(&folder).map_err(read)? {
                let path = entry.map_err(read)?.path();
                let stem = path.file_stem().and_then(|stem| stem.to_str());
                if let (Some("rs"), Some(name)) = (path.extension().and_then(|e| e.to_str()), stem) {
                    let file = out.join("examples").join(format!("{}.wasm", file_stem(name)));
                    guests.push(Built { name: name.to_owned(), path: file });
                }
            }
            guests.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(guests)
        }
    }
}

/// Cargo names library files with underscores.
fn file_stem(name: &str) -> String {
    name.replace('-', "_")
}

fn cargo(spec: &Spec) -> Result<(), BuildError> {
    let mut command = toolchain::cargo(&spec.workspace);
    command.args(["build", "--quiet", "--target", TARGET, "--profile", PROFILE]);
    command.arg("--target-dir").arg(&spec.target_dir);
    match &spec.guests {
        Guests::Packages(names) => {
            command.arg("--lib");
            for name in names {
                command.args(["--package", name]);
            }
        }
        Guests::Examples => {
            command.arg("--examples");
        }
    }
    environment::clean(&mut command);
    environment::remap_paths(&mut command, &spec.workspace);
    let output =
        command.output().map_err(|source| BuildError::Io { what: "the nested cargo".to_owned(), source })?;
    if output.status.success() {
        return Ok(());
    }
    Err(BuildError::Cargo {
        workspace: spec.workspace.clone(),
        detail: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// The one place that prints: these lines are how a build script talks to cargo.
#[allow(clippy::print_stdout)]
fn announce(spec: &Spec, built: &[Built]) {
    let own = [spec.workspace.join("Cargo.toml"), spec.workspace.join("Cargo.lock")];
    let modules = built.iter().map(|guest| &guest.path);
    for path in own.iter().chain(&spec.watch).chain(modules).filter(|path| path.exists()) {
        println!("cargo:rerun-if-changed={}", absolute(path).display());
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
