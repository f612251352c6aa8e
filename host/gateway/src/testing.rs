//! Shared values for this crate's tests.

use proofport_core::contract::{Effect, InjectionMode, KeyPlace, KeyedContract, Repeat};
use proofport_core::id::Name;
use proofport_core::manifest::{Contract, CredentialSlot, Manifest, Operation, QueryTemplate, Reconcile};
use serde_json::json;

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// One slot, `api_key`; one keyed write, `charge`; settings `account` (required) and `level`.
pub(crate) fn manifest() -> Manifest {
    Manifest {
        name: name("shop"),
        version: "1.2.3".to_owned(),
        summary: "A shop.".to_owned(),
        config_schema: json!({
            "type": "object",
            "properties": {
                "account": { "type": "string", "pattern": "^acct_[0-9]+$" },
                "level": { "type": "integer", "maximum": 9 },
                "deep": { "type": "object", "properties": { "when": { "type": "string", "format": "date" } } },
            },
            "required": ["account"],
            "additionalProperties": false,
        }),
        credential_slots: vec![CredentialSlot {
            name: name("api_key"),
            purpose: "The secret key.".to_owned(),
            modes: vec![InjectionMode::HttpBearer, InjectionMode::HttpHeader],
        }],
        operations: vec![Operation {
            name: name("charge"),
            summary: "Charges.".to_owned(),
            input_schema: json!({ "type": "object" }),
            output_schema: json!({ "type": "object", "properties": { "ratio": { "maximum": 0.1 } } }),
            failure_schema: None,
            child_output_schema: None,
            contract: Contract {
                effect: Effect::Write,
                repeat: Repeat::Keyed(KeyedContract {
                    place: KeyPlace::Header("x-request-key".to_owned()),
                    scope: "account".to_owned(),
                    retention_seconds: Some(86_400),
                    compares_payload: true,
                    running_status: Some(409),
                    replay_header: None,
                }),
                statuses_before_work: vec![429],
                reconcile: Some(Reconcile { absence_settles_after_seconds: Some(60), automatic: false }),
                batch: None,
                job_operation: None,
                completion_marker: None,
                stop_grace_seconds: None,
            },
            stores_content: false,
            raw_commands: false,
            kept_headers: vec!["x-request-id".to_owned()],
        }],
        query_templates: vec![QueryTemplate::Http { method: "POST".to_owned(), path: "/search".to_owned() }],
    }
}
