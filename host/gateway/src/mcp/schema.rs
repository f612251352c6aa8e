//! The schema of every tool's output: the envelope's, without the prose. It is listed with each tool, and a
//! model pays for every word; `docs/envelope.schema.json` explains the fields.

use proofport_core::envelope;
use rmcp::model::JsonObject;
use serde_json::Value;
use std::sync::{Arc, LazyLock};

static OUTPUT: LazyLock<Arc<JsonObject>> = LazyLock::new(|| {
    let mut schema = envelope::json_schema();
    shorten(&mut schema);
    Arc::new(match schema {
        Value::Object(root) => root,
        // An envelope is an object, and so its schema is one.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            JsonObject::new()
        }
    })
});

/// The output schema of every tool.
pub(super) fn output() -> Arc<JsonObject> {
    Arc::clone(&OUTPUT)
}

/// Takes out what only people read, and formats that validators of other languages don't know.
fn shorten(schema: &mut Value) {
    match schema {
        Value::Object(entries) => {
            // Below `properties` and `$defs` every key is a name.
            for (keyword, entry) in entries.iter_mut() {
                match entry {
                    Value::Object(named) if keyword == "properties" || keyword == "$defs" => {
                        named.values_mut().for_each(shorten);
                    }
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Array(_)
                    | Value::Object(_) => shorten(entry),
                }
            }
            for keyword in ["description", "format", "$schema"] {
                entries.remove(keyword);
            }
            let words: Option<Vec<Value>> = entries
                .get("oneOf")
                .and_then(Value::as_array)
                .and_then(|arms| arms.iter().map(|arm| arm.get("const").cloned()).collect());
            if let Some(words) = words {
                entries.remove("oneOf");
                entries.insert("type".to_owned(), Value::from("string"));
                entries.insert("enum".to_owned(), Value::Array(words));
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofport_core::code::Code;
    use proofport_core::envelope::Envelope;

    #[test]
    fn the_short_schema_takes_what_the_long_one_takes() {
        let short = Value::Object(output().as_ref().clone());
        assert_eq!(short["type"], "object");
        assert!(!short.to_string().contains("\"description\""));
        let long = jsonschema::validator_for(&envelope::json_schema()).unwrap();
        let short = jsonschema::validator_for(&short).unwrap();
        let check = |envelope: Value, fits: bool| {
            assert_eq!((long.is_valid(&envelope), short.is_valid(&envelope)), (fits, fits), "{envelope}");
        };
        for code in Code::ALL {
            check(serde_json::to_value(Envelope::refusal(*code, None)).unwrap(), true);
        }
        check(serde_json::to_value(Envelope::out_of_touch(None, None)).unwrap(), true);
        check(serde_json::to_value(Envelope::unreached(None)).unwrap(), true);
        let mut other = serde_json::to_value(Envelope::unreached(None)).unwrap();
        other["code"] = Value::from("SOMETHING_ELSE");
        check(other.clone(), false);
        other["code"] = Value::from("INTERNAL");
        other["more"] = Value::from(1);
        check(other, false);
    }
}
