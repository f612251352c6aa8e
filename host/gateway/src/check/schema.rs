//! A connection's settings against its connector's config schema.

use super::Findings;
use crate::config::{ConnectionConfig, shown, shown_path};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, ValidationError};
use serde_json::Value;

pub(super) fn judge(findings: &mut Findings<'_>, connection: &ConnectionConfig, schema: &Value) {
    let validator =
        jsonschema::options().with_draft(Draft::Draft202012).should_validate_formats(true).build(schema);
    let Ok(validator) = validator else {
        let what = "the connector's config schema can't be used";
        let todo =
            "ask the connector's author: it must be a JSON Schema (2020-12) without outside references";
        findings.at(connection, connection.connector.place, "connector", what, todo);
        return;
    };
    for error in validator.iter_errors(connection.settings.json()) {
        let pointer = error.instance_path().as_str();
        let place = connection.settings.place(pointer);
        let (what, todo) = told(&error, schema);
        findings.at(connection, place, &shown_path("config", pointer), what, todo);
    }
}

/// What is wrong, in the words of the schema. The value and the library's own message, which quotes
/// it, are left out.
fn told(error: &ValidationError<'_>, schema: &Value) -> (String, String) {
    if let ValidationErrorKind::Required { property } = error.kind() {
        let name = property.as_str().map_or("?", shown);
        return (format!("lacks `{name}`, which the connector requires"), format!("add `{name} = …`"));
    }
    if let ValidationErrorKind::AdditionalProperties { unexpected }
    | ValidationErrorKind::UnevaluatedProperties { unexpected } = error.kind()
    {
        let names: Vec<&str> = unexpected.iter().map(|name| shown(name)).collect();
        let what = format!("has keys that the connector does not know: {}", names.join(", "));
        let known = error.schema_path().as_str().rsplit_once('/').and_then(|(parent, _)| {
            let properties = schema.pointer(parent)?.get("properties")?.as_object()?;
            Some(properties.keys().map(String::as_str).collect::<Vec<_>>().join(", "))
        });
        let todo = match known.filter(|known| !known.is_empty()) {
            Some(known) => format!("remove them; known here: {known}"),
            None => "remove them".to_owned(),
        };
        return (what, todo);
    }
    let rule = error.kind().keyword();
    let wanted = schema.pointer(error.schema_path().as_str()).map(Value::to_string);
    let rule = match wanted.filter(|wanted| wanted.len() <= 120) {
        Some(wanted) => format!("`\"{rule}\": {wanted}`"),
        None => format!("`{rule}`"),
    };
    (
        format!("breaks the connector's config schema: {rule}"),
        "write a value that the schema allows".to_owned(),
    )
}
