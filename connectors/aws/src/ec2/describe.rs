//! Looking up instances (`DescribeInstances`).

use super::{VERSION, instance};
use crate::{api, config, failure};
use proofport_sdk::{Call, Fault, HttpRequest, HttpResponse, Operation, Step, json};
use serde::Deserialize;

#[derive(Deserialize)]
struct Describe {
    instance_ids: Vec<String>,
}

pub(crate) fn declare() -> Operation {
    let ids = json!({
        "type": "array",
        "items": instance::id(),
        "minItems": 1,
        "maxItems": 100,
        "uniqueItems": true,
    });
    api::common(Operation::read("ec2_describe_instances"), &[])
        .summary("Look up instances by their ids.")
        .input(&api::object(json!({ "instance_ids": ids }), &["instance_ids"]))
        .output(&instance::list())
}

pub(crate) fn describe(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    if let Some(response) = answer {
        let verdict = failure::xml_verdict(response);
        return Ok(match verdict.success {
            true => verdict.output(json!({ "instances": instance::read(response, |_| true)? })).into(),
            false => verdict.into(),
        });
    }
    config::ec2(call)?;
    let Describe { instance_ids } = call.input()?;
    let request = HttpRequest::get("/").query("Action", "DescribeInstances").query("Version", VERSION);
    let request = (1..).zip(&instance_ids).fold(request, |request: HttpRequest, (n, id): (u32, &String)| {
        request.query(&format!("InstanceId.{n}"), id)
    });
    Ok(request.credential(api::SLOT).as_query("Look up instances"))
}
