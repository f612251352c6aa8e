//! Running a command at most once under a reference, and asking what became of it.
//!
//! The remote needs `sh`, coreutils and a home (or another folder for state): nothing is installed.
//! The script itself, with what each answer means, is `run_once.sh` beside this file.
//!
//! A command under it outlives its connection, has a session of its own (where `setsid` is there) and
//! does not hear SIGHUP. It has ended when its process has and nobody holds its standard output and
//! error open any more.

use crate::ssh::Script;
use crate::{Call, Fault, Manifest, QueryTemplate, SshExit, SshRequest, SshResponse};

/// The script.
pub const SCRIPT: Script = Script::new("proofport", include_str!("run_once.sh"));

/// The completion marker that an operation under this script declares. It comes on standard error.
pub const MARKER: &str = "proofport-finished:";

const REFUSED: &str = "proofport-refused:";

/// One reference at a remote.
#[derive(Clone, Copy, Debug)]
pub struct RunOnce<'a> {
    reference: &'a str,
    state: Option<&'a str>,
}

impl<'a> RunOnce<'a> {
    /// Under the call's reference, with state below `$XDG_STATE_HOME` or the home's `.local/state`.
    #[must_use]
    pub fn of(call: &'a Call) -> Self {
        Self { reference: &call.reference, state: None }
    }

    /// Keeps state below this absolute path, which must be there already. Runs and queries of one
    /// reference have to say the same.
    #[must_use]
    pub const fn state(mut self, folder: Option<&'a str>) -> Self {
        self.state = folder;
        self
    }

    /// The command that runs this one. What it answers is read by [`Ran::read`].
    #[must_use]
    pub fn run<A: Into<String>>(self, command: impl IntoIterator<Item = A>) -> SshRequest {
        self.verb("run").arg("--").args(command)
    }

    /// The query for what became of it, read by [`Fate::read`]. The manifest has to declare
    /// [`queries`].
    #[must_use]
    pub fn status(self) -> SshRequest {
        self.verb("status")
    }

    /// The command that ends it: SIGTERM to its process group, SIGKILL after 5 seconds. It answers, at
    /// the latest 5 seconds later, as [`status`](Self::status) does.
    #[must_use]
    pub fn stop(self) -> SshRequest {
        self.verb("stop")
    }

    fn verb(self, verb: &'static str) -> SshRequest {
        let request = SCRIPT.verb(verb).arg(self.reference);
        match self.state {
            Some(folder) => request.arg("--state").arg(folder),
            None => request,
        }
    }
}

/// The templates of [`RunOnce::status`]: without and with a folder for state.
#[must_use]
pub fn templates() -> [QueryTemplate; 2] {
    let any = Script::any();
    [SCRIPT.query_template("status", &[any]), SCRIPT.query_template("status", &[any, "--state", any])]
}

/// Declares [`templates`] in a manifest.
#[must_use]
pub fn queries(manifest: Manifest) -> Manifest {
    templates().into_iter().fold(manifest, Manifest::ssh_query)
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this exit status.
    Exit(u8),
    /// By the signal of this number. Only where the remote's shell reports it, as dash does: SIGINT and
    /// SIGPIPE, and any signal under bash, are shown as an exit with 128 more.
    Signal(u8),
}

/// What a run answered over its own connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The command ended with this status; 128 more than a signal that ended it.
    Ended(u8),
    /// The script refused, and the command did not run.
    Refused(Refusal),
    /// The script's own end was not seen: the command may be running. Ask by [`RunOnce::status`].
    Unseen,
}

/// Why a run was refused before its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The script was not called as it should be.
    Usage,
    /// A run of this reference came before: what became of it is in the state.
    Used,
    /// Its state can't be kept.
    State,
}

impl Refusal {
    const ALL: [(Self, u32, &'static str); 3] =
        [(Self::Usage, 120, "usage"), (Self::Used, 121, "used"), (Self::State, 122, "state")];
}

impl Ran {
    /// Reads the answer to [`RunOnce::run`]. Output of the command that looks like the script's own
    /// lines is not taken for them: the script's are the last.
    #[must_use]
    pub fn read(response: &SshResponse, reference: &str) -> Self {
        let mut lines = response.stderr.rsplit(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let last = String::from_utf8_lossy(lines.next().unwrap_or_default());
        let status = match &response.exit {
            SshExit::Status(status) => Some(*status),
            SshExit::Marker => None,
            // A run that was told to stop: the login shell around the script died of it, and the script
            // says how its command ended.
            SshExit::Signal(name) if name == "TERM" => None,
            // It was the script that died, not the command.
            SshExit::Signal(_) => return Self::Unseen,
        };
        // What the command wrote may stand before it on the same line.
        if let Some((_, said)) = last.rsplit_once(&format!("{MARKER}{reference} ")) {
            return match said.parse::<u8>() {
                Ok(said) if status.is_none_or(|status| status == u32::from(said)) => Self::Ended(said),
                Ok(_) | Err(_) => Self::Unseen,
            };
        }
        let refused = |(_, code, word): &&(Refusal, u32, &str)| {
            let line = |reference: &str| format!("{REFUSED}{reference} {word}");
            status == Some(*code) && (last == line(reference) || last == line("-"))
        };
        match Refusal::ALL.iter().find(refused) {
            Some((refusal, _, _)) => Self::Refused(*refusal),
            None => Self::Unseen,
        }
    }
}

/// What the remote knows of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nobody ran it here.
    Absent,
    /// It is running.
    Running,
    /// It ended.
    Ended {
        /// How.
        ending: Ending,
        /// How much it wrote to its standard output, in bytes.
        bytes: Option<u64>,
        /// The SHA-256 of that, in 64 lower-case hexadecimal digits.
        sha256: Option<String>,
    },
    /// It began, and its end was not seen: the remote restarted, or the script was killed.
    Lost,
}

impl Fate {
    /// Reads the answer to [`RunOnce::status`] or [`RunOnce::stop`].
    ///
    /// # Errors
    /// [`Fault::Unreadable`] where it is not one, which says nothing of the command.
    pub fn read(response: &SshResponse) -> Result<Self, Fault> {
        if response.status() != Some(0) {
            return Err(Fault::Unreadable);
        }
        let mut lines = response.text()?.lines();
        let first = lines.next().unwrap_or_default();
        let second = lines.next();
        if lines.next().is_some() {
            return Err(Fault::Unreadable);
        }
        match (first.split_once(' '), first, second) {
            (None, "absent", None) => Ok(Self::Absent),
            (None, "running", None) => Ok(Self::Running),
            (None, "lost", None) => Ok(Self::Lost),
            (Some((word, number)), _, Some(output)) => {
                let number = number.parse().map_err(|_| Fault::Unreadable)?;
                let ending = match word {
                    "finished" => Ending::Exit(number),
                    "signalled" => Ending::Signal(number),
                    _ => return Err(Fault::Unreadable),
                };
                let (bytes, sha256) = self::output(output)?;
                Ok(Self::Ended { ending, bytes, sha256 })
            }
            (_, _, _) => Err(Fault::Unreadable),
        }
    }
}

/// Reads `stdout BYTES SHA256`.
fn output(line: &str) -> Result<(Option<u64>, Option<String>), Fault> {
    let words: Vec<&str> = line.split(' ').collect();
    let ["stdout", bytes, sha256] = words[..] else { return Err(Fault::Unreadable) };
    let bytes = match bytes {
        "-" => None,
        digits => Some(digits.parse().map_err(|_| Fault::Unreadable)?),
    };
    let hexadecimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let sha256 = match sha256 {
        "-" => None,
        digits if digits.len() == 64 && digits.bytes().all(hexadecimal) => Some(digits.to_owned()),
        _ => return Err(Fault::Unreadable),
    };
    Ok((bytes, sha256))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(exit: SshExit, stdout: &str, stderr: &str) -> SshResponse {
        SshResponse { exit, stdout: stdout.into(), stderr: stderr.into(), stored: None }
    }

    #[test]
    fn a_run_is_read_by_the_scripts_own_last_line() {
        let check = |exit: SshExit, stderr: &str, expected: Ran| {
            assert_eq!(Ran::read(&answer(exit, "", stderr), "pp1"), expected, "{stderr:?}");
        };
        let status = SshExit::Status;
        check(status(0), "proofport-finished:pp1 0\n", Ran::Ended(0));
        check(status(23), "prose\nno lineproofport-finished:pp1 23\n", Ran::Ended(23));
        check(SshExit::Marker, "proofport-finished:pp1 23\n", Ran::Ended(23));
        // A command that ends as the script would refuse.
        check(status(121), "proofport-refused:pp1 used\nproofport-finished:pp1 121\n", Ran::Ended(121));
        check(status(121), "a banner\nproofport-refused:pp1 used\n", Ran::Refused(Refusal::Used));
        check(status(122), "proofport-refused:pp1 state\n", Ran::Refused(Refusal::State));
        check(status(120), "proofport-refused:- usage\n", Ran::Refused(Refusal::Usage));
        // Status and word have to agree, and the reference to be this one.
        check(status(122), "proofport-refused:pp1 used\n", Ran::Unseen);
        check(status(121), "proofport-refused:pp2 used\n", Ran::Unseen);
        check(status(121), "", Ran::Unseen);
        check(status(1), "proofport-finished:pp1 0\n", Ran::Unseen);
        check(status(0), "proofport-finished:pp2 0\n", Ran::Unseen);
        check(status(0), "proofport-finished:pp1 256\n", Ran::Unseen);
        check(status(0), "", Ran::Unseen);
        check(SshExit::Marker, "", Ran::Unseen);
        // The script died; its command may not have.
        check(SshExit::Signal("KILL".to_owned()), "proofport-finished:pp1 0\n", Ran::Unseen);
        check(SshExit::Signal("TERM".to_owned()), "proofport-finished:pp1 143\n", Ran::Ended(143));
        check(SshExit::Signal("TERM".to_owned()), "proofport-finished:pp1 143\nx", Ran::Unseen);
    }

    #[test]
    fn a_fate_is_read_whole_or_not_at_all() {
        let check = |stdout: &str, expected: Option<Fate>| {
            let have = Fate::read(&answer(SshExit::Status(0), stdout, ""));
            assert_eq!(have, expected.clone().ok_or(Fault::Unreadable), "{stdout:?}");
            let failed = Fate::read(&answer(SshExit::Status(122), stdout, ""));
            assert_eq!(failed, Err(Fault::Unreadable));
        };
        check("absent\n", Some(Fate::Absent));
        check("running\n", Some(Fate::Running));
        check("lost\n", Some(Fate::Lost));
        let digest = "0a".repeat(32);
        let ended = |ending, bytes, sha256| Some(Fate::Ended { ending, bytes, sha256 });
        let whole = format!("finished 23\nstdout 5 {digest}\n");
        check(&whole, ended(Ending::Exit(23), Some(5), Some(digest.clone())));
        check("signalled 9\nstdout - -\n", ended(Ending::Signal(9), None, None));
        for bad in
            ["", "absent", "absent\nrunning\n", "finished\n", "finished 0\n", "finished 256\nstdout 0 -\n"]
        {
            check(bad, if bad == "absent" { Some(Fate::Absent) } else { None });
        }
        check(&format!("finished 0\nstdout 5 {}\n", "0A".repeat(32)), None);
        check(&format!("{whole}more\n"), None);
        check("ended 0\nstdout 0 -\n", None);
    }

    #[test]
    fn a_query_fits_its_template_and_a_run_does_not() {
        let run = |at: RunOnce<'_>| [at.status(), at.run(["x"]), at.stop()].map(|request| request.command);
        let [plain, at] = templates();
        let fits = |template: &QueryTemplate, command: &crate::SshCommand| {
            let (QueryTemplate::Ssh(want), crate::SshCommand::Argv(have)) = (template, command) else {
                return false;
            };
            want.len() == have.len()
                && want.iter().zip(have).all(|(want, have)| want == Script::any() || want == have)
        };
        let here = RunOnce { reference: "pp1", state: None };
        let check = |at: RunOnce<'_>, template: &QueryTemplate, other: &QueryTemplate| {
            let [status, run, stop] = run(at);
            assert!(fits(template, &status) && !fits(other, &status));
            for effect in [run, stop] {
                assert!(!fits(template, &effect) && !fits(other, &effect));
            }
        };
        check(here, &plain, &at);
        check(here.state(Some("/srv/state")), &at, &plain);
    }
}
