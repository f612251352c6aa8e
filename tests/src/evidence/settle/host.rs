//! A host's process, as its caller has it.

use super::serve::{Line, Said};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long a call may go without an answer, at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// The running process; it is killed when dropped.
pub(super) struct Host {
    child: Child,
    input: Option<ChildStdin>,
    answers: mpsc::Receiver<Said>,
}

impl Host {
    /// Runs it on this home. `last` is where it kills itself.
    pub(super) fn start(program: &Path, home: &Path, last: Option<(&str, u32)>) -> Self {
        let mut command = Command::new(program);
        command.arg(home);
        if let Some((word, passages)) = last {
            command.args([word, &passages.to_string()]);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (send, answers) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // A line that is cut was not said.
                if let Ok(said) = serde_json::from_str(&line) {
                    let _ = send.send(said);
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, answers }
    }

    /// Hands it a call; false: it is gone.
    pub(super) fn call(&mut self, line: &Line) -> bool {
        let text = serde_json::to_string(line).unwrap() + "\n";
        self.input.as_mut().is_some_and(|input| input.write_all(text.as_bytes()).is_ok())
    }

    /// The next answer; none: it is gone, and has said all that it ever will.
    pub(super) fn answer(&self) -> Option<Said> {
        match self.answers.recv_timeout(PATIENCE) {
            Ok(said) => Some(said),
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("a call is not answered"),
        }
    }

    /// As `kill -9` does, where it has not done so itself; then what else it had said.
    pub(super) fn kill(mut self) -> Vec<Said> {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "{status}");
        self.answers.iter().collect()
    }

    /// Lets it end.
    pub(super) fn end(mut self) -> ExitStatus {
        drop(self.input.take());
        self.child.wait().unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
