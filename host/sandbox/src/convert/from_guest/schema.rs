//! Schemas that a manifest declares.

use crate::fault::{FieldPlace, ManifestProblem};
use proofport_core::id::Name;
use serde_json::{Map, Value};

/// Whether the root of a schema describes an object.
pub(super) fn describes_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

/// Reads a schema whose root is an object; `owner` is whose it is.
pub(super) fn object(text: &str, owner: &Name, place: FieldPlace) -> Result<Value, SchemaError> {
    let schema: Value = serde_json::from_str(text).map_err(|_| SchemaError::NotJson(place))?;
    if describes_object(&schema) {
        Ok(schema)
    } else {
        Err(SchemaError::Problem(ManifestProblem::SchemaRoot(owner.clone(), place)))
    }
}

/// Why a schema can't be accepted.
pub(super) enum SchemaError {
    /// It is not JSON.
    NotJson(FieldPlace),
    /// It says what it may not say.
    Problem(ManifestProblem),
}

/// Keywords that can't widen what a schema admits beyond its type, or that this check reads itself.
const KNOWN: [&str; 33] = [
    "$comment",
    "$schema",
    "additionalProperties",
    "anyOf",
    "const",
    "default",
    "deprecated",
    "description",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "oneOf",
    "pattern",
    "prefixItems",
    "properties",
    "readOnly",
    "required",
    "title",
    "type",
    "uniqueItems",
    "writeOnly",
];

/// Formats in which nobody can write prose. `uri`, `email` and their like can carry any.
const FORMATS: [&str; 5] = ["date", "date-time", "duration", "time", "uuid"];

/// Finds where a schema may admit text that is not written in the schema itself: the JSON Pointer to
/// the first such place. What can't be proved closed counts as open.
pub(super) fn open_text(schema: &Value) -> Option<String> {
    let mut at = String::new();
    open(schema, &mut at).then_some(at)
}

/// Whether a schema is open; `at` is then where.
fn open(schema: &Value, at: &mut String) -> bool {
    let schema = match schema {
        // Nothing is valid under `false`, everything under anything else that is no object.
        Value::Bool(false) => return false,
        Value::Object(schema) => schema,
        Value::Bool(true) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return true;
        }
    };
    if schema.keys().any(|keyword| !KNOWN.contains(&keyword.as_str())) {
        return true;
    }
    if schema.contains_key("const") || schema.get("enum").is_some_and(Value::is_array) {
        return false;
    }
    // One closed conjunct closes the whole: `anyOf` and `oneOf` where each of their branches is.
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = schema.get(keyword) {
            return branches.is_empty() || any_open(keyword, branches, at);
        }
    }
    match schema.get("type") {
        Some(Value::String(name)) => open_type(name, schema, at),
        Some(Value::Array(names)) => {
            names.is_empty()
                || names.iter().any(|name| name.as_str().is_none_or(|name| open_type(name, schema, at)))
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => true,
    }
}

fn open_type(name: &str, schema: &Map<String, Value>, at: &mut String) -> bool {
    match name {
        "null" | "boolean" | "integer" | "number" => false,
        "string" => {
            schema.get("format").and_then(Value::as_str).is_none_or(|format| !FORMATS.contains(&format))
        }
        "object" => {
            // A further property's name would be text that the schema does not hold.
            let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
            let properties = match schema.get("properties") {
                None => None,
                Some(Value::Object(properties)) => Some(properties),
                Some(
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_),
                ) => {
                    return true;
                }
            };
            !closed
                || properties
                    .into_iter()
                    .flatten()
                    .any(|(name, inner)| descend(&format!("/properties/{}", escape(name)), inner, at))
        }
        "array" => {
            let fixed = match schema.get("prefixItems") {
                None => false,
                Some(Value::Array(items)) => any_open("prefixItems", items, at),
                Some(
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_),
                ) => true,
            };
            fixed || schema.get("items").is_none_or(|items| descend("/items", items, at))
        }
        _ => true,
    }
}

fn any_open(keyword: &str, schemas: &[Value], at: &mut String) -> bool {
    schemas.iter().enumerate().any(|(n, schema)| descend(&format!("/{keyword}/{n}"), schema, at))
}

fn descend(step: &str, schema: &Value, at: &mut String) -> bool {
    let length = at.len();
    at.push_str(step);
    let open = open(schema, at);
    if !open {
        at.truncate(length);
    }
    open
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: &Value, expected: Option<&str>) {
        assert_eq!(open_text(schema).as_deref(), expected, "{schema}");
    }

    #[test]
    fn closed_schemas_admit_no_free_text() {
        check(&json!(false), None);
        check(&json!({"const": "declined"}), None);
        check(&json!({"type": "integer", "minimum": 1}), None);
        check(&json!({"type": "string", "format": "date-time"}), None);
        let whole = json!({
            "type": "object", "additionalProperties": false, "required": ["code"],
            "properties": {
                "code": {"type": "string", "enum": ["a", "b"], "description": "why"},
                "at": {"type": ["string", "null"], "format": "date"},
                "parts": {"type": "array", "items": {"oneOf": [{"type": "integer"}, {"const": "x"}]}},
                "pair": {"type": "array", "prefixItems": [{"type": "boolean"}], "items": false},
            },
        });
        check(&whole, None);
    }

    #[test]
    fn open_schemas_are_found_where_they_are_open() {
        check(&json!(true), Some(""));
        check(&json!({}), Some(""));
        check(&json!({"type": "string"}), Some(""));
        check(&json!({"type": "string", "format": "uri"}), Some(""));
        check(&json!({"type": "string", "pattern": "^.*$"}), Some(""));
        check(&json!({"type": "object"}), Some(""));
        check(&json!({"type": "object", "additionalProperties": {"type": "integer"}}), Some(""));
        check(&json!({"type": "array"}), Some(""));
        check(&json!({"$ref": "#/x"}), Some(""));
        check(&json!({"type": "integer", "allOf": [{}]}), Some(""));
        check(&json!({"anyOf": []}), Some(""));
        check(&json!({"enum": "x"}), Some(""));
        check(&json!({"anyOf": [{"const": 1}, {"type": "string"}]}), Some("/anyOf/1"));
        let deep = json!({"type": "object", "additionalProperties": false, "properties": {
            "ok": {"const": 1},
            "x/y": {"type": "array", "items": {"type": ["integer", "string"]}},
        }});
        check(&deep, Some("/properties/x~1y/items"));
    }
}
