//! What was seen of an exchange, as an operator reads it: every field of it.

use super::inspect::through;
use super::lines::Lines;
use super::time::micros;
use super::timeline::exit;
use super::visible;
use proofport_core::evidence::{Evidence, HttpEvidence};
use proofport_core::proxy_status::ErrorMention;
use proofport_core::ssh::{SshEvidence, StreamSeen};

pub(super) fn seen(lines: &mut Lines, evidence: &Evidence) {
    match evidence {
        Evidence::Http(evidence) => http(lines, evidence),
        Evidence::Ssh(evidence) => ssh(lines, evidence),
    }
}

fn http(lines: &mut Lines, evidence: &HttpEvidence) {
    let HttpEvidence {
        bytes_offered,
        bytes_read,
        request_complete,
        status,
        completion,
        cause,
        from_origin,
        masked,
        withheld,
        body_digest,
        micros: spent,
        version,
        reused,
        hop,
        interim,
        refused_stream,
        http2_error,
        proxy_status,
        not_forwarded,
        // Told where it decides something.
        may_be_repeated: _,
        replayed,
    } = evidence;
    let kept = if *reused { ", on a kept connection" } else { "" };
    lines.line("spoken", format_args!("{version}{}{kept}", through(*hop)));
    let whole = if *request_complete { "the whole request" } else { "not the whole request" };
    lines.line("sent", format_args!("{bytes_offered} bytes, {whole}"));
    let status = status.map_or_else(|| "no status".to_owned(), |status| format!("HTTP {status}"));
    let end = completion.map_or_else(|| "incomplete".to_owned(), |by| format!("complete by {by}"));
    let whose = if status == "no status" || *from_origin { "" } else { ", not from the origin itself" };
    lines.line("received", format_args!("{bytes_read} bytes, {status}, {end}{whose}"));
    lines.some("broke", *cause);
    if *replayed {
        lines.line("replayed", "by its header, it is the answer to the first request with this key");
    }
    lines.some("interim", (*interim > 0).then_some(*interim));
    lines.some("HTTP/2 code", *http2_error);
    if *refused_stream {
        lines.line("refused", "the peer refused the stream before any processing");
    }
    for entry in proxy_status {
        let error = match &entry.error {
            None => "no error",
            Some(ErrorMention::Known(error)) => error.as_str(),
            Some(ErrorMention::Unregistered) => "an error that is not registered",
        };
        lines.line("proxy", format_args!("{}: {error}", visible::text(entry.hop.as_str())));
    }
    lines.some("not forwarded", *not_forwarded);
    if *masked > 0 {
        lines.line("masked", format_args!("an injected secret, {masked} times"));
    }
    if *withheld {
        lines.line("withheld", "the body: it may hold a secret in some other shape");
    }
    lines.some("body", *body_digest);
    lines.line("took", micros(*spent));
}

fn ssh(lines: &mut Lines, evidence: &SshEvidence) {
    let SshEvidence {
        exec_offered,
        command_accepted,
        stdin_bytes,
        stdin_complete,
        exit: ended,
        exits_differ,
        stdout,
        stderr,
        eof,
        closed,
        marker_seen,
        cause,
        disconnect_code,
        masked,
        withheld,
        micros: spent,
        stop_confirmed,
        channels_refused,
    } = evidence;
    lines.line("spoken", "SSH");
    let offered = if *exec_offered { "the command" } else { "no command" };
    let input = if *stdin_complete { "the whole input" } else { "not the whole input" };
    lines.line("sent", format_args!("{offered}, {stdin_bytes} bytes of {input}"));
    lines.line(
        "accepted",
        match command_accepted {
            Some(true) => "yes: the server started it",
            Some(false) => "no: the server refused it, and nothing ran",
            None => "no reply came",
        },
    );
    lines.line("ended", ended.as_ref().map_or_else(|| "nothing told of its end".to_owned(), exit));
    if *exits_differ {
        lines.line("", "the server told of more than one end, and they differ");
    }
    stream(lines, "stdout", stdout);
    stream(lines, "stderr", stderr);
    let end = match (*eof, *closed) {
        (true, true) => "EOF and CLOSE came",
        (true, false) => "EOF came, and no CLOSE",
        (false, true) => "CLOSE came, and no EOF",
        (false, false) => "neither EOF nor CLOSE came",
    };
    lines.line("channel", end);
    if *marker_seen {
        lines.line("marker", "the completion marker was in the output");
    }
    lines.some("broke", *cause);
    lines.some("SSH code", *disconnect_code);
    lines.some(
        "channels",
        (*channels_refused > 0).then(|| format!("{channels_refused} of the server's refused")),
    );
    if *masked > 0 {
        lines.line("masked", format_args!("an injected secret, {masked} times"));
    }
    if *withheld {
        lines.line("withheld", "the output: it may hold a secret in some other shape");
    }
    lines.some(
        "stopped",
        stop_confirmed
            .map(|confirmed| if confirmed { "yes, its end was seen" } else { "asked, its end not seen" }),
    );
    lines.line("took", micros(*spent));
}

fn stream(lines: &mut Lines, name: &str, seen: &StreamSeen) {
    let StreamSeen { bytes, digest, complete } = seen;
    let whole = if *complete { "whole" } else { "not whole" };
    let digest = digest.map(|digest| format!(", {digest}")).unwrap_or_default();
    lines.line(name, format_args!("{bytes} bytes, {whole}{digest}"));
}
