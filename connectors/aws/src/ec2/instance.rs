//! Instances, as `RunInstances` and `DescribeInstances` show them.

use crate::{api, xml};
use proofport_sdk::{Fault, HttpResponse, Value, json};
use roxmltree::Node;
use serde::Serialize;

/// The part of an instance that is passed on.
#[derive(Serialize)]
pub(super) struct Instance {
    instance_id: String,
    state: String,
    instance_type: String,
    image_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    launched_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    private_ip: Option<String>,
}

/// All instances of an answer that fulfil `wanted`, of whatever reservation.
///
/// # Errors
/// [`Fault::Unreadable`] where the answer is not the one that is documented.
pub(super) fn read(
    response: &HttpResponse,
    wanted: impl Fn(Node<'_, '_>) -> bool,
) -> Result<Vec<Instance>, Fault> {
    let document = xml::parse(response)?;
    let root = document.root_element();
    // One reservation answers a launch, a set of them a description.
    let reservations: Vec<_> = match root.tag_name().name() {
        "RunInstancesResponse" => vec![root],
        "DescribeInstancesResponse" => {
            let set = xml::children(root, "reservationSet").next().ok_or(Fault::Unreadable)?;
            xml::children(set, "item").collect()
        }
        _ => return Err(Fault::Unreadable),
    };
    let mut instances = Vec::new();
    for reservation in reservations {
        let set = xml::children(reservation, "instancesSet").next().ok_or(Fault::Unreadable)?;
        for item in xml::children(set, "item").filter(|item| wanted(*item)) {
            instances.push(Instance::of(item).ok_or(Fault::Unreadable)?);
        }
    }
    Ok(instances)
}

impl Instance {
    fn of(item: Node<'_, '_>) -> Option<Self> {
        let text = |name| xml::text(item, name).map(str::to_owned);
        Some(Self {
            instance_id: text("instanceId")?,
            state: xml::text(xml::children(item, "instanceState").next()?, "name")?.to_owned(),
            instance_type: text("instanceType")?,
            image_id: text("imageId")?,
            launched_at: text("launchTime"),
            private_ip: text("privateIpAddress"),
        })
    }
}

/// The schema of a list of instances.
pub(super) fn list() -> Value {
    let properties = json!({
        "instance_id": id(),
        "state": { "enum": ["pending", "running", "shutting-down", "terminated", "stopping", "stopped"] },
        "instance_type": instance_type(),
        "image_id": image_id(),
        "launched_at": { "type": "string", "format": "date-time" },
        "private_ip": { "type": "string", "format": "ipv4" },
    });
    let instance = api::object(properties, &["instance_id", "state", "instance_type", "image_id"]);
    api::object(json!({ "instances": { "type": "array", "items": instance } }), &["instances"])
}

/// The schema of an instance's id.
pub(super) fn id() -> Value {
    api::pattern("^i-[0-9a-f]{8,17}$")
}

/// The schema of an instance type.
pub(super) fn instance_type() -> Value {
    api::pattern("^[a-z0-9-]{1,32}\\.[a-z0-9-]{1,32}$")
}

/// The schema of an image's id.
pub(super) fn image_id() -> Value {
    api::pattern("^ami-[0-9a-f]{8,17}$")
}
