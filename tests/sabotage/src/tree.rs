//! A copy of the project, in which something may be broken.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy of every file that Git knows or would take.
pub struct Tree {
    from: PathBuf,
    at: PathBuf,
}

/// The copy can't be made.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// A file can't be read, written or removed.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Git doesn't tell which files there are.
    #[error("git ls-files: {0}")]
    Git(String),
}

fn failed(path: &Path) -> impl Fn(io::Error) -> TreeError {
    move |error| TreeError::File { path: path.to_path_buf(), error }
}

impl Tree {
    /// Makes the copy at `at` equal to `from`. What is equal already keeps its time, so that nothing is built
    /// anew for it; what is no part of the project is removed.
    ///
    /// # Errors
    /// When the files can't be listed or copied.
    pub fn copy(from: &Path, at: &Path) -> Result<Self, TreeError> {
        let files = listed(from)?;
        for file in &files {
            put(&at.join(file), &read(&from.join(file))?)?;
        }
        let mut found = Vec::new();
        walk(at, &mut found)?;
        for path in found {
            let known = path.strip_prefix(at).is_ok_and(|file| files.contains(file));
            if !known {
                std::fs::remove_file(&path).map_err(failed(&path))?;
            }
        }
        Ok(Self { from: from.to_path_buf(), at: at.to_path_buf() })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.at
    }

    /// Writes something else into one file.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn change(&self, file: &Path, text: &str) -> Result<(), TreeError> {
        put(&self.at.join(file), text.as_bytes())
    }

    /// Makes one file what it was.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn restore(&self, file: &Path) -> Result<(), TreeError> {
        put(&self.at.join(file), &read(&self.from.join(file))?)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TreeError> {
    std::fs::read(path).map_err(failed(path))
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), TreeError> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed(folder))?;
    }
    std::fs::write(path, bytes).map_err(failed(path))
}

fn listed(root: &Path) -> Result<BTreeSet<PathBuf>, TreeError> {
    let listing = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .map_err(|error| TreeError::Git(error.to_string()))?;
    if !listing.status.success() {
        return Err(TreeError::Git(String::from_utf8_lossy(&listing.stderr).trim().to_owned()));
    }
    let names = String::from_utf8_lossy(&listing.stdout).into_owned();
    let files = names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
    // One that is removed and not committed yet is listed still.
    Ok(files.filter(|file| root.join(file).is_file()).collect())
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), TreeError> {
    for entry in std::fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        if path.is_dir() {
            walk(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}
