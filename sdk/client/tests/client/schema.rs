//! The crate's types against the schema that the host publishes: the same words, the same members, and nothing that
//! either knows alone.

use proofport_client::{
    Action, Code, Envelope, EnvelopeSchema, Outcome, Phase, RepeatKind, Retry, RetryOwner, Source, Stage,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/envelope.schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_words_are_the_hosts() {
    let schema = schema();
    let definitions = schema["$defs"].as_object().unwrap();
    let mut left: BTreeSet<&str> = definitions
        .iter()
        .filter(|(_, one)| one.get("oneOf").is_some())
        .map(|(name, _)| name.as_str())
        .collect();
    let mut check = |name: &str, ours: Vec<&str>| {
        let listed = definitions[name]["oneOf"].as_array().unwrap();
        let theirs: Vec<&str> = listed.iter().map(|word| word["const"].as_str().unwrap()).collect();
        assert_eq!(ours, theirs, "{name}");
        assert!(left.remove(name), "{name} twice");
    };
    macro_rules! words {
        ($($name:ident)+) => {
            $( check(stringify!($name), $name::ALL.iter().map(|word| word.as_str()).collect()); )+
        };
    }
    words!(Action Code EnvelopeSchema Outcome Phase RepeatKind Retry RetryOwner Source Stage);
    assert!(left.is_empty(), "no enum here for {left:?}");
}

/// A value of everything that the schema describes, with every member that it has.
fn full(schema: &Value, definitions: &Value, name: &str) -> Value {
    let here = followed(schema, definitions);
    if let Some(words) = here.get("oneOf") {
        return words[0]["const"].clone();
    }
    if let Some(properties) = here.get("properties") {
        let members = properties.as_object().unwrap().iter();
        let members: Map<String, Value> =
            members.map(|(name, schema)| (name.clone(), full(schema, definitions, name))).collect();
        return Value::Object(members);
    }
    match (here.get("type").map(|kind| kind.get(0).unwrap_or(kind)), name) {
        (Some(Value::String(kind)), _) if kind == "boolean" => json!(true),
        (Some(Value::String(kind)), _) if kind == "integer" => json!(7),
        (Some(Value::String(kind)), _) if kind == "array" => {
            json!([full(&here["items"], definitions, name)])
        }
        (Some(Value::String(kind)), "request_id" | "followed_by" | "submitted_by") if kind == "string" => {
            json!("act_aaaaaaaaaaaaaaaaaaaaaaaaaa")
        }
        (Some(Value::String(kind)), "operation") if kind == "string" => json!("crm.create"),
        (Some(Value::String(kind)), _) if kind == "string" => json!("text"),
        (None, "result") => json!({"anything": [1, null]}),
        (kind, _) => panic!("{name} is of {kind:?}"),
    }
}

/// The schema that is meant: of a reference, what it names; of a choice between something and null, the something.
fn followed<'a>(schema: &'a Value, definitions: &'a Value) -> &'a Value {
    if let Some(choice) = schema.get("anyOf") {
        return followed(&choice[0], definitions);
    }
    match schema.get("$ref").and_then(Value::as_str) {
        Some(name) => followed(&definitions[name.strip_prefix("#/$defs/").unwrap()], definitions),
        None => schema,
    }
}

fn may_be_null(schema: &Value) -> bool {
    let choice = schema.get("anyOf").and_then(Value::as_array).is_some_and(|one| one.len() == 2);
    let kind =
        schema.get("type").and_then(Value::as_array).is_some_and(|kinds| kinds.contains(&json!("null")));
    choice || kind
}

fn read(value: &Value) -> Result<Envelope, serde_json::Error> {
    serde_json::from_str(&value.to_string())
}

/// Tries every change of an object at `at`, and of what is in it.
fn check(whole: &Value, at: &str, schema: &Value, definitions: &Value, objects: &mut usize) {
    let here = followed(schema, definitions);
    let changed = |change: &dyn Fn(&mut Map<String, Value>)| {
        let mut whole = whole.clone();
        change(whole.pointer_mut(at).unwrap().as_object_mut().unwrap());
        read(&whole)
    };
    let Some(properties) = here.get("properties").and_then(Value::as_object) else { return };
    *objects += 1;
    assert_eq!(here["additionalProperties"], json!(false), "{at}");
    assert!(changed(&|members| drop(members.insert("new".to_owned(), json!(1)))).is_err(), "{at}/new");
    let required: Vec<&str> =
        here["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    for (name, schema) in properties {
        let read = changed(&|members| drop(members.remove(name)));
        assert_eq!(read.is_err(), required.contains(&name.as_str()), "{at} without {name}: {read:?}");
        let read = changed(&|members| drop(members.insert(name.clone(), Value::Null)));
        assert_eq!(read.is_ok(), may_be_null(schema), "{at}/{name} is null: {read:?}");
        let meant = followed(schema, definitions);
        if meant.get("oneOf").is_some() {
            let read = changed(&|members| drop(members.insert(name.clone(), json!("some_other_word"))));
            assert!(read.is_err(), "{at}/{name}");
        }
        check(whole, &format!("{at}/{name}"), schema, definitions, objects);
        if let Some(items) = meant.get("items") {
            check(whole, &format!("{at}/{name}/0"), items, definitions, objects);
        }
    }
}

#[test]
fn the_members_are_the_hosts() {
    let schema = schema();
    let definitions = &schema["$defs"];
    let whole = full(&schema, definitions, "");
    // Nothing is lost between reading and writing.
    let envelope = read(&whole).unwrap();
    assert_eq!(serde_json::to_value(&envelope).unwrap(), whole);
    let mut objects = 0;
    check(&whole, "", &schema, definitions, &mut objects);
    let described = definitions.as_object().unwrap().values().filter(|one| one.get("properties").is_some());
    assert_eq!(objects, described.count() + 1, "an object was not looked at");
}
