//! Reading finished commands.

use crate::{Exchange, Fault, Reason, Response, SshExit, SshResponse, Verdict};

impl Exchange {
    /// The response, where this exchange was over SSH.
    ///
    /// # Errors
    /// [`Fault::Unreadable`] where it was not.
    pub const fn ssh(&self) -> Result<&SshResponse, Fault> {
        match &self.response {
            Response::Ssh(response) => Ok(response),
            Response::Http(_) => Err(Fault::Unreadable),
        }
    }
}

impl SshResponse {
    /// The exit status; none where a signal ended the command or only its marker was seen.
    #[must_use]
    pub const fn status(&self) -> Option<u32> {
        match &self.exit {
            SshExit::Status(status) => Some(*status),
            SshExit::Signal(_) | SshExit::Marker => None,
        }
    }

    /// Standard output as text.
    ///
    /// # Errors
    /// [`Fault::Unreadable`] where it is not UTF-8.
    pub fn text(&self) -> Result<&str, Fault> {
        std::str::from_utf8(&self.stdout).map_err(|_| Fault::Unreadable)
    }

    /// What a finished command proves by its end alone: status 0 is a success, to which the connector
    /// adds the output; any other, and a signal, is a failure that may have had an effect. A marker
    /// proves that it finished and not how.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        match &self.exit {
            SshExit::Status(0) => Verdict::of(crate::Outcome::Committed, true, Reason::Done),
            SshExit::Status(_) | SshExit::Signal(_) => Verdict::failed(Reason::RemoteFailed),
            SshExit::Marker => Verdict::failed(Reason::Unreadable),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Outcome, Reason, SshExit, SshResponse};

    #[test]
    fn only_status_0_is_a_success() {
        let check = |exit: SshExit, success: bool, reason: Reason| {
            let response = SshResponse { exit, stdout: Vec::new(), stderr: Vec::new(), stored: None };
            let verdict = response.verdict();
            assert_eq!(
                (verdict.outcome, verdict.success, verdict.reason),
                (Outcome::Committed, success, reason)
            );
        };
        check(SshExit::Status(0), true, Reason::Done);
        for status in [1, 23, 126, 127, 143, 255, u32::MAX] {
            check(SshExit::Status(status), false, Reason::RemoteFailed);
        }
        check(SshExit::Signal("KILL".to_owned()), false, Reason::RemoteFailed);
        check(SshExit::Marker, false, Reason::Unreadable);
    }
}
