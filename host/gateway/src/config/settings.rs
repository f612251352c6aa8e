//! The part of a connection that goes to its connector: TOML as JSON, with places kept so that the
//! connector's schema can be checked later and still name a line.

use super::problem::{Place, shown};
use super::reader::{Field, Reader};
use proofport_core::canonical::canonical;
use proofport_core::digest::Digest;
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use toml::de::DeValue;

/// A connection's `config`, as its connector sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    json: Value,
    place: Place,
    /// Where each member stands, by JSON Pointer.
    places: BTreeMap<String, Place>,
}

impl Settings {
    /// No settings, as if declared at `place`.
    pub(super) fn none(place: Place) -> Self {
        Self { json: Value::Object(Map::new()), place, places: BTreeMap::new() }
    }

    /// The settings as a JSON object.
    #[must_use]
    pub const fn json(&self) -> &Value {
        &self.json
    }

    /// The canonical text that the connector is given.
    #[must_use]
    pub fn canonical(&self) -> String {
        canonical(&self.json)
    }

    /// A digest of the canonical text.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of_parts("proofport.settings/1", &[self.canonical().as_bytes()])
    }

    /// Where the value with this JSON Pointer stands; for one that doesn't, its nearest container.
    #[must_use]
    pub fn place(&self, pointer: &str) -> Place {
        let mut rest = pointer;
        loop {
            if let Some(place) = self.places.get(rest) {
                return *place;
            }
            match rest.rfind('/') {
                Some(end) => rest = &rest[..end],
                None => return self.place,
            }
        }
    }
}

/// Reads `config`.
pub(super) fn read<'a>(reader: &mut Reader<'a>, field: &Field<'a>) -> Settings {
    let mut settings = Settings::none(field.key_place);
    if !field.value.is_table() {
        reader.wrong_type(field, "a table");
        return settings;
    }
    if let Some(json) = value(reader, field, "", &mut settings.places) {
        settings.json = json;
    }
    settings
}

fn value<'a>(
    reader: &mut Reader<'a>,
    field: &Field<'a>,
    pointer: &str,
    places: &mut BTreeMap<String, Place>,
) -> Option<Value> {
    places.insert(pointer.to_owned(), if field.value.is_table() { field.key_place } else { field.place });
    match field.value {
        DeValue::String(text) => Some(Value::String(text.clone().into_owned())),
        DeValue::Boolean(boolean) => Some(Value::Bool(*boolean)),
        DeValue::Integer(integer) => {
            let (digits, radix) = (integer.as_str(), integer.radix());
            let number = i64::from_str_radix(digits, radix).map(Number::from);
            let number = number.or_else(|_| u64::from_str_radix(digits, radix).map(Number::from)).ok();
            if number.is_none() {
                reader.report(field.place, &field.path, "does not fit into 64 bits", "write it as a string");
            }
            number.map(Value::Number)
        }
        DeValue::Float(float) => {
            let number = float.as_str().parse::<f64>().ok().and_then(Number::from_f64);
            if number.is_none() {
                let todo = "write a finite number, or a string";
                reader.report(field.place, &field.path, "is a number that JSON does not have", todo);
            }
            number.map(Value::Number)
        }
        DeValue::Datetime(_) => {
            let what = "is a date or time, which JSON does not have";
            reader.report(field.place, &field.path, what, "write it as a string in double quotes");
            None
        }
        DeValue::Array(_) => {
            let mut items = Vec::new();
            for (index, element) in reader.elements(field)?.iter().enumerate() {
                items.extend(value(reader, element, &format!("{pointer}/{index}"), places));
            }
            Some(Value::Array(items))
        }
        DeValue::Table(_) => {
            let section = reader.section(field)?;
            let mut members = Map::new();
            for member in reader.fields(&section) {
                let name = member.key.replace('~', "~0").replace('/', "~1");
                if let Some(json) = value(reader, &member, &format!("{pointer}/{name}"), places) {
                    members.insert(member.key.to_owned(), json);
                }
            }
            Some(Value::Object(members))
        }
    }
}

/// The path of a setting as problems show it: `connections.shop.config.account.id` for `/account/id`.
pub(crate) fn shown_path(base: &str, pointer: &str) -> String {
    let mut path = base.to_owned();
    for segment in pointer.split('/').skip(1) {
        match segment.parse::<usize>() {
            Ok(index) => path.push_str(&format!("[{index}]")),
            Err(_) => {
                path.push('.');
                path.push_str(shown(segment));
            }
        }
    }
    path
}
