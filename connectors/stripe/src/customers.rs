//! Customers (`/v1/customers`).

use crate::search::{self, Found, Metadata, Search};
use crate::{api, config};
use proofport_sdk::{
    Call, Evidence, Exchange, Fault, HttpRequest, HttpResponse, Operation, Reason, ReconcileStep, Step,
    Value, Verdict, json,
};
use serde::{Deserialize, Serialize};

const PATH: &str = "/v1/customers";

#[derive(Deserialize)]
struct Create {
    email: Option<String>,
    name: Option<String>,
    phone: Option<String>,
    description: Option<String>,
}

#[derive(Deserialize)]
struct Retrieve {
    customer: String,
}

/// The part of a customer that is passed on, and the mark by which it is found.
#[derive(Deserialize, Serialize)]
struct Customer {
    id: String,
    email: Option<String>,
    name: Option<String>,
    created: u64,
    livemode: bool,
    #[serde(default, skip_serializing)]
    metadata: Metadata,
}

impl Found for Customer {
    fn id(&self) -> &str {
        &self.id
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

/// Retrieving a deleted customer succeeds and says so.
#[derive(Deserialize)]
struct Deletion {
    #[serde(default)]
    deleted: bool,
}

pub(crate) fn declare_create() -> Operation {
    let input = json!({
        "email": api::text(512),
        "name": api::text(256),
        "phone": api::text(20),
        "description": api::text(350),
    });
    api::write("create_customer")
        .summary("Create a customer.")
        .input(&api::object(input, &[]))
        .output(&schema())
}

pub(crate) fn declare_retrieve() -> Operation {
    api::read("retrieve_customer")
        .summary("Look up a customer by its id.")
        .input(&api::object(json!({ "customer": api::id("cus") }), &["customer"]))
        .output(&schema())
}

fn schema() -> Value {
    let properties = json!({
        "id": api::id("cus"),
        "email": api::nullable(json!({ "type": "string", "maxLength": 512 })),
        "name": api::nullable(json!({ "type": "string", "maxLength": 256 })),
        "created": api::time(),
        "livemode": { "type": "boolean" },
    });
    api::object(properties, &["id", "email", "name", "created", "livemode"])
}

pub(crate) fn create(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    if let Some(response) = answer {
        return Ok(api::read_answer::<Customer>(response)?.into());
    }
    let Create { email, name, phone, description } = call.input()?;
    let given = [("email", email), ("name", name), ("phone", phone), ("description", description)];
    let fields = given.into_iter().filter_map(|(field, value)| Some((field, value?))).collect();
    let request = HttpRequest::post(PATH).form(&api::marked(call, fields));
    Ok(api::authenticated(request).as_effect("Create a customer"))
}

pub(crate) fn retrieve(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    let Some(response) = answer else {
        let Retrieve { customer } = call.input()?;
        let request = HttpRequest::get(PATH).segment(&customer)?;
        return Ok(api::authenticated(request).as_query("Look up one customer"));
    };
    if response.status == 200 && response.json::<Deletion>()?.deleted {
        return Ok(Verdict::rejected(Reason::NotFound).into());
    }
    Ok(api::read_answer::<Customer>(response)?.into())
}

pub(crate) fn find_created(
    call: &Call,
    evidence: &Evidence,
    history: &[Exchange],
) -> Result<ReconcileStep, Fault> {
    let search = Search {
        path: PATH,
        filters: search::created_around(evidence),
        // A customer that was deleted is in no list.
        shows_all: config::read(call)?.customers_never_deleted,
        what: "the customer",
    };
    search.step::<Customer>(call, history)
}
