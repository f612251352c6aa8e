//! Pointers to fields of the input. A caller sees them, so that they must not be able to carry
//! anything but the name of a field that the caller sent or that the reviewed schema declares.

use serde_json::Value;

/// Whether a text is a JSON Pointer (RFC 6901).
pub(super) fn is_pointer(text: &str) -> bool {
    let escapes = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    (text.is_empty() || text.starts_with('/')) && escapes && text.len() <= 1024
}

/// Whether a pointer leads to a field that is in the input, or that its schema declares there.
pub(super) fn is_of_input(pointer: &str, input: &str, schema: &Value) -> bool {
    if !is_pointer(pointer) {
        return false;
    }
    let sent = serde_json::from_str::<Value>(input).is_ok_and(|input| input.pointer(pointer).is_some());
    sent || is_declared(pointer, schema)
}

/// Follows `properties` and `items`. References are not followed: a field behind one has to be in
/// the input itself.
fn is_declared(pointer: &str, schema: &Value) -> bool {
    let mut schema = schema;
    for token in pointer.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        let property = schema.get("properties").and_then(|properties| properties.get(&name));
        let index = name.len() <= 9 && !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
        let item = if index { schema.get("items") } else { None };
        match property.or(item) {
            Some(inner) => schema = inner,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_fields_of_the_input_may_be_named() {
        let schema = json!({"type": "object", "properties": {
            "amount": {"type": "integer"},
            "a/b": {"type": "string"},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {}}}},
        }});
        let input = r#"{"free": {"deep": [1, 2]}}"#;
        let check = |pointer: &str, expected: bool| {
            assert_eq!(is_of_input(pointer, input, &schema), expected, "{pointer:?}");
        };
        check("", true);
        check("/amount", true);
        check("/a~1b", true);
        check("/lines/17/sku", true);
        check("/free/deep/1", true);
        check("/free/deep/2", false);
        check("/lines/x/sku", false);
        check("/your card was declined", false);
        check("amount", false);
        check("/a~2b", false);
        check("/a~", false);
    }
}
