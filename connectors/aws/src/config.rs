//! Which service a connection is for. The host signs for the service and region that the connection's
//! credential names, so one connection is for one service; an operation of another one is refused here,
//! before anything is sent.

use crate::api;
use proofport_sdk::{Call, Fault, Value, json};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Config {
    sqs: Option<Sqs>,
    s3: Option<S3>,
    dynamodb: Option<DynamoDb>,
    ec2: Option<Ec2>,
}

/// A connection to SQS.
#[derive(Deserialize)]
pub(crate) struct Sqs {
    queues_at: String,
}

impl Sqs {
    /// The URL of one of the queues.
    pub(crate) fn queue_url(&self, queue: &str) -> String {
        format!("{}/{queue}", self.queues_at)
    }
}

/// A connection to one bucket of S3.
#[derive(Deserialize)]
pub(crate) struct S3 {
    /// Named in the path; none: the origin's host names it.
    pub(crate) bucket: Option<String>,
    /// Whether an object that isn't there was never made.
    #[serde(default)]
    pub(crate) never_deleted: bool,
}

/// A connection to tables of `DynamoDB`.
#[derive(Deserialize)]
pub(crate) struct DynamoDb {
    /// The attributes of each table's primary key.
    pub(crate) tables: BTreeMap<String, Vec<String>>,
}

/// A connection to EC2.
#[derive(Deserialize)]
pub(crate) struct Ec2 {}

/// What an operation of SQS needs.
///
/// # Errors
/// [`Fault::Input`] where the connection is for another service.
pub(crate) fn sqs(call: &Call) -> Result<Sqs, Fault> {
    call.config::<Config>()?.sqs.ok_or_else(other_service)
}

/// What an operation of S3 needs.
///
/// # Errors
/// [`Fault::Input`] where the connection is for another service.
pub(crate) fn s3(call: &Call) -> Result<S3, Fault> {
    call.config::<Config>()?.s3.ok_or_else(other_service)
}

/// What an operation of `DynamoDB` needs.
///
/// # Errors
/// [`Fault::Input`] where the connection is for another service.
pub(crate) fn dynamodb(call: &Call) -> Result<DynamoDb, Fault> {
    call.config::<Config>()?.dynamodb.ok_or_else(other_service)
}

/// What an operation of EC2 needs.
///
/// # Errors
/// [`Fault::Input`] where the connection is for another service.
pub(crate) fn ec2(call: &Call) -> Result<Ec2, Fault> {
    call.config::<Config>()?.ec2.ok_or_else(other_service)
}

fn other_service() -> Fault {
    Fault::field("")
}

/// The schema of a connection's config: one service, and what it needs.
pub(crate) fn schema() -> Value {
    let queues_at = json!({
        "type": "string",
        "pattern": "^https?://[^\\s?#]*[^\\s?#/]$",
        "description": "What the queues' URLs begin with: https://sqs.REGION.amazonaws.com/ACCOUNT",
    });
    let bucket = json!({
        "type": "string",
        "pattern": "^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$",
        "description": "The bucket, put into the path. Left out where the origin's host names it.",
    });
    let never_deleted = json!({
        "type": "boolean",
        "description": "Nothing deletes objects here, so that one that is not there was never made. \
                        A create whose answer was lost can then be found not to have happened.",
    });
    let tables = json!({
        "type": "object",
        "description": "The tables that may be written, each with its primary key: the partition key, \
                        and the sort key where there is one.",
        "propertyNames": { "pattern": "^[A-Za-z0-9_.-]{3,255}$" },
        "additionalProperties": {
            "type": "array",
            "items": { "type": "string", "minLength": 1, "maxLength": 255 },
            "minItems": 1,
            "maxItems": 2,
            "uniqueItems": true,
        },
        "minProperties": 1,
    });
    let services = json!({
        "sqs": api::object(json!({ "queues_at": queues_at }), &["queues_at"]),
        "s3": api::object(json!({ "bucket": bucket, "never_deleted": never_deleted }), &[]),
        "dynamodb": api::object(json!({ "tables": tables }), &["tables"]),
        "ec2": api::object(json!({}), &[]),
    });
    json!({
        "type": "object",
        "properties": services,
        "additionalProperties": false,
        "minProperties": 1,
        "maxProperties": 1,
    })
}
