//! The one printer. Answers go to standard output, whole and flushed; remarks to standard error.

use crate::render::published::Published;
use crate::render::{envelope, visible};
use serde::Serialize;
use std::io::{self, Write as _};

/// How answers are printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// In JSON, one line an answer.
    pub(crate) json: bool,
}

impl Output {
    /// Prints an answer: its JSON form, or the text for people, whose colours are left out where
    /// nobody sees them.
    ///
    /// # Errors
    /// When it could not be written whole.
    pub(crate) fn answer(self, value: &impl Serialize, text: impl FnOnce() -> String) -> io::Result<()> {
        if self.json {
            let mut line = visible::json(serde_json::to_string(value)?);
            line.push('\n');
            let mut out = io::stdout().lock();
            out.write_all(line.as_bytes())?;
            out.flush()
        } else {
            let mut out = anstream::stdout().lock();
            out.write_all(text().as_bytes())?;
            out.flush()
        }
    }

    /// Prints an envelope as it was published, or the text for people.
    ///
    /// # Errors
    /// When it could not be written whole.
    pub(crate) fn published(self, envelope: &Published) -> io::Result<()> {
        if self.json {
            let mut line = visible::json(envelope.json().to_owned());
            line.push('\n');
            let mut out = io::stdout().lock();
            out.write_all(line.as_bytes())?;
            out.flush()
        } else {
            let mut out = anstream::stdout().lock();
            out.write_all(envelope::text(envelope).as_bytes())?;
            out.flush()
        }
    }

    /// A remark for the person at the terminal. It is no part of the answer, so losing it fails
    /// nothing.
    pub(crate) fn remark(self, text: &str) {
        let _ = writeln!(anstream::stderr(), "proofport: {text}");
    }
}
