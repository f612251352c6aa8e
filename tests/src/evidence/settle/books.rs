//! What the peers have, by their own account: how often each effect is there.

use super::kind::{Kind, queues};
use super::site::Site;
use crate::localstripe::LocalStripe;
use crate::moto::Moto;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// More than there is of anything.
const ALL: &str = "limit=1000000";

/// How often each effect is there, by kind and name.
#[derive(Default)]
pub(super) struct Books(pub(super) HashMap<(Kind, String), u64>);

impl Books {
    /// Reads them. `payments` are those that were made for confirmations, by the effect's name. It takes the
    /// messages out of their queues.
    pub(super) fn read(site: &Site, payments: &BTreeMap<String, String>) -> Self {
        let mut books = Self::default();
        books.read_stripe(&site.stripe, Kind::Customer, Kind::Payment);
        books.read_stripe(&site.bare, Kind::BareCustomer, Kind::BarePayment);
        for refund in list(&site.stripe, "refunds") {
            books.add_numbered(Kind::Refund, &refund["amount"]);
        }
        let names: HashMap<&str, &str> =
            payments.iter().map(|(name, payment)| (payment.as_str(), name.as_str())).collect();
        for charge in list(&site.stripe, "charges") {
            let payment = charge["payment_intent"].as_str().unwrap_or_default();
            if let (Some(name), Some("succeeded")) = (names.get(payment), charge["status"].as_str()) {
                books.add(Kind::Confirmation, name);
            }
        }
        for queue in queues() {
            let [one, many] = match queue.ends_with(".fifo") {
                true => [Kind::FifoMessage, Kind::FifoMessages],
                false => [Kind::Message, Kind::Messages],
            };
            for message in messages(&site.moto, &queue) {
                books.add(if message.contains('-') { many } else { one }, &message);
            }
        }
        books.read_objects(&site.moto);
        books.read_items(&site.moto);
        books.read_instances(&site.moto);
        books
    }

    /// How often this effect is there.
    pub(super) fn count(&self, kind: Kind, name: &str) -> u64 {
        self.0.get(&(kind, name.to_owned())).copied().unwrap_or(0)
    }

    fn add(&mut self, kind: Kind, name: &str) {
        *self.0.entry((kind, name.to_owned())).or_default() += 1;
    }

    /// By the amount, which is one more than the invocation's number.
    fn add_numbered(&mut self, kind: Kind, amount: &Value) {
        let number = amount.as_u64().unwrap() - 1;
        self.add(kind, &format!("n{number}"));
    }

    fn read_stripe(&mut self, stripe: &LocalStripe, customers: Kind, payments: Kind) {
        for customer in list(stripe, "customers") {
            let email = customer["email"].as_str().unwrap();
            self.add(customers, email.split('@').next().unwrap());
        }
        // Those in another currency were made for the run.
        for payment in list(stripe, "payment_intents").iter().filter(|payment| payment["currency"] == "eur") {
            self.add_numbered(payments, &payment["amount"]);
        }
    }

    /// Every version of every object: a second write would show.
    fn read_objects(&mut self, moto: &Moto) {
        let mut from = String::new();
        loop {
            let line = format!("GET /objects?versions&max-keys=1000{from}");
            let (status, answer) = moto.ask_by_path("s3", &line, "").unwrap();
            assert_eq!(status, 200, "{answer}");
            for version in between(&answer, "<Version>", "</Version>") {
                self.add(Kind::Object, between(version, "<Key>", "</Key>")[0]);
            }
            if !answer.contains("<IsTruncated>true</IsTruncated>") {
                return;
            }
            let marker =
                |tag: &str| between(&answer, &format!("<Next{tag}>"), &format!("</Next{tag}>"))[0].to_owned();
            let (key, version) = (marker("KeyMarker"), marker("VersionIdMarker"));
            from = format!("&key-marker={key}&version-id-marker={version}");
        }
    }

    fn read_items(&mut self, moto: &Moto) {
        let mut scan = json!({ "TableName": "items" });
        loop {
            let (status, answer) = moto.ask("dynamodb", "DynamoDB_20120810.Scan", &scan).unwrap();
            assert_eq!(status, 200, "{answer}");
            for item in answer["Items"].as_array().unwrap() {
                self.add(Kind::Items, item["pk"]["S"].as_str().unwrap());
            }
            match answer.get("LastEvaluatedKey") {
                Some(key) => scan["ExclusiveStartKey"] = key.clone(),
                None => return,
            }
        }
    }

    fn read_instances(&mut self, moto: &Moto) {
        let mut from = String::new();
        loop {
            let line = format!("GET /?Action=DescribeInstances&Version=2016-11-15{from}");
            let (status, answer) = moto.ask_by_path("ec2", &line, "").unwrap();
            assert_eq!(status, 200, "{answer}");
            for tags in between(&answer, "<tagSet>", "</tagSet>") {
                for name in between(tags, "<value>", "</value>") {
                    self.add(Kind::Launch, name);
                }
            }
            let Some(token) = between(&answer, "<nextToken>", "</nextToken>").pop() else { return };
            from = format!("&NextToken={token}");
        }
    }
}

fn list(stripe: &LocalStripe, resource: &str) -> Vec<Value> {
    let (status, mut answer) = stripe.ask(&format!("/v1/{resource}?{ALL}"), None).unwrap();
    assert_eq!((status, &answer["has_more"]), (200, &json!(false)), "{resource}");
    serde_json::from_value(answer["data"].take()).unwrap()
}

/// The bodies of all messages of a queue, which stay invisible afterwards.
fn messages(moto: &Moto, queue: &str) -> Vec<String> {
    let ask = json!({
        "QueueUrl": format!("{}/{queue}", moto.queues_at()),
        "MaxNumberOfMessages": 10,
        "VisibilityTimeout": 43_200,
    });
    let mut bodies = Vec::new();
    loop {
        let (status, answer) = moto.ask("sqs", "AmazonSQS.ReceiveMessage", &ask).unwrap();
        assert_eq!(status, 200, "{answer}");
        let Some(messages) = answer["Messages"].as_array().filter(|messages| !messages.is_empty()) else {
            return bodies;
        };
        bodies.extend(messages.iter().map(|message| message["Body"].as_str().unwrap().to_owned()));
    }
}

/// What stands between these marks, each time.
fn between<'a>(text: &'a str, from: &str, to: &str) -> Vec<&'a str> {
    text.split(from).skip(1).filter_map(|rest| rest.split(to).next()).collect()
}
