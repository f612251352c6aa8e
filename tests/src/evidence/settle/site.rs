//! The servers, the ways to them, and a home that is bound to those ways.

use super::Plan;
use super::kind::{Kind, queues};
use crate::guests::guest;
use crate::localstripe::{KEY, LocalStripe};
use crate::moto::Moto;
use crate::rig::{CANARY, PASSPHRASE, cheap, name};
use crate::way::{Habits, Keys, Way};
use proofport_broker::{Clock as _, SystemClock};
use proofport_core::contract::InjectionMode;
use proofport_core::digest::Digest;
use proofport_core::secret::Secret;
use proofport_gateway::home::Home;
use proofport_gateway::registry::Registry;
use proofport_sandbox::{Limits, Sandbox};
use proofport_vault::{Destination, Uses, Vault};
use serde_json::json;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How long the host waits for `localstripe`, and for moto, which is slower, in seconds.
const DEADLINES: [u64; 2] = [1, 3];

/// How much later than that is late.
const LATER: Duration = Duration::from_millis(500);

/// The other bounds of every connection.
const LIMITS: &str = "setup_attempts = 3\nidle_seconds = 5\nconnections_per_origin = 64\n";

/// How often the host repeats what may be repeated.
const RETRIES: &str =
    "attempts = 8\ntotal_seconds = 60\nfirst_delay_millis = 50\nlongest_delay_millis = 400\n";

/// How often it asks where the operation lets it. The last question comes when an absence is proof.
const QUESTIONS: &str =
    "attempts = 6\ntotal_seconds = 3600\nfirst_delay_millis = 500\nlongest_delay_millis = 2000\n";

/// All of it.
pub(super) struct Site {
    dir: tempfile::TempDir,
    /// Behind the layer of keys.
    pub(super) stripe: LocalStripe,
    /// As it is.
    pub(super) bare: LocalStripe,
    pub(super) moto: Moto,
    /// By connection.
    pub(super) ways: BTreeMap<&'static str, Way>,
}

impl Site {
    pub(super) async fn new(plan: Plan) -> Self {
        let stripe = LocalStripe::start().unwrap_or_else(|error| panic!("{error}"));
        let bare = LocalStripe::start().unwrap_or_else(|error| panic!("{error}"));
        let moto = Moto::start().unwrap_or_else(|error| panic!("{error}"));
        let way = |connection: &'static str, server: SocketAddr, keyed: bool, keys: Option<Keys>| {
            let seed =
                connection.bytes().fold(plan.seed, |seed, byte| seed.wrapping_mul(31) + u64::from(byte));
            let repeats = keyed || plan.repeats_anything;
            let late = Duration::from_secs(deadline(connection)) + LATER;
            let habits = Habits { seed, percent: plan.percent, late, repeats };
            (connection, Way::to(server, habits, keys).unwrap())
        };
        let ways = BTreeMap::from([
            way("stripe", stripe.address(), true, Some(Keys::default())),
            way("bare", bare.address(), false, None),
            way("queue", moto.address(), false, None),
            way("fifo", moto.address(), true, None),
            way("bucket", moto.address(), false, None),
            way("table", moto.address(), false, None),
            way("machines", moto.address(), false, None),
        ]);
        let dir = tempfile::tempdir().unwrap();
        let site = Self { dir, stripe, bare, moto, ways };
        site.furnish();
        site.make_home().await;
        site
    }

    pub(super) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A payment of which an invocation of this kind is about, made past everything that is tested.
    pub(super) fn payment(&self, kind: Kind) -> Option<String> {
        let amount = match kind {
            Kind::Confirmation => "1000",
            Kind::Refund => "90000000",
            Kind::Customer
            | Kind::Payment
            | Kind::BareCustomer
            | Kind::BarePayment
            | Kind::Message
            | Kind::Messages
            | Kind::FifoMessage
            | Kind::FifoMessages
            | Kind::Object
            | Kind::Items
            | Kind::Launch => return None,
        };
        let form = format!("amount={amount}&currency=usd&payment_method=pm_card_visa");
        let (status, made) = self.stripe.ask("/v1/payment_intents", Some(&form)).unwrap();
        assert_eq!(status, 200, "{made}");
        let id = made["id"].as_str().unwrap().to_owned();
        if kind == Kind::Refund {
            let (status, _) =
                self.stripe.ask(&format!("/v1/payment_intents/{id}/confirm"), Some("")).unwrap();
            assert_eq!(status, 200);
        }
        Some(id)
    }

    /// Queues, a bucket that keeps every version, and a table.
    fn furnish(&self) {
        let asked = |service: &str, target: &str, body: &serde_json::Value| {
            let (status, answer) = self.moto.ask(service, target, body).unwrap();
            assert_eq!(status, 200, "{target}: {answer}");
        };
        for queue in queues() {
            let attributes =
                if queue.ends_with(".fifo") { json!({ "FifoQueue": "true" }) } else { json!({}) };
            let body = json!({ "QueueName": queue, "Attributes": attributes });
            asked("sqs", "AmazonSQS.CreateQueue", &body);
        }
        let table = json!({
            "TableName": "items",
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
            "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }],
            "BillingMode": "PAY_PER_REQUEST",
        });
        asked("dynamodb", "DynamoDB_20120810.CreateTable", &table);
        let versions = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
        // What moto makes at the first question about instances takes it longer than the host waits.
        let instances = "GET /?Action=DescribeInstances&Version=2016-11-15";
        for (service, line, body) in
            [("s3", "PUT /objects", ""), ("s3", "PUT /objects?versioning", versions), ("ec2", instances, "")]
        {
            let (status, answer) = self.moto.ask_by_path(service, line, body).unwrap();
            assert_eq!(status, 200, "{line}: {answer}");
        }
    }

    async fn make_home(&self) {
        let home = Home::create(self.home()).unwrap();
        let passphrase = Secret::new(PASSPHRASE.as_bytes().to_vec());
        let mut vault = Vault::create(&home.vault(), &passphrase, cheap()).unwrap();
        let keys = vault.keys().unwrap();
        let sandbox = Sandbox::new(Some(&home.cache()), keys.cache_mac, Limits::default()).unwrap();
        let mut registry = Registry::open(home.connectors(), keys.registry_mac).unwrap();
        let mut digests: BTreeMap<&str, Digest> = BTreeMap::new();
        for connector in ["stripe", "aws"] {
            let module = guest(&format!("proofport-connector-{connector}"));
            let loaded = sandbox.load(&module).unwrap();
            let manifest = loaded.describe("{}").await.unwrap().value;
            registry.approve(&module, manifest, SystemClock.now()).unwrap();
            digests.insert(connector, loaded.digest());
        }
        let mut set = |secret: &str, value: &str, mode: InjectionMode, connections: &[&str]| {
            let origin = |connection: &&str| Destination::parse(&self.ways[*connection].origin()).unwrap();
            let uses = Uses { destinations: connections.iter().map(origin).collect(), modes: vec![mode] };
            let value = Secret::new(value.as_bytes().to_vec());
            vault.set(&name(secret), value, uses, SystemClock.now()).unwrap();
        };
        set("stripe", KEY, InjectionMode::HttpBearer, &["stripe", "bare"]);
        let services = ["queue", "fifo", "bucket", "table", "machines"];
        set("aws", CANARY, InjectionMode::AwsSigv4, &services);
        let toml: Vec<String> =
            self.ways.iter().map(|(connection, way)| self.table(connection, way, &digests)).collect();
        std::fs::write(home.config(), toml.concat()).unwrap();
    }

    fn table(&self, connection: &str, way: &Way, digests: &BTreeMap<&str, Digest>) -> String {
        let queues = format!("config.sqs.queues_at = \"{}\"", self.moto.queues_at());
        let (service, repeats, more) = match connection {
            "stripe" => (None, true, "config.customers_never_deleted = true"),
            "bare" => (None, false, "repeat = \"none\""),
            "queue" => (Some("sqs"), false, queues.as_str()),
            "fifo" => (Some("sqs"), true, queues.as_str()),
            "bucket" => (Some("s3"), false, "config.s3 = { bucket = \"objects\", never_deleted = true }"),
            "table" => (Some("dynamodb"), true, "config.dynamodb.tables.items = [\"pk\"]"),
            "machines" => (Some("ec2"), false, "config.ec2 = {}\nrepeat = \"none\""),
            other => panic!("{other} is no connection of this run"),
        };
        let digest = digests[if service.is_some() { "aws" } else { "stripe" }];
        let credential = match service {
            Some(service) => format!(
                "credentials.access_key]\nsecret = \"aws\"\nmode = \"aws_sigv4\"\naccess_key_id = \"AKIDEXAMPLE\"\n\
                 region = \"us-east-1\"\nservice = \"{service}\"\n"
            ),
            None => "credentials.api_key]\nsecret = \"stripe\"\nmode = \"http_bearer\"\n".to_owned(),
        };
        let retries = match repeats {
            true => format!("[connections.{connection}.retries]\n{RETRIES}"),
            false => String::new(),
        };
        format!(
            "[connections.{connection}]\nconnector = \"{digest}\"\norigins = [\"{}\"]\naddresses = [\"127.0.0.1\"]\n\
             repeating_hops = \"none\"\n{more}\n[connections.{connection}.limits]\n{LIMITS}deadline_seconds = {}\n\
             {retries}[connections.{connection}.reconciliations]\n{QUESTIONS}\
             [connections.{connection}.{credential}",
            way.origin(),
            deadline(connection)
        )
    }
}

fn deadline(connection: &str) -> u64 {
    let [stripe, moto] = DEADLINES;
    if matches!(connection, "stripe" | "bare") { stripe } else { moto }
}
