//! What a tool takes: the operation's input, and the caller's key beside it.
//!
//! The key has to be an argument, since a model can say nothing else. It is a property `call_key` of the
//! root where the operation's own schema leaves room for one that can't be mistaken: a plain object that
//! doesn't mention the name. Everywhere else, the arguments are `{"input": …, "call_key": …}`. A program can
//! put the key into the request's `_meta` as `proofport/call_key` instead; then the arguments are the
//! operation's input whole, whatever their names, in the plain form.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

/// The property that holds the caller's key.
pub(super) const CALL_KEY: &str = "call_key";
/// The entry of a request's `_meta` that does.
pub(super) const META_CALL_KEY: &str = "proofport/call_key";
const INPUT: &str = "input";

const CALL_KEY_WORDS: &str = "Optional, and no part of the operation's input. The same input without a new \
call_key is the same intent and is answered with the first call's record. Give a new one only to do the same \
thing on purpose once more.";

/// Keywords beside which one more property of the root could be refused, or taken for something else.
const UNSURE: [&str; 16] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "const",
    "enum",
    "maxProperties",
    "minProperties",
    "propertyNames",
    "patternProperties",
    "dependentSchemas",
];

/// How the operation's input and the key lie in a tool's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The arguments are the input, and the key lies among its properties.
    Plain,
    /// The input is a property.
    Wrapped,
}

/// What the arguments of a call say.
#[derive(Debug, PartialEq)]
pub(super) struct Taken {
    /// The operation's input as JSON text.
    pub(super) input: Vec<u8>,
    /// The caller's key.
    pub(super) call_key: Option<String>,
}

impl Form {
    fn of(schema: &Value) -> Self {
        let Some(root) = schema.as_object() else { return Self::Wrapped };
        let is_object = root.get("type").is_some_and(|kind| kind == "object");
        let sure = !UNSURE.iter().any(|keyword| root.contains_key(*keyword));
        let free = ["properties", "required", "dependentRequired"]
            .iter()
            .filter_map(|keyword| root.get(*keyword))
            .all(|place| !mentions(place));
        if is_object && sure && free { Self::Plain } else { Self::Wrapped }
    }
}

fn mentions(place: &Value) -> bool {
    match place {
        Value::Object(entries) => {
            entries.contains_key(CALL_KEY)
                || entries.values().any(|entry| matches!(entry, Value::Array(_)) && mentions(entry))
        }
        Value::Array(entries) => entries.iter().any(|entry| entry == CALL_KEY),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The tool's input schema for an operation's.
pub(super) fn schema(operation: &Value) -> JsonObject {
    let key =
        json!({ "type": "string", "minLength": 1, "maxLength": MAX_KEY, "description": CALL_KEY_WORDS });
    match (Form::of(operation), operation) {
        (Form::Plain, Value::Object(root)) => {
            let mut root = root.clone();
            let properties = root.entry("properties").or_insert_with(|| json!({}));
            if let Value::Object(properties) = properties {
                properties.insert(CALL_KEY.to_owned(), key);
            }
            root
        }
        (Form::Plain | Form::Wrapped, _) => {
            let mut inner = operation.clone();
            move_references(&mut inner);
            let mut root = JsonObject::new();
            root.insert("type".to_owned(), json!("object"));
            root.insert("properties".to_owned(), json!({ INPUT: inner, CALL_KEY: key }));
            root.insert("required".to_owned(), json!([INPUT]));
            root.insert("additionalProperties".to_owned(), json!(false));
            root
        }
    }
}

/// The longest key, in characters.
const MAX_KEY: u64 = 256;

/// References of a schema to its own parts follow it below `properties/input`.
fn move_references(schema: &mut Value) {
    match schema {
        Value::Object(entries) => {
            for (keyword, entry) in entries {
                match entry {
                    Value::String(reference) if keyword == "$ref" || keyword == "$dynamicRef" => {
                        if reference == "#" || reference.starts_with("#/") {
                            reference.replace_range(..1, "#/properties/input");
                        }
                    }
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Array(_)
                    | Value::Object(_) => move_references(entry),
                }
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(move_references),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Reads a call's arguments. `operation`: the schema of the operation's input, where there is such an
/// operation; what there is none of takes anything, and is refused by the broker. `meta_key`: what the
/// request's `_meta` says.
///
/// # Errors
/// When the key is none: the name of the argument, or of the entry in `_meta`, that is wrong.
pub(super) fn take(
    operation: Option<&Value>,
    mut arguments: JsonObject,
    meta_key: Option<&Value>,
) -> Result<Taken, &'static str> {
    let form = operation.map_or(Form::Plain, Form::of);
    let from_meta = meta_key.map(|key| read_key(key).ok_or(META_CALL_KEY)).transpose()?;
    // With a key in `_meta`, a plain input's own property of this name is the operation's.
    let argument = match (form, &from_meta) {
        (Form::Plain, Some(_)) => None,
        (Form::Plain | Form::Wrapped, _) => arguments.remove(CALL_KEY).filter(|key| !key.is_null()),
    };
    let from_argument = argument.map(|key| read_key(&key).ok_or(CALL_KEY)).transpose()?;
    let input = match form {
        Form::Plain => Value::Object(arguments),
        Form::Wrapped => match (arguments.remove(INPUT), arguments.is_empty()) {
            (Some(input), true) => input,
            // What was left out, or lies beside it, fits no schema that is wrapped; as it came, it is
            // refused where inputs are checked.
            (input, _) => {
                arguments.extend(input.map(|input| (INPUT.to_owned(), input)));
                Value::Object(arguments)
            }
        },
    };
    Ok(Taken { input: input.to_string().into_bytes(), call_key: from_meta.or(from_argument) })
}

fn read_key(key: &Value) -> Option<String> {
    let key = key.as_str()?;
    let length = key.chars().count() as u64;
    (1..=MAX_KEY).contains(&length).then(|| key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> JsonObject {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_key_lies_where_it_cant_be_mistaken() {
        let check = |operation: Value, form: Form| assert_eq!(Form::of(&operation), form, "{operation}");
        check(json!({ "type": "object" }), Form::Plain);
        check(json!({ "type": "object", "properties": { "a": {} }, "required": ["a"] }), Form::Plain);
        check(json!({ "type": "object", "properties": { "call_key": {} } }), Form::Wrapped);
        check(json!({ "type": "object", "required": ["call_key"] }), Form::Wrapped);
        check(json!({ "type": "object", "dependentRequired": { "a": ["call_key"] } }), Form::Wrapped);
        check(json!({ "type": "object", "oneOf": [{ "additionalProperties": false }] }), Form::Wrapped);
        check(json!({ "type": "object", "maxProperties": 1 }), Form::Wrapped);
        check(json!({ "type": ["object", "null"] }), Form::Wrapped);
        check(json!({ "type": "array" }), Form::Wrapped);
        check(json!({}), Form::Wrapped);
        check(json!(true), Form::Wrapped);
    }

    #[test]
    fn every_tool_takes_an_object_and_references_follow() {
        let plain = schema(&json!({
            "type": "object", "additionalProperties": false, "properties": { "a": { "$ref": "#/$defs/a" } },
            "$defs": { "a": { "type": "string" } },
        }));
        assert_eq!(plain["properties"]["a"]["$ref"], "#/$defs/a");
        assert_eq!(plain["properties"]["call_key"]["type"], "string");
        let wrapped = schema(&json!({
            "type": "array", "items": { "$ref": "#/$defs/a" }, "$defs": { "a": { "$ref": "#" } },
        }));
        assert_eq!(wrapped["type"], "object");
        assert_eq!(wrapped["properties"]["input"]["items"]["$ref"], "#/properties/input/$defs/a");
        assert_eq!(wrapped["properties"]["input"]["$defs"]["a"]["$ref"], "#/properties/input");
        for schema in [plain, wrapped] {
            assert!(jsonschema::validator_for(&Value::Object(schema)).is_ok());
        }
    }

    #[test]
    fn what_is_taken_is_the_operations_own() {
        let plain = json!({ "type": "object" });
        let wrapped = json!({ "type": "object", "properties": { "call_key": {} } });
        let check = |operation: &Value, arguments: Value, meta: Option<Value>, expected: Result<_, &str>| {
            let taken = take(Some(operation), object(arguments.clone()), meta.as_ref());
            let got = taken.map(|taken| (String::from_utf8(taken.input).unwrap(), taken.call_key));
            let expected = expected
                .map(|(input, key): (Value, Option<&str>)| (input.to_string(), key.map(str::to_owned)));
            assert_eq!(got, expected, "{arguments}");
        };
        check(&plain, json!({ "a": 1 }), None, Ok((json!({ "a": 1 }), None)));
        check(&plain, json!({ "a": 1, "call_key": "k" }), None, Ok((json!({ "a": 1 }), Some("k"))));
        check(&plain, json!({ "a": 1, "call_key": null }), None, Ok((json!({ "a": 1 }), None)));
        check(
            &plain,
            json!({ "call_key": "theirs" }),
            Some(json!("k")),
            Ok((json!({ "call_key": "theirs" }), Some("k"))),
        );
        check(&plain, json!({ "call_key": 7 }), None, Err(CALL_KEY));
        check(&plain, json!({ "call_key": "" }), None, Err(CALL_KEY));
        check(&plain, json!({}), Some(json!(1)), Err(META_CALL_KEY));
        check(
            &wrapped,
            json!({ "input": { "call_key": "theirs" }, "call_key": "k" }),
            None,
            Ok((json!({ "call_key": "theirs" }), Some("k"))),
        );
        check(&wrapped, json!({ "input": [1] }), None, Ok((json!([1]), None)));
        check(&wrapped, json!({ "input": 1, "b": 2 }), None, Ok((json!({ "input": 1, "b": 2 }), None)));
    }
}
