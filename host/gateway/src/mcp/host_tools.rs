//! The host's own tools: what an agent can do about a call that it made before. Each takes the call's
//! `request_id` and answers with its envelope.

use super::schema;
use crate::agent::Agent;
use proofport_broker::Delivery;
use proofport_core::id::RequestId;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A tool of the host's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostTool {
    /// The stored answer.
    FetchResult,
    /// The answer once the call moves no more.
    Wait,
    /// Asks the remote what became of the call.
    InspectOutcome,
    /// Sends the same once more where the contract makes that harmless.
    Retry,
    /// Loses interest.
    Cancel,
}

/// What a host tool is asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// The call; none where the text is no call's id.
    pub(super) id: Option<RequestId>,
    /// How long to wait at most.
    pub(super) most: Duration,
}

/// How long `wait` waits where nothing is said.
const USUAL_WAIT: u64 = 30;

impl HostTool {
    /// All of them, as they are listed.
    pub(super) const ALL: [Self; 5] =
        [Self::FetchResult, Self::Wait, Self::InspectOutcome, Self::Retry, Self::Cancel];

    /// Its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::FetchResult => "fetch_result",
            Self::Wait => "wait",
            Self::InspectOutcome => "inspect_outcome",
            Self::Retry => "retry",
            Self::Cancel => "cancel",
        }
    }

    /// The tool with this name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    const fn description(self) -> &'static str {
        match self {
            Self::FetchResult => {
                "The stored answer of an earlier call, as it stands. Nothing is sent. Use it when an answer was \
                 lost."
            }
            Self::Wait => {
                "Waits for an earlier call that is being carried out, or that a person has to approve, and \
                 answers with it. Nothing is sent. Call it again while the answer still says so."
            }
            Self::InspectOutcome => {
                "Asks the remote what became of an earlier call whose outcome is `unknown`, by queries that \
                 change nothing. This, and never a second call, is what an unknown outcome needs."
            }
            Self::Retry => {
                "Sends an earlier call with an `unknown` outcome once more, under the same id and the same key, \
                 and only where its contract makes a second arrival harmless; otherwise nothing is sent, and \
                 the answer is the record as it stands."
            }
            Self::Cancel => {
                "Loses interest in an earlier call: what has not left the host does not leave it any more. What \
                 has left may still happen, and the answer says so."
            }
        }
    }

    fn annotations(self) -> ToolAnnotations {
        let hints = |reads: bool, open: bool| {
            ToolAnnotations::new().read_only(reads).destructive(!reads).idempotent(true).open_world(open)
        };
        match self {
            Self::FetchResult | Self::Wait => hints(true, false),
            Self::InspectOutcome => hints(true, true),
            // A command that is under way may be asked to stop.
            Self::Retry | Self::Cancel => hints(false, true),
        }
    }

    /// The tool as it is listed. `longest`: how long `wait` waits at most.
    pub(super) fn tool(self, longest: Duration) -> Tool {
        let id = json!({
            "type": "string",
            "pattern": "^act_[a-z2-7]{26}$",
            "description": "The `request_id` of the earlier call's answer.",
        });
        let mut properties = JsonObject::new();
        properties.insert("request_id".to_owned(), id);
        match self {
            Self::Wait => {
                let longest = longest.as_secs();
                let most = json!({
                    "type": "integer", "minimum": 0, "maximum": longest, "default": USUAL_WAIT.min(longest),
                    "description": "How long to wait at most.",
                });
                properties.insert("seconds".to_owned(), most);
            }
            Self::FetchResult | Self::InspectOutcome | Self::Retry | Self::Cancel => {}
        }
        let mut root = JsonObject::new();
        root.insert("type".to_owned(), json!("object"));
        root.insert("properties".to_owned(), Value::Object(properties));
        root.insert("required".to_owned(), json!(["request_id"]));
        root.insert("additionalProperties".to_owned(), json!(false));
        Tool::new(self.name(), self.description(), Arc::new(root))
            .with_raw_output_schema(schema::output())
            .with_annotations(self.annotations())
    }

    /// Reads its arguments; none where they don't fit.
    pub(super) fn asked(self, arguments: &JsonObject, longest: Duration) -> Option<Asked> {
        let mut most = Duration::from_secs(USUAL_WAIT);
        let mut id = None;
        for (name, value) in arguments {
            match (name.as_str(), self) {
                ("request_id", _) => id = Some(value.as_str()?),
                ("seconds", Self::Wait) => most = Duration::from_secs(value.as_u64()?),
                (_, Self::FetchResult | Self::Wait | Self::InspectOutcome | Self::Retry | Self::Cancel) => {
                    return None;
                }
            }
        }
        Some(Asked { id: RequestId::parse(id?).ok(), most: most.min(longest) })
    }

    /// Does it.
    pub(super) async fn carry_out(self, agent: &Agent, id: &RequestId, most: Duration) -> Delivery {
        match self {
            Self::FetchResult => agent.result(id),
            Self::Wait => agent.wait(id, most).await,
            Self::InspectOutcome => agent.reconcile(id).await,
            Self::Retry => agent.retry(id).await,
            Self::Cancel => agent.cancel(id).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(50);

    #[test]
    fn arguments_are_read_once() {
        let id = RequestId::from_random([9; 16]);
        let check = |tool: HostTool, arguments: Value, expected: Option<(Option<RequestId>, u64)>| {
            let got = tool.asked(arguments.as_object().unwrap(), LONGEST);
            let expected = expected.map(|(id, most)| Asked { id, most: Duration::from_secs(most) });
            assert_eq!(got, expected, "{arguments}");
        };
        let text = id.to_string();
        check(HostTool::Wait, json!({ "request_id": text }), Some((Some(id), 30)));
        check(HostTool::Wait, json!({ "request_id": text, "seconds": 7 }), Some((Some(id), 7)));
        check(HostTool::Wait, json!({ "request_id": text, "seconds": 70 }), Some((Some(id), 50)));
        check(HostTool::Wait, json!({ "request_id": text, "seconds": -1 }), None);
        check(HostTool::Retry, json!({ "request_id": text, "seconds": 7 }), None);
        check(HostTool::Retry, json!({ "request_id": "act_another" }), Some((None, 30)));
        check(HostTool::Cancel, json!({ "request_id": 7 }), None);
        check(HostTool::FetchResult, json!({}), None);
    }

    #[test]
    fn no_host_tool_is_named_like_an_operation() {
        for tool in HostTool::ALL {
            assert_eq!(super::super::name::parse(tool.name()), None);
            assert_eq!(HostTool::parse(tool.name()), Some(tool));
            assert_eq!(tool.tool(LONGEST).name, tool.name());
        }
    }
}
