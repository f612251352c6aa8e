//! Canonical JSON: one text for one value, so that "byte-equal canonical input" has a meaning.

use serde_json::Value;

/// The canonical text of a value: members sorted by the bytes of their names, no white space,
/// numbers as `serde_json` prints them after parsing, strings with the shortest escapes.
///
/// This is RFC 8785 but for numbers: integers up to 64 bits keep their exact digits instead of
/// passing through a double, because an amount of money must not.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string())
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
            out.push('{');
            for (i, (name, member)) in sorted.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(name.clone()).to_string());
                out.push(':');
                write(member, out);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_for_one_value() {
        let check = |text: &str, expected: &str| {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(canonical(&value), expected);
        };
        check(r#"{ "b": [1, 2 ], "a": {"z":null,"y":true} }"#, r#"{"a":{"y":true,"z":null},"b":[1,2]}"#);
        check(r#"{"é":"é","e":"A"}"#, r#"{"e":"A","é":"é"}"#);
        check("18446744073709551615", "18446744073709551615");
        check("9007199254740993", "9007199254740993");
    }
}
