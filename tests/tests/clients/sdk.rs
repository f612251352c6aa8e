//! The official SDKs of Python and TypeScript, each in a process that is told what to do line by line.

use crate::official::{Official, Over, Target};
use crate::{alone, here};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// Whose SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sdk {
    Python,
    TypeScript,
}

/// A session of an SDK's.
pub(crate) struct Session {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    revision: &'static str,
}

impl Sdk {
    pub(crate) fn start(self, target: &Target, home: &Path) -> Session {
        let (runs, script) = match self {
            Self::Python => (here("../.venv/bin/python"), here("clients/steps.py")),
            Self::TypeScript => {
                here("node_modules/@modelcontextprotocol/sdk/package.json");
                here("node_modules/@modelcontextprotocol/client/package.json");
                (PathBuf::from("node"), here("clients/steps.mjs"))
            }
        };
        let mut command = alone(runs, home);
        command.arg(script).arg(target.revision.version()).args(&target.words);
        if target.over == Over::Http {
            command.env("TOKEN", &target.token);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Session { child, input, output, revision: target.revision.version() }
    }
}

impl Session {
    fn say(&mut self, step: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{step}").and_then(|()| input.flush()).unwrap();
    }

    fn heard(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Hears that the call which was begun has come so far.
    fn progress(&mut self, step: u32) {
        let heard = self.heard();
        assert_eq!(heard["progress"].as_f64(), Some(f64::from(step)), "{heard}");
    }

    /// Waits until the host has said that the call is on record, and under which id.
    pub(crate) fn on_record(&mut self) {
        self.progress(1);
        self.progress(2);
    }
}

impl Official for Session {
    fn tools(&mut self) -> Vec<String> {
        self.say(&json!({}));
        let heard = self.heard();
        serde_json::from_value(heard["tools"].clone()).unwrap_or_else(|error| panic!("{error}: {heard}"))
    }

    fn takes_tasks(&self) -> bool {
        false
    }

    fn begin(&mut self, tool: &str, arguments: &Value) {
        self.say(&json!({ "tool": tool, "arguments": arguments }));
    }

    fn received(&mut self) {
        self.progress(1);
    }

    fn finish(&mut self) -> Value {
        loop {
            let heard = self.heard();
            if heard.get("progress").is_none() {
                assert_eq!(heard["revision"], self.revision, "{heard}");
                return heard["answer"].clone();
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It ends by itself, and its carrier with it, when there are no more lines.
        drop(self.input.take());
        if std::thread::panicking() {
            self.child.kill().ok();
        }
        self.child.wait().ok();
    }
}
