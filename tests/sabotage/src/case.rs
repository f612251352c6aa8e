//! What a sabotage is.

use serde::Deserialize;
use std::path::{Path, PathBuf};

/// One breach of one law.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The file's name without its ending.
    #[serde(skip)]
    pub name: String,
    /// Which law it breaks, in one sentence.
    pub law: String,
    /// The file that is changed, from the project's root.
    pub file: PathBuf,
    /// The text in it that is replaced. It must be there exactly once.
    pub find: String,
    /// What it is replaced by.
    pub replace: String,
    /// The package whose tests see it.
    pub package: String,
    /// The test program: `lib`, or the name of one in `tests/`.
    pub program: String,
    /// The tests that must fail, by their whole names.
    pub tests: Vec<String>,
}

/// A sabotage can't be carried out.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// A file can't be read.
    #[error("{path}: {error}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is no sabotage.
    #[error("{path}: {error}")]
    Malformed {
        /// Which.
        path: PathBuf,
        /// Why.
        error: Box<toml::de::Error>,
    },
    /// It changes nothing, or names no test or law.
    #[error("{0}: it has to change something, and to name a law and a test")]
    Empty(String),
    /// The text that it replaces is not there exactly once: the code has moved on, and it has rotted.
    #[error("{name}: what it replaces is in {file} {times} times, and must be there once")]
    Rotten {
        /// Its name.
        name: String,
        /// Where it was looked for.
        file: PathBuf,
        /// How often it is there.
        times: usize,
    },
}

fn read(path: &Path) -> Result<String, CaseError> {
    std::fs::read_to_string(path).map_err(|error| CaseError::Unreadable { path: path.to_path_buf(), error })
}

/// Every sabotage, by name.
///
/// # Errors
/// When one can't be read, or is none.
pub fn cases(root: &Path) -> Result<Vec<Case>, CaseError> {
    let folder = root.join("tests/sabotage/cases");
    let unreadable = |error| CaseError::Unreadable { path: folder.clone(), error };
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let case: Case = toml::from_str(&read(&path)?)
            .map_err(|error| CaseError::Malformed { path: path.clone(), error: Box::new(error) })?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if case.law.is_empty() || case.tests.is_empty() || case.find == case.replace {
            return Err(CaseError::Empty(name));
        }
        cases.push(Case { name, ..case });
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

impl Case {
    /// The file with its one replacement.
    ///
    /// # Errors
    /// When the file can't be read, or what is replaced is not in it exactly once.
    pub fn applied(&self, root: &Path) -> Result<String, CaseError> {
        let text = read(&root.join(&self.file))?;
        match text.matches(&self.find).count() {
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            times => Err(CaseError::Rotten { name: self.name.clone(), file: self.file.clone(), times }),
        }
    }
}
