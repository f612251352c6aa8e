//! A message of the client's, as far as a carrier has to understand it.

use serde_json::{Value, json};

/// The version that has headers for what a message is about, and every later one.
const STANDARD_HEADERS: &str = "2026-07-28";

/// A message of the client's.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// The JSON-RPC id; none of a notification.
    pub(super) id: Option<Value>,
    /// What is asked.
    pub(super) method: String,
    /// The whole message.
    pub(super) body: Value,
}

/// A line is no message that can be carried.
#[derive(Debug, PartialEq)]
pub(super) enum Unfit {
    /// It is no request and no notification; with its id, where it has one.
    NoMessage(Value),
    /// It is an answer. This server asks nothing.
    Answer,
    /// It is longer than is taken.
    TooLong,
}

impl Message {
    /// Reads a line.
    ///
    /// # Errors
    /// See [`Unfit`].
    pub(super) fn read(line: &[u8]) -> Result<Self, Unfit> {
        let body: Value = serde_json::from_slice(line).map_err(|_| Unfit::NoMessage(Value::Null))?;
        let id = body.get("id").cloned().filter(|id| !id.is_null());
        match body.get("method").and_then(Value::as_str).map(str::to_owned) {
            Some(method) => Ok(Self { id, method, body }),
            None if body.get("result").is_some() || body.get("error").is_some() => Err(Unfit::Answer),
            None => Err(Unfit::NoMessage(id.unwrap_or_default())),
        }
    }

    /// What the client calls this request.
    pub(super) fn name(&self) -> Option<String> {
        self.id.as_ref().map(Value::to_string)
    }

    /// The version that the message itself names.
    pub(super) fn version(&self) -> Option<&str> {
        self.body.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion")?.as_str()
    }

    /// Whether it calls a tool, and may so have an effect.
    pub(super) fn is_call(&self) -> bool {
        self.method == "tools/call"
    }

    /// The tool that is called.
    pub(super) fn tool(&self) -> Option<&str> {
        self.body.pointer("/params/name")?.as_str()
    }

    /// What the client calls the request that this notification cancels.
    pub(super) fn cancels(&self) -> Option<String> {
        if self.method != "notifications/cancelled" {
            return None;
        }
        self.body.pointer("/params/requestId").map(Value::to_string)
    }

    /// The progress token that it has; one of ours where it calls a tool without, and then true.
    pub(super) fn ensure_progress_token(&mut self, ours: &str) -> Option<(Value, bool)> {
        let is_call = self.is_call();
        let params = self.body.get_mut("params")?.as_object_mut()?;
        if let Some(token) = params.get("_meta").and_then(|meta| meta.get("progressToken")) {
            return Some((token.clone(), false));
        }
        if !is_call {
            return None;
        }
        let meta = params.entry("_meta").or_insert_with(|| json!({})).as_object_mut()?;
        meta.insert("progressToken".to_owned(), Value::from(ours));
        Some((Value::from(ours), true))
    }

    /// The headers that say over HTTP what the message says itself. `agreed`: the version of the handshake.
    pub(super) fn headers(&self, agreed: Option<&str>) -> Vec<(&'static str, String)> {
        let Some(version) = self.version().or(agreed) else { return Vec::new() };
        let mut headers = vec![("mcp-protocol-version", version.to_owned())];
        if version < STANDARD_HEADERS {
            return headers;
        }
        headers.push(("mcp-method", self.method.clone()));
        let place = match self.method.as_str() {
            "tools/call" | "prompts/get" => Some("/params/name"),
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => Some("/params/uri"),
            "tasks/get" | "tasks/update" | "tasks/cancel" => Some("/params/taskId"),
            _ => None,
        };
        let about = place.and_then(|place| self.body.pointer(place)).and_then(Value::as_str);
        headers.extend(about.map(|about| ("mcp-name", header_text(about))));
        headers
    }
}

/// A text as a header's value, wrapped where it would not survive as it is.
fn header_text(text: &str) -> String {
    let wrapped = text.starts_with("=?base64?") && text.ends_with("?=");
    let padded = text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']);
    if wrapped || padded || text.bytes().any(|byte| !(0x20..0x7f).contains(&byte)) {
        format!("=?base64?{}?=", data_encoding::BASE64.encode(text.as_bytes()))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(body: Value) -> Message {
        Message::read(body.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_line_is_a_message_or_is_not() {
        let check = |line: &str, unfit: Unfit| assert_eq!(Message::read(line.as_bytes()).unwrap_err(), unfit);
        check("", Unfit::NoMessage(Value::Null));
        check("[]", Unfit::NoMessage(Value::Null));
        check("{\"id\":7}", Unfit::NoMessage(json!(7)));
        check("{\"id\":7,\"result\":{}}", Unfit::Answer);
    }

    #[test]
    fn headers_follow_the_version() {
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
        let check = |method: &str, params: Value, agreed: Option<&str>, expected: &[(&str, &str)]| {
            let message = message(json!({ "id": 1, "method": method, "params": params }));
            let got = message.headers(agreed);
            let got: Vec<_> = got.iter().map(|(name, value)| (*name, value.as_str())).collect();
            assert_eq!(got, expected);
        };
        let version = ("mcp-protocol-version", "2026-07-28");
        check("initialize", json!({}), None, &[]);
        check("tools/list", json!({}), Some("2025-11-25"), &[("mcp-protocol-version", "2025-11-25")]);
        check("tools/list", json!({ "_meta": meta }), None, &[version, ("mcp-method", "tools/list")]);
        check(
            "tools/call",
            json!({ "_meta": meta, "name": "wait" }),
            Some("2025-11-25"),
            &[version, ("mcp-method", "tools/call"), ("mcp-name", "wait")],
        );
        check(
            "tasks/get",
            json!({ "_meta": meta, "taskId": "a\nb" }),
            None,
            &[version, ("mcp-method", "tasks/get"), ("mcp-name", "=?base64?YQpi?=")],
        );
    }

    #[test]
    fn only_a_call_without_a_token_gets_one_of_ours() {
        let check = |method: &str, params: Value, expected: Option<(Value, bool)>| {
            let mut message = message(json!({ "id": 1, "method": method, "params": params }));
            assert_eq!(message.ensure_progress_token("ours"), expected);
            if let Some((token, _)) = expected {
                assert_eq!(message.body["params"]["_meta"]["progressToken"], token);
            }
        };
        check("tools/call", json!({}), Some((json!("ours"), true)));
        check("tools/call", json!({ "_meta": { "progressToken": 7 } }), Some((json!(7), false)));
        check("tools/call", json!([]), None);
        check("tools/list", json!({}), None);
    }
}
