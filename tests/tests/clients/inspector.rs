//! The MCP inspector on the command line, in both of its forms: `inspector --cli` connects anew for each request,
//! `mcpdo` connects once and asks over that connection until it ends.

use crate::official::{Official, Over, Target};
use crate::{alone, here};
use proofport_tests::mcp::Revision;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Cli,
    Mcpdo,
}

/// The inspector, and what it is asked about.
pub(crate) struct Inspector {
    form: Form,
    target: Target,
    home: PathBuf,
    under_way: Option<Child>,
}

impl Inspector {
    pub(crate) fn start(form: Form, target: Target, home: &Path) -> Self {
        let started = Self { form, target, home: home.to_owned(), under_way: None };
        match form {
            Form::Cli => {}
            Form::Mcpdo => {
                let mut command = started.mcpdo(&["connect", "--era", started.era()]);
                started.header(&mut command);
                let connected = said(&command.arg("--").args(&started.target.words).output().unwrap());
                assert_eq!(connected["protocolEra"], started.era(), "{connected}");
            }
        }
        started
    }

    /// Its word for a revision.
    const fn era(&self) -> &'static str {
        match self.target.revision {
            Revision::Old => "legacy",
            Revision::New => "modern",
        }
    }

    fn program(&self, path: &str) -> Command {
        let mut command = alone("node", &self.home);
        command.arg(here("node_modules/@modelcontextprotocol/inspector/clients").join(path));
        // Nothing of the person's who runs the tests is looked for.
        command.env("MCP_INSPECTOR_SECRET_STORE", "memory");
        command
    }

    fn header(&self, command: &mut Command) {
        if self.target.over == Over::Http {
            command.args(["--header", &format!("Authorization: Bearer {}", self.target.token)]);
        }
    }

    /// `mcpdo` with the process of its own that holds the connection.
    fn mcpdo(&self, words: &[&str]) -> Command {
        let mut command = self.program("mcpdo/build/mcp-bin.js");
        command.env("MCP_INSPECTOR_DAEMON_DIR", self.home.join("inspector"));
        command.env("MCP_INSPECTOR_DAEMON_TOKEN", "f".repeat(43));
        command.args(["--format", "json", "--connection", "host"]).args(words);
        command
    }

    fn cli(&self, words: &[&str]) -> Command {
        let mut command = self.program("launcher/build/index.js");
        command.arg("--cli").args(&self.target.words).args(["--protocol-era", self.era()]);
        self.header(&mut command);
        command.args(words);
        command
    }

    fn calling(&self, tool: &str, arguments: &Value) -> Command {
        let input = arguments.to_string();
        match self.form {
            Form::Cli => {
                let call = ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", &input];
                self.cli(&call)
            }
            Form::Mcpdo => self.mcpdo(&["tools/call", tool, "--tool-args-json", &input]),
        }
    }
}

fn said(output: &Output) -> Value {
    let (text, trouble) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text} {trouble}"))
}

impl Official for Inspector {
    fn tools(&mut self) -> Vec<String> {
        let mut command = match self.form {
            Form::Cli => self.cli(&["--method", "tools/list", "--strict"]),
            Form::Mcpdo => self.mcpdo(&["tools/list"]),
        };
        let output = command.output().unwrap();
        assert!(output.status.success(), "it finds fault: {}", String::from_utf8_lossy(&output.stderr));
        let listed = said(&output);
        let tools = listed["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    fn takes_tasks(&self) -> bool {
        self.target.revision == Revision::New
    }

    fn begin(&mut self, tool: &str, arguments: &Value) {
        let mut command = self.calling(tool, arguments);
        self.under_way = Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    }

    // It tells of no progress.
    fn received(&mut self) {}

    fn finish(&mut self) -> Value {
        said(&self.under_way.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        if let Some(mut child) = self.under_way.take() {
            child.kill().ok();
            child.wait().ok();
        }
        match self.form {
            Form::Cli => {}
            Form::Mcpdo => drop(self.mcpdo(&["daemon", "stop"]).output()),
        }
    }
}
