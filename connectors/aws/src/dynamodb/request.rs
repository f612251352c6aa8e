//! One put or delete of a batch.

use crate::api;
use proofport_sdk::{Fault, Value, json};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Where the requests are in the input.
pub(super) const REQUESTS: &str = "/requests";

/// An item, or a primary key: attributes by name, each a value with its type (`{"S": "text"}`).
type Attributes = BTreeMap<String, Value>;

#[derive(Deserialize)]
pub(super) struct Write {
    pub(super) id: String,
    pub(super) table: String,
    put: Option<Attributes>,
    delete: Option<Attributes>,
}

/// A request that was handed back.
#[derive(Deserialize)]
pub(super) struct Unprocessed {
    #[serde(rename = "PutRequest")]
    put: Option<Put>,
    #[serde(rename = "DeleteRequest")]
    delete: Option<Delete>,
}

#[derive(Deserialize)]
struct Put {
    #[serde(rename = "Item")]
    item: Attributes,
}

#[derive(Deserialize)]
struct Delete {
    #[serde(rename = "Key")]
    key: Attributes,
}

impl Write {
    pub(super) fn parameters(&self) -> Value {
        match &self.put {
            Some(item) => json!({ "PutRequest": { "Item": item } }),
            None => json!({ "DeleteRequest": { "Key": self.delete } }),
        }
    }

    /// What the table identifies the item by; none where an attribute of the key is missing, is of no
    /// type that a key can have, or is a number in another spelling than the shortest.
    fn key<'a>(&'a self, names: &[String]) -> Option<Vec<&'a Value>> {
        let attributes = self.put.as_ref().or(self.delete.as_ref())?;
        names.iter().map(|name| attributes.get(name).filter(|value| is_key(value))).collect()
    }
}

impl Unprocessed {
    /// Whether this is that request, by what it does and the primary key.
    pub(super) fn is(&self, request: &Write, key: &[String]) -> bool {
        let same = |ours: &Option<Attributes>, theirs: &Attributes| {
            let ours = ours.as_ref();
            ours.is_some_and(|ours| {
                key.iter().all(|name| ours.contains_key(name) && ours.get(name) == theirs.get(name))
            })
        };
        match (&self.put, &self.delete) {
            (Some(put), None) => same(&request.put, &put.item),
            (None, Some(delete)) => same(&request.delete, &delete.key),
            (_, _) => false,
        }
    }
}

/// Finds what can't be carried out: other tables than the connection's, a delete by anything but the
/// whole key, ids that are not distinct, and two requests for one item, for which the whole batch would
/// be refused.
pub(super) fn check(requests: &[Write], tables: &BTreeMap<String, Vec<String>>) -> Result<(), Fault> {
    let (mut ids, mut items) = (BTreeSet::new(), BTreeSet::new());
    let wrong = requests.iter().enumerate().filter_map(|(index, request)| {
        let item = if request.put.is_some() { "/put" } else { "/delete" };
        let field = match tables.get(&request.table) {
            _ if !ids.insert(&request.id) => "/id",
            None => "/table",
            Some(names) => match request.key(names) {
                None => item,
                Some(_) if request.delete.as_ref().is_some_and(|key| key.len() != names.len()) => item,
                Some(key) if !items.insert((&request.table, json!(key).to_string())) => item,
                Some(_) => return None,
            },
        };
        Some(api::pointer(REQUESTS, index, field))
    });
    let wrong: Vec<_> = wrong.collect();
    if wrong.is_empty() { Ok(()) } else { Err(Fault::Input(wrong)) }
}

/// Whether a value can be a part of a key. A number has many spellings and is one key, so that only one
/// of them is taken.
fn is_key(value: &Value) -> bool {
    let text = |kind| value.get(kind).and_then(Value::as_str);
    match (text("S"), text("N"), text("B")) {
        (Some(text), None, None) | (None, None, Some(text)) => !text.is_empty(),
        (None, Some(number), None) => is_shortest(number),
        (_, _, _) => false,
    }
}

/// Whether this is a decimal number without sign of plus, exponent or a zero too many.
fn is_shortest(number: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let magnitude = number.strip_prefix('-').unwrap_or(number);
    let (whole, fraction) = match magnitude.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (magnitude, None),
    };
    let whole_is = digits(whole) && (whole == "0" || !whole.starts_with('0'));
    let fraction_is = fraction.is_none_or(|fraction| digits(fraction) && !fraction.ends_with('0'));
    whole_is && fraction_is && number != "-0"
}

/// The schema of one request.
pub(super) fn schema() -> Value {
    let attributes = |what: &str| {
        json!({
            "type": "object",
            "description": what,
            "additionalProperties": { "$ref": "#/$defs/attribute" },
            "minProperties": 1,
        })
    };
    let properties = json!({
        "id": api::pattern("^[!-~]{1,128}$"),
        "table": { "type": "string" },
        "put": attributes("The whole item, by attribute: {\"pk\": {\"S\": \"a\"}, \"n\": {\"N\": \"1\"}}."),
        "delete": attributes("The primary key of the item."),
    });
    let mut schema = api::object(properties, &["id", "table"]);
    schema["oneOf"] = json!([{ "required": ["put"] }, { "required": ["delete"] }]);
    schema
}

/// The schema of an attribute's value (`AttributeValue`).
pub(super) fn definitions() -> Value {
    let text = json!({ "type": "string" });
    let set = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "uniqueItems": true });
    let value = json!({ "$ref": "#/$defs/attribute" });
    let types = json!({
        "S": text, "N": text, "B": text, "SS": set, "NS": set, "BS": set,
        "BOOL": { "type": "boolean" },
        "NULL": { "const": true },
        "L": { "type": "array", "items": value },
        "M": { "type": "object", "additionalProperties": value },
    });
    json!({
        "attribute": {
            "type": "object",
            "properties": types,
            "additionalProperties": false,
            "minProperties": 1,
            "maxProperties": 1,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::is_shortest;

    #[test]
    fn a_number_has_one_spelling() {
        let check = |text: &str, expected: bool| assert_eq!(is_shortest(text), expected, "{text:?}");
        for good in ["0", "1", "10", "-1", "0.5", "-0.5", "12.25", "100"] {
            check(good, true);
        }
        for bad in ["", "-", "+1", "01", "1.0", "1.", ".5", "-0", "0.0", "1e2", "1.50", "--1", "1.2.3", " 1"]
        {
            check(bad, false);
        }
    }
}
