//! Building SSH requests.

use crate::request::FromQuery;
use crate::types::Send;
use crate::{Manifest, Operation, QueryTemplate, Request, Role, SshCommand, SshRequest, Step, StopContract};

impl SshRequest {
    /// A command without arguments. The program comes from the connector's text, never from an input.
    #[must_use]
    pub fn program(program: &'static str) -> Self {
        Self::argv(vec![program.to_owned()])
    }

    /// A command of this argument vector, whose first is the program: for connectors whose programs
    /// are the admin's, from the connection's configuration.
    #[must_use]
    pub const fn argv(argv: Vec<String>) -> Self {
        Self {
            host: None,
            command: SshCommand::Argv(argv),
            environment: Vec::new(),
            stdin: None,
            credential: None,
        }
    }

    /// A text for the remote's shell, as it is. Nothing that varies belongs into it: what a caller gives
    /// is an argument of a [`Script`](crate::ssh::Script). The operation has to declare
    /// [`raw_commands`](Operation::raw_commands).
    #[must_use]
    pub fn raw(text: &'static str) -> Self {
        Self { command: SshCommand::Raw(text.to_owned()), ..Self::argv(Vec::new()) }
    }

    /// Adds one argument, which arrives as it is. A NUL can't be in one: the host refuses it.
    ///
    /// On a raw command it changes nothing.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        match &mut self.command {
            SshCommand::Argv(argv) => argv.push(argument.into()),
            SshCommand::Raw(_) => {}
        }
        self
    }

    /// Adds arguments, each as by [`arg`](Self::arg).
    #[must_use]
    pub fn args<A: Into<String>>(self, arguments: impl IntoIterator<Item = A>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// Adds an environment variable. Servers take few names (`AcceptEnv`).
    #[must_use]
    pub fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// What the command reads from its standard input.
    #[must_use]
    pub fn stdin(mut self, bytes: Vec<u8>) -> Self {
        self.stdin = Some(bytes);
        self
    }

    /// Asks the host to log in with the credential in this slot.
    #[must_use]
    pub fn credential(mut self, slot: &'static str) -> Self {
        self.credential = Some(slot.to_owned());
        self
    }

    /// Runs it on one of the connection's hosts other than the first, spelled as there.
    #[must_use]
    pub fn host(mut self, host: &str) -> Self {
        self.host = Some(host.to_owned());
        self
    }

    /// Sends it as a query, which changes nothing and matches a template that the manifest declares.
    /// `summary` is one sentence for people.
    #[must_use]
    pub fn as_query<S: FromQuery>(self, summary: impl Into<String>) -> S {
        S::from_query(Send { role: Role::Query, request: Request::Ssh(self), summary: summary.into() })
    }

    /// Sends it as the call's one effect. `summary` says, in one sentence, what it does, for the
    /// person who approves it.
    #[must_use]
    pub fn as_effect(self, summary: impl Into<String>) -> Step {
        Step::Send(Send { role: Role::Effect, request: Request::Ssh(self), summary: summary.into() })
    }
}

impl Manifest {
    /// Adds a command that changes nothing. The admin reviews each. See
    /// [`Script::query_template`](crate::ssh::Script::query_template).
    #[must_use]
    pub fn ssh_query(mut self, template: QueryTemplate) -> Self {
        self.query_templates.push(template);
        self
    }
}

impl Operation {
    /// A line that contains this text, followed at once by the call's reference, proves that the
    /// command finished, even where no exit status came.
    #[must_use]
    pub fn completion_marker(mut self, text: &str) -> Self {
        self.completion_marker = Some(text.to_owned());
        self
    }

    /// When its caller cancels, the command is sent SIGTERM, which reaches its process group, and its end
    /// is waited for this long, 1 to 60 seconds, before the channel is closed. Without it, a
    /// cancellation only closes the channel, and what runs runs on.
    #[must_use]
    pub const fn stop(mut self, grace_seconds: u32) -> Self {
        self.stop = Some(StopContract { grace_seconds });
        self
    }

    /// It may send a raw command text. The admin reviews that, and the connection has to allow it, too.
    #[must_use]
    pub const fn raw_commands(mut self) -> Self {
        self.raw_commands = true;
        self
    }
}
