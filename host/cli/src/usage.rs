//! Mistakes on the command line, told without repeating what was written: a value in the wrong place
//! may be a secret.

use crate::exit;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;
use std::fmt::Write as _;
use std::io::Write as _;

/// Answers what clap could not turn into a command: help and version on standard output, mistakes on
/// standard error.
pub(crate) fn answer(error: &clap::Error) -> u8 {
    let kind = error.kind();
    if kind == ErrorKind::DisplayHelp || kind == ErrorKind::DisplayVersion {
        let written = write!(anstream::stdout(), "{}", error.render().ansi());
        return if written.is_ok() { exit::OK } else { exit::FAILED };
    }
    let text = if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.render().ansi().to_string()
    } else {
        text(error)
    };
    // There is nobody left to tell if this fails.
    let _ = write!(anstream::stderr(), "{text}");
    exit::USAGE
}

/// The mistake in clap's words, without the values that were given.
fn text(error: &clap::Error) -> String {
    let mut text = format!("error: {}", error.kind().as_str().unwrap_or("this can't be understood"));
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(arg)) => text.extend(named(arg).map(|name| format!(": {name}"))),
        Some(ContextValue::Strings(args)) => {
            let names: Vec<&str> = args.iter().filter_map(|arg| named(arg)).collect();
            if !names.is_empty() {
                text.push_str(": ");
                text.push_str(&names.join(", "));
            }
        }
        Some(_) | None => {}
    }
    if error.kind() == ErrorKind::ValueValidation
        && let Some(source) = error.source()
    {
        // Our own parsers, which never repeat what they refuse.
        let _ = write!(text, ": {source}");
    }
    for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue] {
        let suggested = match error.get(kind) {
            Some(ContextValue::String(one)) => Some(one),
            Some(ContextValue::Strings(several)) => several.first(),
            Some(_) | None => None,
        };
        if let Some(suggested) = suggested {
            let _ = write!(text, "; did you mean `{suggested}`?");
        }
    }
    text.push('\n');
    if let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) {
        let _ = write!(text, "\n{usage}\n");
    }
    text.push_str("\nFor more information, try `--help`.\n");
    text
}

/// An option or a placeholder as the program itself spells it; none if it is something that was
/// given. `--option=value` loses its value.
fn named(arg: &str) -> Option<&str> {
    let name = arg.split('=').next().unwrap_or_default();
    (name.starts_with("--") || name.starts_with('<')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser as _;

    #[test]
    fn no_value_is_repeated() {
        let check = |args: &[&str], expected: &str| {
            let args = ["proofport"].iter().chain(args);
            let text = text(&Cli::try_parse_from(args).unwrap_err());
            assert!(text.contains(expected) && !text.contains("hunter2"), "{text}");
        };
        let set = ["secret", "set", "key", "--for", "https://a.example", "--mode", "http_bearer"];
        check(&[&set[..], &["hunter2hunter2"]].concat(), "unexpected argument");
        check(&[&set[..], &["--value", "hunter2"]].concat(), "--value");
        check(&[&set[..], &["--value=hunter2"]].concat(), "--value");
        check(&[&set[..], &["-phunter2"]].concat(), "unexpected argument");
        check(&["secret", "hunter2"], "unrecognized subcommand");
        check(&["secret", "set", "Hunter2!hunter2"], "not a name");
        check(&["secret", "set", "key", "--for", "https://a:hunter2@b.example"], "not a destination");
        check(&["secret", "set", "key", "--mode", "hunter2"], "http_bearer");
        check(&["call", "hunter2", "--input", "{}"], "not a name");
        check(&["result", "hunter2"], "act_");
        check(&["--passphrase=hunter2", "init"], "did you mean `--passphrase-file`?");
        check(&["secret", "set", "key"], "--for <ORIGIN>");
        check(&["inti"], "did you mean `init`?");
    }
}
