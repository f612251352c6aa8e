//! Nothing is wrong with this one but what it says of the whole: it takes every 200 for a success, as clients
//! of bulk endpoints do, and hands on what the answer says of each child. `send` promises nothing, `same` is
//! idempotent, `keyed` gives each child a key of its own, `header` has one key for the request, and in
//! `atomic` all stand or fall together.

use proofport_sdk::{
    BatchContract, BatchMode, Call, ChildVerdict, Connector, Evidence, Exchange, Fault, HttpRequest,
    HttpResponse, InjectionMode, KeyPlace, KeyedContract, Manifest, Operation, Reason, ReconcileStep, Repeat,
    Slot, Step, Terms, Verdict, json, key_in_connector, key_in_header,
};
use serde::Deserialize;

struct Batch;

proofport_sdk::export!(Batch);

#[derive(Deserialize)]
struct Input {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    id: String,
}

/// What the remote says of one child; a status of 0 says nothing.
#[derive(Deserialize)]
struct Entry {
    index: u32,
    id: String,
    status: u16,
    #[serde(rename = "ref")]
    reference: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    items: Vec<Entry>,
}

impl Connector for Batch {
    fn describe(_config: &str) -> Manifest {
        let keyed =
            |place: KeyPlace| Repeat::Keyed(KeyedContract::new(place, "account").retention_seconds(86_400));
        let output = json!({
            "type": "object",
            "properties": { "ref": { "type": "string" } },
            "required": ["ref"],
            "additionalProperties": false,
        });
        let each = || BatchContract::new("/items", "/id", BatchMode::Independent, 3).child_output(&output);
        Manifest::new("batch", "0.1.0", "Writes several things at once.")
            .slot(Slot::new("key", "Authenticates requests.", &[InjectionMode::HttpBearer]))
            .operation(write("send", Repeat::None).batch(each()))
            .operation(write("same", Repeat::Idempotent).batch(each()))
            .operation(write("keyed", keyed(key_in_connector())).batch(each()))
            .operation(write("header", keyed(key_in_header("idempotency-key"))).batch(each()))
            .operation(write("atomic", Repeat::None).batch(BatchContract::new(
                "/items",
                "/id",
                BatchMode::Atomic,
                3,
            )))
    }

    fn next(call: &Call, history: &[Exchange]) -> Result<Step, Fault> {
        let Some(exchange) = history.last() else {
            let Input { items } = call.input()?;
            let key = call.idempotency_key.as_deref().filter(|_| call.operation == "keyed");
            let item = |item: &Item| match key {
                Some(key) => json!({ "id": item.id, "key": format!("{key}-{}", item.id) }),
                None => json!({ "id": item.id }),
            };
            let named = format!("{} {}", call.reference, call.accepted_at);
            let body = json!({ "items": items.iter().map(item).collect::<Vec<_>>(), "call": named });
            return Ok(HttpRequest::post("/batch").credential("key").json(&body).as_effect("Write them"));
        };
        let response = exchange.http()?;
        let verdict = response.verdict(Terms::NONE);
        if !verdict.success {
            // A refusal may say of each child why.
            return Ok(verdict.children(children(response, Entry::written).unwrap_or_default()).into());
        }
        Ok(verdict.output(json!({})).children(children(response, Entry::written)?).into())
    }

    fn reconcile(_: &Call, _: &Evidence, history: &[Exchange]) -> Result<ReconcileStep, Fault> {
        let Some(exchange) = history.last() else {
            return Ok(HttpRequest::get("/batch").credential("key").as_query("Ask"));
        };
        let verdict = Verdict::unknown(Reason::Unreadable);
        Ok(verdict.children(children(exchange.http()?, Entry::found)?).into())
    }
}

fn write(name: &str, repeat: Repeat) -> Operation {
    let item = json!({ "type": "object", "properties": { "id": {} } });
    let items = json!({ "type": "array", "items": item });
    let input = json!({ "type": "object", "properties": { "items": items } });
    Operation::write(name, repeat)
        .summary("Write several things.")
        .input(&input)
        .kept_headers(&["retry-after"])
        .reconcile(Some(0), false)
}

fn children(
    response: &HttpResponse,
    of: impl Fn(&Entry) -> ChildVerdict,
) -> Result<Vec<ChildVerdict>, Fault> {
    let Answer { items } = response.json()?;
    Ok(items.iter().map(of).collect())
}

impl Entry {
    fn written(&self) -> ChildVerdict {
        match self.status {
            200..=299 => self.output(ChildVerdict::committed(self.index, &self.id)),
            429 => ChildVerdict::rejected(self.index, &self.id, Reason::RateLimited),
            400..=499 => ChildVerdict::rejected(self.index, &self.id, Reason::Conflict),
            _ => ChildVerdict::unknown(self.index, &self.id, Reason::Unreadable),
        }
    }

    fn found(&self) -> ChildVerdict {
        match self.status {
            200 => self.output(ChildVerdict {
                reason: Reason::Present,
                ..ChildVerdict::committed(self.index, &self.id)
            }),
            404 => ChildVerdict::rejected(self.index, &self.id, Reason::Absent),
            _ => ChildVerdict::unknown(self.index, &self.id, Reason::Unreadable),
        }
    }

    fn output(&self, verdict: ChildVerdict) -> ChildVerdict {
        match &self.reference {
            Some(reference) => verdict.output(json!({ "ref": reference })),
            None => verdict,
        }
    }
}
