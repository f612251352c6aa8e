//! Amazon `DynamoDB`, by its JSON protocol: up to 25 puts and deletes at once (`BatchWriteItem`).
//!
//! Each put and delete is unconditional and says the whole of what shall be, so the same batch any number
//! of times has the effect of one (RFC 9110 section 9.2.2). That is said of the batch alone: what others
//! wrote to the same items in between is overwritten by a repeat as it is by any put.
//!
//! `DynamoDB` does what it can of a batch and hands back the rest, so each request has a fate of its own;
//! what it hands back carries no id, and is recognised by table and primary key.

mod request;

use crate::batch::{self, Fate};
use crate::{api, config, failure};
use proofport_sdk::{
    BatchContract, BatchMode, Call, Fault, HttpResponse, Operation, Reason, Repeat, Step, Value, Verdict,
    json,
};
use request::{REQUESTS, Unprocessed, Write};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

const TARGET: &str = "DynamoDB_20120810.BatchWriteItem";

/// The most puts and deletes of a batch.
const MOST: u32 = 25;

#[derive(Deserialize)]
struct Batch {
    requests: Vec<Write>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "UnprocessedItems")]
    unprocessed: BTreeMap<String, Vec<Unprocessed>>,
}

pub(crate) fn declare() -> Operation {
    let requests = json!({ "type": "array", "items": request::schema(), "minItems": 1, "maxItems": MOST });
    let mut input = api::object(json!({ "requests": requests }), &["requests"]);
    input["$defs"] = request::definitions();
    let written = json!({ "type": "integer", "minimum": 0 });
    api::common(Operation::write("dynamodb_batch_write", Repeat::Idempotent), &[])
        .summary("Put and delete up to 25 items in the connection's tables; each has a fate of its own.")
        .input(&input)
        .output(&api::object(json!({ "written": written }), &["written"]))
        .batch(BatchContract::new(REQUESTS, "/id", BatchMode::Independent, MOST))
}

pub(crate) fn write(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    let Batch { requests } = call.input()?;
    let tables = config::dynamodb(call)?.tables;
    if let Some(response) = answer {
        return Ok(read(requests, &tables, response)?.into());
    }
    request::check(&requests, &tables)?;
    let mut items: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for request in &requests {
        items.entry(&request.table).or_default().push(request.parameters());
    }
    let names: Vec<_> = items.keys().copied().collect();
    let summary = format!("Write or delete {} items in {}", requests.len(), names.join(", "));
    Ok(api::json_request(TARGET, &json!({ "RequestItems": items })).as_effect(summary))
}

fn read(
    requests: Vec<Write>,
    tables: &BTreeMap<String, Vec<String>>,
    response: &HttpResponse,
) -> Result<Verdict, Fault> {
    let verdict = failure::json_verdict(response);
    if !verdict.success {
        return Ok(batch::whole(requests.into_iter().map(|request| request.id), verdict));
    }
    let Answer { unprocessed } = response.json()?;
    let (mut left, mut unclear) = (BTreeSet::new(), BTreeSet::new());
    for (table, items) in &unprocessed {
        for item in items {
            let same = |request: &Write| {
                request.table == *table && tables.get(table).is_some_and(|key| item.is(request, key))
            };
            match requests.iter().position(same) {
                Some(index) => _ = left.insert(index),
                // One of this table's was not carried out, and nobody can say which.
                None => _ = unclear.insert(table.clone()),
            }
        }
    }
    let written = requests.len();
    let fates = requests.into_iter().enumerate().map(|(index, request)| {
        let fate = if left.contains(&index) {
            // Documented as not carried out, for want of throughput or by an internal failure.
            Fate::Refused(Reason::Unavailable, None)
        } else if unclear.contains(&request.table) {
            Fate::Missing
        } else {
            Fate::Done(None)
        };
        (request.id, fate)
    });
    Ok(batch::verdict(fates.collect(), json!({ "written": written })))
}
