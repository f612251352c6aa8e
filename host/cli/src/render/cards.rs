//! Questions that wait for an operator's word: who asks, for what, and what exactly would be sent.

use super::lines::{Lines, QUIET, REFUSED, STRONG};
use super::sessions;
use super::time::rfc3339;
use super::visible;
use proofport_core::approval::Approval;
use proofport_core::contract::Effect;
use proofport_gateway::Card;
use proofport_gateway::operator_side::Waiting;
use serde::Serialize;

/// The longest input that is shown whole, in characters.
const LONGEST_INPUT: usize = 2000;

/// The machine form.
#[derive(Serialize)]
pub(crate) struct Cards<'a> {
    approvals: &'a [Waiting],
}

impl<'a> Cards<'a> {
    pub(crate) const fn of(approvals: &'a [Waiting]) -> Self {
        Self { approvals }
    }
}

/// The whole list for a terminal.
pub(crate) fn text(waiting: &[Waiting]) -> String {
    if waiting.is_empty() {
        return "Nothing waits for an approval.\n".to_owned();
    }
    let mut text: Vec<String> = waiting.iter().map(one).collect();
    text.push(
        "`proofport approve ACT` shows one, asks and approves it; `proofport deny ACT` denies it.\n"
            .to_owned(),
    );
    text.join("\n")
}

/// One question.
pub(crate) fn one(waiting: &Waiting) -> String {
    let Waiting { card, session } = waiting;
    let mut lines = Lines::default();
    lines.plain(format_args!(
        "{REFUSED}WAITING{REFUSED:#}  {STRONG}{}{STRONG:#}  {QUIET}{}{QUIET:#}",
        card.operation, card.request_id
    ));
    lines.line("does", visible::text(&card.summary));
    lines.line("effect", effect(card));
    lines.line("target", target(card));
    lines.line("input", shortened(&card.input));
    lines.line("credential", card.credential.as_ref().map_or_else(|| "none".to_owned(), credential));
    lines.line("connector", card.connector);
    match session {
        Some(session) => sessions::asking(&mut lines, session),
        None => lines.line(
            "asked by",
            format_args!("{}, {}", visible::text(&card.principal), visible::text(&card.session)),
        ),
    }
    lines.line("request", card.request);
    lines.line("intent", card.intent);
    lines.line("until", format_args!("{}; {}", rfc3339(card.until), usual(card.needs)));
    lines.done()
}

fn effect(card: &Card) -> String {
    match card.effect {
        Effect::Read => "reads; its author declares that it changes nothing".to_owned(),
        Effect::Write => format!("may change something; a second arrival: {}", card.repeat),
    }
}

fn target(card: &Card) -> String {
    let more = [&card.method, &card.path, &card.program].into_iter().flatten();
    more.fold(visible::text(&card.target), |text, more| format!("{text}  {}", visible::text(more)))
}

/// What a plain yes reaches.
const fn usual(needs: Approval) -> &'static str {
    match needs {
        Approval::Auto | Approval::Each => "a plain yes is for this request alone",
        Approval::Session => "a plain yes is for this operation as long as the session lives",
    }
}

fn credential(used: &proofport_core::event::CredentialUse) -> String {
    match (&used.secret, used.version, used.mode) {
        (Some(secret), Some(version), Some(mode)) => format!("{secret}, version {version}, as {mode}"),
        (Some(secret), _, _) => secret.to_string(),
        (None, _, _) => "none".to_owned(),
    }
}

fn shortened(input: &str) -> String {
    let input = visible::text(input);
    if input.chars().count() <= LONGEST_INPUT {
        return input;
    }
    let kept: String = input.chars().take(LONGEST_INPUT).collect();
    format!("{kept} … (shortened; `proofport approvals --json` has all of it)")
}
