//! Agents' sessions: who each is, and what can be done about those that wait.

use super::lines::{ALARM, GOOD, Lines, QUIET, REFUSED};
use super::time::rfc3339;
use super::visible;
use anstyle::Style;
use proofport_core::session::{
    DecidedBy, ParentFacts, ProcessFacts, SessionId, SessionStanding, TokenFacts, Who,
};
use proofport_gateway::session::SessionView;
use serde::Serialize;

/// The machine form.
#[derive(Serialize)]
pub(crate) struct Sessions<'a> {
    sessions: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: SessionId,
    standing: SessionStanding,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<DecidedBy>,
    since: String,
    interpreter: bool,
    principal: &'a str,
    #[serde(flatten)]
    who: &'a Who,
}

impl<'a> Sessions<'a> {
    pub(crate) fn of(sessions: &'a [SessionView]) -> Self {
        let entry = |view: &'a SessionView| {
            let SessionView { id, standing, by, since, interpreter, principal, who } = view;
            let since = rfc3339(*since);
            Entry { id: *id, standing: *standing, by: *by, since, interpreter: *interpreter, principal, who }
        };
        Self { sessions: sessions.iter().map(entry).collect() }
    }
}

/// The whole list for a terminal.
pub(crate) fn text(sessions: &[SessionView]) -> String {
    if sessions.is_empty() {
        return "No agent has come yet. One over HTTP needs a token: `proofport session token NAME`.\n"
            .to_owned();
    }
    let mut lines = Lines::default();
    for session in sessions {
        write(&mut lines, session);
    }
    lines.done()
}

/// Who asks, within another text.
pub(crate) fn asking(lines: &mut Lines, session: &SessionView) {
    let (_, word) = word(session.standing);
    match &session.who {
        Who::Token(TokenFacts { agent, token: _ }) => {
            lines.line("asked by", format_args!("{agent}, by its token; {} {word}", session.id));
        }
        Who::Process(ProcessFacts { key, path, parent }) => {
            lines.line(
                "asked by",
                format_args!(
                    "process {} of user {}, {}; {} {word}",
                    key.pid,
                    key.uid,
                    visible::text(path),
                    session.id
                ),
            );
            lines.line("program", key.executable);
            lines.some("started by", parent.as_ref().map(started_by));
        }
    }
}

/// One session after a decision.
pub(crate) fn one(session: &SessionView) -> String {
    let mut lines = Lines::default();
    write(&mut lines, session);
    lines.done()
}

fn write(lines: &mut Lines, session: &SessionView) {
    let SessionView { id, standing, by, since, interpreter, principal: _, who } = session;
    let (style, word) = word(*standing);
    let by = by.map(|by| format!(", {}", decided(by))).unwrap_or_default();
    lines.plain(format_args!("{id}  {style}{word}{style:#}{QUIET}  since {}{by}{QUIET:#}", rfc3339(*since)));
    match who {
        Who::Token(TokenFacts { agent, token: _ }) => {
            lines.line("agent", format_args!("{agent}, by its token"))
        }
        Who::Process(ProcessFacts { key, path, parent }) => {
            lines.line("process", format_args!("{} of user {}, {}", key.pid, key.uid, visible::text(path)));
            lines.line("program", key.executable);
            if *interpreter {
                lines.line("", "it runs whatever it is told to, so that this digest says little");
            }
            lines.some("started by", parent.as_ref().map(started_by));
        }
    }
    match standing {
        SessionStanding::Waiting => lines.line(
            "next",
            format_args!(
                "`proofport session allow {id}` lets it call; `proofport session end {id}` refuses it"
            ),
        ),
        SessionStanding::Allowed | SessionStanding::Ended => {}
    }
}

const fn word(standing: SessionStanding) -> (Style, &'static str) {
    match standing {
        SessionStanding::Waiting => (ALARM, "WAITING"),
        SessionStanding::Allowed => (GOOD, "ALLOWED"),
        SessionStanding::Ended => (REFUSED, "ENDED"),
    }
}

const fn decided(by: DecidedBy) -> &'static str {
    match by {
        DecidedBy::Operator => "by an operator",
        DecidedBy::Policy => "by proofport.toml",
        DecidedBy::Host => "because the process became another program",
    }
}

fn started_by(parent: &ParentFacts) -> String {
    let ParentFacts { pid, path, executable } = parent;
    let digest = executable.map(|digest| format!(", {digest}")).unwrap_or_default();
    let path =
        if path.is_empty() { "a program that can't be looked at".to_owned() } else { visible::text(path) };
    format!("{pid}, {path}{digest}")
}
