//! Labelled lines.

use anstyle::{AnsiColor, Style};
use std::fmt::{Display, Write as _};

/// For headings and status words.
pub(crate) const STRONG: Style = Style::new().bold();
/// For labels and what can be skipped.
pub(crate) const QUIET: Style = Style::new().dimmed();
/// Everything is well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// It did not happen.
pub(crate) const REFUSED: Style = AnsiColor::Yellow.on_default().bold();
/// Somebody has to look.
pub(crate) const ALARM: Style = AnsiColor::Red.on_default().bold();

/// How wide labels are.
const LABEL: usize = 11;

/// A text that is written line by line.
#[derive(Default)]
pub(crate) struct Lines(String);

impl Lines {
    /// A line as it is.
    pub(crate) fn plain(&mut self, text: impl Display) {
        let _ = writeln!(self.0, "{text}");
    }

    /// A heading, with an empty line before it.
    pub(crate) fn heading(&mut self, text: &str) {
        let gap = if self.0.is_empty() { "" } else { "\n" };
        let _ = writeln!(self.0, "{gap}{STRONG}{text}{STRONG:#}");
    }

    /// A labelled line.
    pub(crate) fn line(&mut self, label: &str, text: impl Display) {
        let _ = writeln!(self.0, "  {QUIET}{label:LABEL$}{QUIET:#} {text}");
    }

    /// A labelled line if there is something to say.
    pub(crate) fn some(&mut self, label: &str, text: Option<impl Display>) {
        if let Some(text) = text {
            self.line(label, text);
        }
    }

    /// The whole.
    pub(crate) fn done(self) -> String {
        self.0
    }
}
