//! The protected record as an operator reads it.

use super::evidence::seen;
use super::lines::{ALARM, Lines};
use super::time::{micros, rfc3339};
use super::timeline::{decided, decision, peer, short};
use super::unknowns::unknown_because;
use super::visible;
use proofport_core::batch::{ChildClaim, claims};
use proofport_core::boundary::Boundary;
use proofport_core::code::Code;
use proofport_core::content::ContentFacts;
use proofport_core::contract::Outcome;
use proofport_core::diagnostic::{Diagnostic, Protected};
use proofport_core::event::{AttemptEnd, CredentialUse, QueryFacts, ResultFacts};
use proofport_core::evidence::{Evidence, Hop, SetupAttempt};
use proofport_core::manifest::Contract;
use proofport_core::project::project;
use proofport_core::row::Row;
use proofport_core::ssh::SshRow;
use proofport_core::state::{Attempt, State};
use proofport_core::time::UnixMillis;

/// The whole record for a terminal.
pub(crate) fn text(record: &Diagnostic, now: UnixMillis) -> String {
    let state = record.state();
    let mut lines = Lines::default();
    claim(&mut lines, state, now);
    children(&mut lines, state, now);
    asked(&mut lines, state);
    for linked in record.continuations() {
        lines.line("sent again as", linked);
    }
    binding(&mut lines, state);
    if let Some(credential) = &state.credential {
        lines.heading("Credential");
        lines.plain(format_args!("  {}", used(credential)));
    }
    approval(&mut lines, state);
    if !state.setup.is_empty() {
        lines.heading("Connections");
        state.setup.iter().for_each(|attempt| setup(&mut lines, attempt));
    }
    for query in &state.queries {
        queried(&mut lines, query);
    }
    let contract = state.binding.as_ref().map(|binding| &binding.contract);
    for attempt in &state.attempts {
        attempted(&mut lines, attempt, contract);
    }
    for end in &state.unsent {
        lines.heading(&format!("Attempt {}, never sent", end.generation));
        ended(&mut lines, end, contract);
    }
    if let Some(protected) = record.protected() {
        behind(&mut lines, protected);
    }
    lines.done()
}

fn claim(lines: &mut Lines, state: &State, now: UnixMillis) {
    let claim = project(state, now);
    lines.heading("Claim");
    let code = claim.code.map_or_else(|| "OK".to_owned(), |code| code.to_string());
    lines.line("outcome", format_args!("{} ({code})", claim.outcome));
    lines.line("phase", claim.phase);
    lines.line("retry", format_args!("{}, owner {}", claim.retry, claim.retry_owner));
    lines.some("known by", claim.source);
    lines.line("standing", state.standing);
    let crossed: Vec<&str> = state.boundaries().into_iter().map(Boundary::as_str).collect();
    lines.some("reached", (!crossed.is_empty()).then(|| crossed.join(", ")));
    if let Some(stop) = &state.stopped {
        lines.line("stopped by", format_args!("{} in {}: {}", stop.code, stop.phase, decision(&stop.detail)));
    }
    if let Some(settled) = &state.settled {
        lines.some("attested", settled.attested_reason.as_deref().map(visible::text));
        for said in &state.attached {
            lines.line("evidence", late(*said, settled.outcome));
        }
    }
    lines.some("result", state.result.as_ref().map(stored));
    lines.some("page", claim.code.map(Code::page));
}

fn children(lines: &mut Lines, state: &State, now: UnixMillis) {
    if !state.is_batch() {
        return;
    }
    lines.heading("Children");
    for claim in claims(state, now) {
        let ChildClaim { index, id, outcome, code, retry, action: _, output } = claim;
        let code = code.map_or_else(|| "OK".to_owned(), |code| code.to_string());
        let id = visible::text(id.as_str());
        let output = output.map(|digest| format!(", output {}", short(&digest))).unwrap_or_default();
        lines.line(&format!("{index}"), format_args!("{id}: {outcome} ({code}), retry {retry}{output}"));
        if outcome == Outcome::Unknown {
            lines.line("", unknown_because(state.why_unknown(index)));
        }
        let told = state.children.of(index).rev().find_map(|told| told.attested_reason.as_deref());
        lines.some("attested", told.map(visible::text));
        let said = state.attached_children.iter().filter(|(child, _)| *child == index);
        for (_, said) in said {
            lines.line("evidence", late(*said, outcome));
        }
    }
}

/// What came after the settlement. It changes nothing, and somebody has to know.
fn late(said: Outcome, settled: Outcome) -> String {
    if said == settled {
        format!("came later: {said}, which agrees")
    } else {
        format!("{ALARM}came later: {said}, which CONTRADICTS the settled outcome{ALARM:#}")
    }
}

fn asked(lines: &mut Lines, state: &State) {
    let accepted = &state.accepted;
    lines.heading("Asked");
    lines.line("request", accepted.request_id);
    lines.line("operation", &accepted.operation);
    lines.line("by", visible::text(&accepted.principal));
    let session = Some(accepted.session.as_str()).filter(|session| !session.is_empty());
    lines.some("session", session.map(visible::text));
    lines.line("at", rfc3339(accepted.at));
    lines.line("input", accepted.input);
    lines.some("call key", accepted.call_key.map(|digest| format!("given, {digest}")));
    if let Some(continues) = &accepted.continues {
        lines.line("children of", continues.parent);
        let count = continues.unknown.len();
        lines.some("", (count > 0).then(|| format!("{count} of them unknown there")));
    }
}

fn approval(lines: &mut Lines, state: &State) {
    if state.question.is_none() && state.word.is_none() {
        return;
    }
    lines.heading("Approval");
    lines.line("needs", state.approval_terms().needs);
    lines.some(
        "asked",
        state
            .question
            .map(|question| format!("request {}, until {}", question.request, rfc3339(question.until))),
    );
    lines.some("said", state.word.as_ref().map(decided));
}

fn binding(lines: &mut Lines, state: &State) {
    let Some(binding) = &state.binding else { return };
    let contract = &binding.contract;
    lines.heading("Bound to");
    lines.line("connector", binding.connector);
    lines.line("config", binding.config);
    let origins: Vec<String> = binding.origins.iter().map(ToString::to_string).collect();
    lines.some("origins", (!origins.is_empty()).then(|| origins.join(", ")));
    let hosts: Vec<String> = binding.ssh_hosts.iter().map(ToString::to_string).collect();
    lines.some("SSH hosts", (!hosts.is_empty()).then(|| hosts.join(", ")));
    lines.line("reference", binding.reference.as_str());
    let reconcile = if contract.reconcile.is_some() { "can be reconciled" } else { "can't be reconciled" };
    lines.line(
        "contract",
        format_args!("{}, repeat {}, {reconcile}", contract.effect, contract.repeat.kind()),
    );
    lines.line("intent", binding.intent);
}

/// A credential without any part of its value.
pub(super) fn used(credential: &CredentialUse) -> String {
    let Some(secret) = &credential.secret else {
        return "none: the request carries no credential".to_owned();
    };
    let version = credential.version.map(|version| format!(" version {version}")).unwrap_or_default();
    let mode = credential.mode.map(|mode| format!(" as {mode}")).unwrap_or_default();
    format!("{secret}{version}{mode}")
}

fn setup(lines: &mut Lines, attempt: &SetupAttempt) {
    let SetupAttempt { n, stage, cause, address, timings, reused, hop, proxy_status } = attempt;
    let usable = if *reused { "usable, kept from before" } else { "usable" };
    let end = cause.map_or_else(|| usable.to_owned(), |cause| format!("failed at {stage}: {cause}"));
    let address = address.as_deref().map(visible::text).unwrap_or_default();
    let status = proxy_status.map(|status| format!(" (the proxy said {status})")).unwrap_or_default();
    lines.line(&format!("{n}"), format_args!("{end}{status} {address}{}", through(*hop)));
    let stages: Vec<String> =
        timings.iter().map(|timing| format!("{} {}", timing.stage, micros(timing.micros))).collect();
    lines.some("", (!stages.is_empty()).then(|| stages.join(", ")));
}

/// The row of the table that decided.
fn row(evidence: &Evidence, contract: &Contract) -> &'static str {
    match evidence {
        Evidence::Http(http) => Row::of(http, contract).as_str(),
        Evidence::Ssh(ssh) => SshRow::of(ssh).as_str(),
    }
}

/// What stands between this host and the origin.
pub(super) fn through(hop: Hop) -> &'static str {
    match hop {
        Hop::Direct => "",
        Hop::Tunnel => " through a tunnel",
        Hop::ForwardProxy => " through a forward proxy",
    }
}

fn queried(lines: &mut Lines, query: &QueryFacts) {
    let purpose = match query.purpose {
        proofport_core::event::QueryPurpose::Read => "Read",
        proofport_core::event::QueryPurpose::Prepare => "Query before the effect",
        proofport_core::event::QueryPurpose::Reconcile => "Query for the effect's fate",
    };
    lines.heading(purpose);
    lines.line("request", query.request);
    lines.line("peer", peer(&query.peer));
    seen(lines, &query.evidence);
}

fn attempted(lines: &mut Lines, attempt: &Attempt, contract: Option<&Contract>) {
    let dispatch = &attempt.dispatch;
    lines.heading(&format!("Attempt {}", dispatch.generation));
    lines.line("dispatched", rfc3339(dispatch.at));
    lines.line("request", dispatch.request);
    lines.line("peer", peer(&dispatch.peer));
    if let Some(key) = &dispatch.key {
        let (name, scope) = (visible::text(key.key.as_str()), visible::text(&key.scope));
        lines.line("key", format_args!("{name}, until {}, scope: {scope}", rfc3339(key.expires)));
    }
    match &attempt.end {
        Some(end) => ended(lines, end, contract),
        None => lines.line("end", "none on record"),
    }
}

fn ended(lines: &mut Lines, end: &AttemptEnd, contract: Option<&Contract>) {
    let code = end.code.map(|code| format!(" ({code})")).unwrap_or_default();
    lines.line("outcome", format_args!("{}{code}, {}", end.outcome, end.source));
    if end.above_ceiling {
        lines.line("held back", "the connector claimed more than the transport proved");
    }
    if end.unmatched_children > 0 {
        let count = end.unmatched_children;
        lines.line("not sent", format_args!("the connector spoke of {count} children that were not"));
    }
    lines.some("connector", end.connector_fault.as_deref().map(visible::text));
    lines.some("followed to", end.redirected.as_ref());
    if let Some(contract) = contract {
        let row = row(&end.evidence, contract);
        lines.line("seen as", row);
        if row == Row::PerhapsRepeated.as_str() {
            lines.line(
                "",
                "HTTP lets an intermediary send this on twice; it may be the second copy's refusal",
            );
        }
    }
    seen(lines, &end.evidence);
}

pub(super) fn stored(result: &ResultFacts) -> String {
    match result {
        ResultFacts::Nothing => "nothing beyond the envelope".to_owned(),
        ResultFacts::Output { digest, bytes, content } => {
            let beside = content.as_ref().map(|content| {
                let ContentFacts { bytes, digest, chunks, chunk_bytes: _ } = content;
                format!("; beside it a content of {bytes} bytes in {chunks} chunks, {}", short(digest))
            });
            format!("{bytes} bytes, {}{}", short(digest), beside.unwrap_or_default())
        }
        ResultFacts::Withheld => "withheld: it may hold a secret".to_owned(),
        ResultFacts::OverLimit => "over the limit".to_owned(),
    }
}

fn behind(lines: &mut Lines, protected: &Protected) {
    let Protected {
        connector,
        destination,
        method,
        path,
        command,
        summary,
        remote_request_id,
        cause_chain,
        connector_log,
        connector_fuel,
        connector_micros,
        connector_steps,
    } = protected;
    lines.heading("Protected");
    lines.line("connector", visible::text(connector));
    let request: Vec<String> =
        [method, destination, path].into_iter().flatten().map(|part| visible::text(part)).collect();
    lines.some("request", (!request.is_empty()).then(|| request.join(" ")));
    lines.some("program", command.as_deref().map(visible::text));
    lines.some("in words", summary.as_deref().map(visible::text));
    lines.some("remote id", remote_request_id.as_deref().map(visible::text));
    for (n, cause) in cause_chain.iter().enumerate() {
        lines.line(if n == 0 { "cause" } else { "because" }, visible::text(cause));
    }
    let spent = micros(*connector_micros);
    lines.line("sandbox", format_args!("{connector_steps} steps, {connector_fuel} fuel, {spent}"));
    for line in connector_log.lines() {
        lines.line("log", visible::text(line));
    }
}
