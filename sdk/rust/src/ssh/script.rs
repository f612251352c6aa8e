//! Fixed scripts for the remote's `sh`.

use crate::{QueryTemplate, SshCommand, SshRequest};

/// The argument of a query template that stands for any one argument.
const ANY: &str = "{}";

/// A fixed text that the remote's `sh` runs. Nothing is installed: it travels with each command.
///
/// Linux takes no argument of 128 KiB or more, and what the host sends is one argument of the login
/// shell: text and parameters together have to stay below that. What is large goes in by standard
/// input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its name: `$0`, which the shell shows in its messages.
    name: &'static str,
    text: &'static str,
}

impl Script {
    /// A script with this name and text.
    #[must_use]
    pub const fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, text }
    }

    /// The command that runs it with this first parameter: what it should do. Whatever follows is
    /// added by [`arg`](SshRequest::arg).
    #[must_use]
    pub fn verb(self, verb: &'static str) -> SshRequest {
        SshRequest::program("sh").args(["-c", self.text, self.name, verb])
    }

    /// The query template for [`verb`](Self::verb) with these parameters behind it; [`any`](Self::any)
    /// in a place stands for any one argument.
    #[must_use]
    pub fn query_template(self, verb: &'static str, parameters: &[&'static str]) -> QueryTemplate {
        let SshCommand::Argv(argv) = self.verb(verb).args(parameters.iter().copied()).command else {
            // A script's command is an argument vector by construction.
            return QueryTemplate::Ssh(Vec::new());
        };
        QueryTemplate::Ssh(argv)
    }

    /// What stands for any one argument in a query template.
    #[must_use]
    pub const fn any() -> &'static str {
        ANY
    }
}
