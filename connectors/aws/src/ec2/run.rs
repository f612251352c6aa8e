//! Launching instances (`RunInstances`), once per client token.

use super::{VERSION, instance};
use crate::{api, config, failure, xml};
use data_encoding::BASE64;
use proofport_sdk::{
    Call, Fault, HttpRequest, HttpResponse, KeyedContract, Operation, Reason, ReconcileStep, Repeat, Step,
    Verdict, json, key_in_connector,
};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Run {
    image_id: String,
    instance_type: String,
    count: u32,
    subnet_id: Option<String>,
    #[serde(default)]
    security_group_ids: Vec<String>,
    key_name: Option<String>,
    user_data: Option<String>,
    #[serde(default)]
    tags: BTreeMap<String, String>,
}

/// What EC2 publishes on client tokens ("Ensuring idempotency"): the same request again has no further
/// effect, and with other parameters it is refused. A token is good for one region of an account. For how
/// long it is remembered the present documentation does not say.
fn contract() -> KeyedContract {
    KeyedContract::new(key_in_connector(), "account+region").compares_payload()
}

pub(crate) fn declare() -> Operation {
    let tags = json!({
        "type": "object",
        "propertyNames": { "pattern": "^(?![aA][wW][sS]:).{1,128}$" },
        "additionalProperties": { "type": "string", "maxLength": 256 },
        "maxProperties": 50,
    });
    let groups = json!({
        "type": "array",
        "items": api::pattern("^sg-[0-9a-f]{8,17}$"),
        "minItems": 1,
        "maxItems": 16,
        "uniqueItems": true,
    });
    let input = json!({
        "image_id": instance::image_id(),
        "instance_type": instance::instance_type(),
        "count": { "type": "integer", "minimum": 1, "maximum": 100 },
        "subnet_id": api::pattern("^subnet-[0-9a-f]{8,17}$"),
        "security_group_ids": groups,
        "key_name": { "type": "string", "minLength": 1, "maxLength": 255 },
        "user_data": { "type": "string", "minLength": 1, "maxLength": 16384 },
        "tags": tags,
    });
    api::common(Operation::write("ec2_run_instances", Repeat::Keyed(contract())), &[])
        .summary("Launch instances: exactly as many as are asked for, or none.")
        .input(&api::object(input, &["image_id", "instance_type", "count"]))
        .output(&instance::list())
        // A terminated instance is soon no longer shown, so that absence proves nothing.
        .reconcile(None, true)
}

pub(crate) fn run(call: &Call, answer: Option<&HttpResponse>) -> Result<Step, Fault> {
    if let Some(response) = answer {
        let verdict = failure::xml_verdict(response);
        if !verdict.success {
            return Ok(verdict.into());
        }
        let instances = instance::read(response, |_| true)?;
        // A launch of none is not what is documented.
        return match instances.is_empty() {
            true => Err(Fault::Unreadable),
            false => Ok(verdict.output(json!({ "instances": instances })).into()),
        };
    }
    config::ec2(call)?;
    let run: Run = call.input()?;
    let summary = format!("Launch {} instances of type {}", run.count, run.instance_type);
    let parameters = parameters(run, token(call));
    let fields: Vec<_> = parameters.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    Ok(HttpRequest::post("/").form(&fields).credential(api::SLOT).as_effect(summary))
}

fn parameters(run: Run, token: &str) -> Vec<(String, String)> {
    let named = |name: &str, value: String| (name.to_owned(), value);
    let count = run.count.to_string();
    let mut parameters = vec![
        named("Action", "RunInstances".to_owned()),
        named("Version", VERSION.to_owned()),
        named("ClientToken", token.to_owned()),
        named("ImageId", run.image_id),
        named("InstanceType", run.instance_type),
        named("MinCount", count.clone()),
        named("MaxCount", count),
    ];
    let given = [
        ("SubnetId", run.subnet_id),
        ("KeyName", run.key_name),
        ("UserData", run.user_data.map(|text| BASE64.encode(text.as_bytes()))),
    ];
    parameters.extend(given.into_iter().filter_map(|(name, value)| Some(named(name, value?))));
    let groups = (1..).zip(run.security_group_ids);
    parameters.extend(groups.map(|(n, id)| (format!("SecurityGroupId.{n}"), id)));
    if !run.tags.is_empty() {
        parameters.push(named("TagSpecification.1.ResourceType", "instance".to_owned()));
    }
    for (n, (key, value)) in (1..).zip(run.tags) {
        parameters.push((format!("TagSpecification.1.Tag.{n}.Key"), key));
        parameters.push((format!("TagSpecification.1.Tag.{n}.Value"), value));
    }
    parameters
}

/// The key that the host minted, or where the admin has taken the contract away the reference: nothing is sent
/// twice then, and the instances are found by it all the same.
fn token(call: &Call) -> &str {
    call.idempotency_key.as_deref().unwrap_or(&call.reference)
}

/// What became of a launch: the instances with its client token.
pub(crate) fn look(call: &Call, answer: Option<&HttpResponse>) -> Result<ReconcileStep, Fault> {
    let token = token(call);
    let Some(response) = answer else {
        let request = HttpRequest::get("/")
            .query("Action", "DescribeInstances")
            .query("Version", VERSION)
            .query("Filter.1.Name", "client-token")
            .query("Filter.1.Value.1", token);
        return Ok(request.credential(api::SLOT).as_query("Look for instances by their client token"));
    };
    if response.status != 200 {
        // Not being able to ask says nothing about the instances.
        return Ok(Verdict::unknown(Reason::Unavailable).into());
    }
    let instances = instance::read(response, |item| xml::text(item, "clientToken") == Some(token))?;
    Ok(match instances.is_empty() {
        true => Verdict::unknown(Reason::NotFound),
        false => Verdict::present(json!({ "instances": instances })),
    }
    .into())
}
