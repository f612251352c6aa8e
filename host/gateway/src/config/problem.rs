//! A mistake in the configuration, told so that it can be repaired at once.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A position in the file, both counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub place: Place,
}

/// One mistake. No part of it repeats a value from the file, since a value may be a secret that was
/// put in the wrong place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// Where in it; none where the file as a whole is concerned.
    #[serde(flatten)]
    pub place: Option<Place>,
    /// The path of the field, its names joined by dots; empty where no field is concerned. A name
    /// that may be a value in the wrong place stands as `?`.
    pub field: String,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub todo: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(Place { line, column }) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        if !self.field.is_empty() {
            write!(f, ": {}", self.field)?;
        }
        write!(f, ": {} — {}", self.what, self.todo)
    }
}

/// A key as it may be shown: itself if it is a word that a person would choose as a key, else `?`.
/// Generated tokens have capitals or more than a digit or two.
pub(crate) fn shown(key: &str) -> &str {
    let letters = key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
    let digits = key.bytes().filter(u8::is_ascii_digit).count();
    if letters && (1..=32).contains(&key.len()) && digits <= 2 { key } else { "?" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_may_be_a_token_is_not_shown() {
        for word in ["origin", "max_retries", "level-2", "x"] {
            assert_eq!(shown(word), word);
        }
        for token in
            ["sk4live39hqlyjwdarjtt1zdp", "9f86d081884c7d65", "Sk_Live", "a b", "", "é", &"a".repeat(33)]
        {
            assert_eq!(shown(token), "?", "{token}");
        }
    }
}
