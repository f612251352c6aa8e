//! An answer as a tool's result.

use super::words;
use proofport_core::envelope::Envelope;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

/// The result that gives this answer: the envelope as structured content, and a sentence of the host's. The
/// envelope's text follows for clients that show a model nothing but text, as the protocol advises.
pub(super) fn result(envelope: &Envelope) -> CallToolResult {
    // Every part of an envelope has a JSON form.
    let structured = serde_json::to_value(envelope).unwrap_or(Value::Null);
    let content =
        vec![ContentBlock::text(words::sentence(envelope)), ContentBlock::text(structured.to_string())];
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(structured);
    result.is_error = Some(!envelope.ok());
    result
}
