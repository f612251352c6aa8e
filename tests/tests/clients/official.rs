//! What all clients have in common: they list tools and call them, and one can be called while it waits.

use proofport_tests::mcp::Revision;
use proofport_tests::program::program;
use proofport_tests::serving::Serving;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How a client reaches the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// Streamable HTTP, with a token.
    Http,
    /// Standard input and output of `proofport mcp`, which the client starts.
    Lines,
}

impl Over {
    pub(crate) const BOTH: [Self; 2] = [Self::Http, Self::Lines];
}

/// Where a client is sent.
pub(crate) struct Target {
    pub(crate) revision: Revision,
    pub(crate) over: Over,
    /// The URL, or the command.
    pub(crate) words: Vec<String>,
    /// The agent's token over HTTP; nothing else.
    pub(crate) token: String,
}

impl Target {
    /// `carrier`: the program that carries lines.
    pub(crate) fn of(host: &Serving, over: Over, revision: Revision, carrier: &Path) -> Self {
        let (words, token) = match over {
            Over::Http => (vec![format!("http://{}/mcp", host.http())], host.token("mailer").0),
            Over::Lines => {
                let words = [carrier, Path::new("mcp"), Path::new("--socket"), &host.agent_socket()];
                (words.map(|word| word.to_str().unwrap().to_owned()).to_vec(), String::new())
            }
        };
        Self { revision, over, words, token }
    }
}

/// The program.
pub(crate) fn carrier() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(program)
}

/// Other people's client.
pub(crate) trait Official {
    /// The names of the tools.
    fn tools(&mut self) -> Vec<String>;

    /// Whether it takes a task for an answer, and stays with that by itself until it is over.
    fn takes_tasks(&self) -> bool;

    /// Calls a tool, and waits for nothing.
    fn begin(&mut self, tool: &str, arguments: &Value);

    /// Waits until the host has said that it has the call, where the client tells of that.
    fn received(&mut self);

    /// The result of the call that was begun, as the client gives it.
    fn finish(&mut self) -> Value;

    /// Calls a tool.
    fn call(&mut self, tool: &str, arguments: &Value) -> Answer {
        self.begin(tool, arguments);
        Answer::of(&self.finish())
    }
}

/// What a tool answered.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) envelope: Value,
    pub(crate) error: bool,
}

impl Answer {
    pub(crate) fn of(result: &Value) -> Self {
        let envelope = result["structuredContent"].clone();
        assert!(envelope.is_object(), "no envelope: {result}");
        // A client may leave out what is false.
        Self { envelope, error: result["isError"].as_bool().unwrap_or(false) }
    }

    pub(crate) fn id(&self) -> String {
        let id = self.envelope["request_id"].as_str();
        id.unwrap_or_else(|| panic!("it has no id: {self:?}")).to_owned()
    }

    /// That it says this, and is an error where it is not `ok`.
    #[track_caller]
    pub(crate) fn says(&self, code: Option<&str>, outcome: Option<&str>) -> &Self {
        let field = |name: &str| self.envelope.get(name).and_then(Value::as_str);
        assert_eq!((field("code"), field("outcome")), (code, outcome), "{}", self.envelope);
        assert_eq!((&self.envelope["ok"], self.error), (&Value::from(!self.error), code.is_some()));
        self
    }
}
