//! How a command reaches a remote shell unchanged. SSH carries one text, which the account's login shell
//! reads; an argument vector is therefore quoted here, for a POSIX shell (POSIX.1-2017 XCU section
//! 2.2.2). Shells of other families (csh, fish) read the same text otherwise, and are not spoken to.

use crate::exchange::{SshCommand, SshRequest};
use std::collections::BTreeSet;

/// The longest command, in bytes: what fits with its request into the packet that every server must
/// take (RFC 4253 section 6.1), and into one argument of the shell. More belongs on standard input.
pub const LONGEST_COMMAND: usize = 32_000;

/// The most environment variables.
const MOST_VARIABLES: usize = 64;

/// The longest name or value of a variable, in bytes.
const LONGEST_VARIABLE: usize = 4096;

/// The text that the remote shell reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine(String);

impl CommandLine {
    /// Quotes an argument vector; a raw text is taken as it is.
    ///
    /// Every argument is quoted, also the first and those that would do without: a bare first word could
    /// be one of the shell's reserved words, an alias or an assignment.
    ///
    /// # Errors
    /// When the command is empty, too long or has a NUL in it, which no argument can carry.
    pub fn new(command: &SshCommand) -> Result<Self, Unspeakable> {
        let text = match command {
            SshCommand::Argv(arguments) => match arguments.first() {
                None => return Err(Unspeakable::Empty),
                Some(program) if program.is_empty() => return Err(Unspeakable::Empty),
                Some(_) => arguments.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
            },
            SshCommand::Raw(text) => text.clone(),
        };
        if text.trim().is_empty() {
            return Err(Unspeakable::Empty);
        }
        if text.contains('\0') {
            return Err(Unspeakable::Nul);
        }
        if text.len() > LONGEST_COMMAND {
            return Err(Unspeakable::TooLong);
        }
        Ok(Self(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One argument. Within single quotes nothing means anything but the quote itself.
fn quoted(argument: &str) -> String {
    format!("'{}'", argument.replace('\'', r"'\''"))
}

/// Environment variables, each for a request of its own (RFC 4254 section 6.4). The server may refuse
/// one, and then nothing has run yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(Vec<(String, String)>);

impl Environment {
    /// Checks the variables of a request.
    ///
    /// # Errors
    /// When a name is no POSIX name, appears twice or may not be set, a value has a NUL, or there is too
    /// much of it.
    pub fn of(request: &SshRequest) -> Result<Self, Unspeakable> {
        let mut names = BTreeSet::new();
        for (name, value) in &request.environment {
            let mut bytes = name.bytes();
            let begins = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
            let goes_on = bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if !begins || !goes_on || !names.insert(name) {
                return Err(Unspeakable::Variable);
            }
            if value.contains('\0') {
                return Err(Unspeakable::Nul);
            }
            if name.len() > LONGEST_VARIABLE || value.len() > LONGEST_VARIABLE {
                return Err(Unspeakable::TooLong);
            }
        }
        if names.len() > MOST_VARIABLES {
            return Err(Unspeakable::TooLong);
        }
        Ok(Self(request.environment.clone()))
    }

    /// Names and values, in the order in which they are set.
    #[must_use]
    pub fn variables(&self) -> &[(String, String)] {
        &self.0
    }
}

/// Why a command can't be spelled for a remote shell. Nothing of it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unspeakable {
    /// There is no command.
    #[error("the command is empty")]
    Empty,
    /// A NUL.
    #[error("the command or an environment variable has a NUL in it")]
    Nul,
    /// Too long.
    #[error("the command or the environment is too long; longer input belongs on standard input")]
    TooLong,
    /// A variable's name.
    #[error("an environment variable's name is no POSIX name, or is there twice")]
    Variable,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    fn argv(words: &[&str]) -> SshCommand {
        SshCommand::Argv(words.iter().map(|word| (*word).to_owned()).collect())
    }

    #[test]
    fn arguments_are_quoted_and_nothing_else_is() {
        let check = |command: SshCommand, expected: Result<&str, Unspeakable>| {
            let got = CommandLine::new(&command);
            assert_eq!(got.as_ref().map(CommandLine::as_str).map_err(|e| *e), expected, "{command:?}");
        };
        check(argv(&["uptime"]), Ok("'uptime'"));
        check(
            argv(&["echo", "a b", "", "it's", "$(id)", "`id`"]),
            Ok(r"'echo' 'a b' '' 'it'\''s' '$(id)' '`id`'"),
        );
        check(argv(&["A=b", "x"]), Ok("'A=b' 'x'"));
        check(SshCommand::Raw("ls | wc -l".to_owned()), Ok("ls | wc -l"));
        check(argv(&[]), Err(Unspeakable::Empty));
        check(argv(&["", "x"]), Err(Unspeakable::Empty));
        check(SshCommand::Raw("  \n".to_owned()), Err(Unspeakable::Empty));
        check(argv(&["echo", "a\0b"]), Err(Unspeakable::Nul));
        check(SshCommand::Raw("a\0".to_owned()), Err(Unspeakable::Nul));
        let long = "x".repeat(LONGEST_COMMAND);
        check(SshCommand::Raw(long.clone()), Ok(&long));
        check(argv(&[&long]), Err(Unspeakable::TooLong));
    }

    #[test]
    fn variables_have_posix_names() {
        let check = |variables: &[(&str, &str)], expected: Option<Unspeakable>| {
            let environment = variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            let request = SshRequest {
                host: None,
                command: argv(&["true"]),
                environment,
                stdin: None,
                credential: None,
            };
            assert_eq!(Environment::of(&request).err(), expected, "{variables:?}");
        };
        check(&[], None);
        check(&[("LANG", "C"), ("_x9", "any 'thing'\n")], None);
        check(&[("", "x")], Some(Unspeakable::Variable));
        check(&[("9A", "x")], Some(Unspeakable::Variable));
        check(&[("A-B", "x")], Some(Unspeakable::Variable));
        check(&[("A=B", "x")], Some(Unspeakable::Variable));
        check(&[("A", "x"), ("A", "y")], Some(Unspeakable::Variable));
        check(&[("A", "x\0")], Some(Unspeakable::Nul));
        check(&[("A", &"x".repeat(4097))], Some(Unspeakable::TooLong));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// What a real shell makes of the text is the vector again, whatever is in it.
        #[test]
        fn a_shell_reads_back_what_was_meant(words in prop::collection::vec("[^\0]{0,40}|[-'\"\\\\$`;&|<>(){}*?~!#\n\t ]{0,12}", 0..6)) {
            let mut vector = vec!["printf".to_owned(), "%s\\0".to_owned(), "end".to_owned()];
            vector.extend(words);
            let line = CommandLine::new(&SshCommand::Argv(vector.clone())).unwrap();
            let out = Command::new("/bin/sh").arg("-c").arg(line.as_str()).output().unwrap();
            let expected: Vec<u8> = vector[2..].iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
            prop_assert_eq!(out.stdout, expected);
        }
    }
}
