//! What is called: one kind for each operation that makes a promise of its own about a second arrival.

use crate::evidence::Seeded;
use serde_json::{Value, json};

/// How many children a batch has.
pub(super) const CHILDREN: usize = 3;

/// How many queues there are of each sort: in moto a message costs time in proportion to its queue's length.
const QUEUES: usize = 20;

/// Their names.
pub(super) fn queues() -> impl Iterator<Item = String> {
    (0..QUEUES).flat_map(|n| [format!("q{n}"), format!("q{n}.fifo")])
}

/// An operation, and the connection that it is called on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Customer,
    Payment,
    Confirmation,
    Refund,
    /// Where the admin has taken the key's contract away, since the service ignores keys.
    BareCustomer,
    BarePayment,
    Message,
    Messages,
    FifoMessage,
    FifoMessages,
    Object,
    Items,
    /// Launches, where the admin has taken the token's contract away, since moto ignores it.
    Launch,
}

/// Each kind, and how many of a hundred invocations are of it: launches are slow.
const SHARES: [(Kind, usize); 13] = [
    (Kind::Customer, 15),
    (Kind::Payment, 10),
    (Kind::Confirmation, 6),
    (Kind::Refund, 6),
    (Kind::BareCustomer, 7),
    (Kind::BarePayment, 7),
    (Kind::Message, 13),
    (Kind::Messages, 5),
    (Kind::FifoMessage, 12),
    (Kind::FifoMessages, 5),
    (Kind::Object, 8),
    (Kind::Items, 4),
    (Kind::Launch, 2),
];

impl Kind {
    /// This many invocations' kinds in a random order; of each at least one, where there are enough.
    pub(super) fn choose(invocations: usize, random: &mut Seeded) -> Vec<Self> {
        let deck: Vec<Self> =
            SHARES.iter().flat_map(|(kind, share)| std::iter::repeat_n(*kind, *share)).collect();
        let first = SHARES.iter().map(|(kind, _)| *kind);
        let rest = std::iter::repeat_with(|| deck[random.below(deck.len())]);
        let mut chosen: Vec<Self> = first.chain(rest).take(invocations).collect();
        for last in (1..chosen.len()).rev() {
            chosen.swap(last, random.below(last + 1));
        }
        chosen
    }

    /// What the binding promises about a second arrival, as it is counted.
    pub(super) const fn contract(self) -> &'static str {
        match self {
            Self::Customer | Self::Payment | Self::Confirmation | Self::Refund => "keyed, in a header",
            Self::BareCustomer | Self::BarePayment | Self::Launch => "keyed, marked none",
            Self::Message => "none",
            Self::Messages => "none, batch",
            Self::FifoMessage => "keyed, in the request",
            Self::FifoMessages => "keyed, batch",
            Self::Object => "conditional",
            Self::Items => "idempotent, batch",
        }
    }

    pub(super) const fn connection(self) -> &'static str {
        match self {
            Self::Customer | Self::Payment | Self::Confirmation | Self::Refund => "stripe",
            Self::BareCustomer | Self::BarePayment => "bare",
            Self::Message | Self::Messages => "queue",
            Self::FifoMessage | Self::FifoMessages => "fifo",
            Self::Object => "bucket",
            Self::Items => "table",
            Self::Launch => "machines",
        }
    }

    pub(super) const fn operation(self) -> &'static str {
        match self {
            Self::Customer | Self::BareCustomer => "create_customer",
            Self::Payment | Self::BarePayment => "create_payment_intent",
            Self::Confirmation => "confirm_payment_intent",
            Self::Refund => "create_refund",
            Self::Message => "sqs_send",
            Self::Messages => "sqs_send_batch",
            Self::FifoMessage => "sqs_send_fifo",
            Self::FifoMessages => "sqs_send_batch_fifo",
            Self::Object => "s3_create_object",
            Self::Items => "dynamodb_batch_write",
            Self::Launch => "ec2_run_instances",
        }
    }

    /// Under what names the peer's books have the effects of invocation `n`, a batch's children each.
    pub(super) fn effects(self, n: usize) -> Vec<String> {
        match self {
            Self::Customer
            | Self::Payment
            | Self::Confirmation
            | Self::Refund
            | Self::BareCustomer
            | Self::BarePayment
            | Self::Message
            | Self::FifoMessage
            | Self::Object
            | Self::Launch => vec![format!("n{n}")],
            Self::Messages | Self::FifoMessages | Self::Items => {
                (0..CHILDREN).map(|child| format!("n{n}-{child}")).collect()
            }
        }
    }

    /// The input of invocation `n`. `payment` is one that was made for it, where it needs one.
    pub(super) fn input(self, n: usize, payment: Option<&str>) -> Value {
        let names = self.effects(n);
        let grouped = matches!(self, Self::FifoMessage | Self::FifoMessages);
        let message = |name: &String, field: &str, value: &str| {
            let mut message = json!({ "message": name, field: value });
            if grouped {
                message["group"] = json!(name);
            }
            message
        };
        let queue = format!("q{}{}", n % QUEUES, if grouped { ".fifo" } else { "" });
        let entries = || -> Vec<Value> { names.iter().map(|name| message(name, "id", name)).collect() };
        let name = &names[0];
        match self {
            Self::Customer | Self::BareCustomer => json!({ "email": format!("{name}@example.com") }),
            Self::Payment | Self::BarePayment => {
                json!({ "amount": n + 1, "currency": "eur", "payment_method": "pm_card_visa" })
            }
            Self::Confirmation => json!({ "payment_intent": payment }),
            Self::Refund => json!({ "payment_intent": payment, "amount": n + 1 }),
            Self::Message | Self::FifoMessage => message(name, "queue", &queue),
            Self::Messages | Self::FifoMessages => json!({ "queue": queue, "entries": entries() }),
            Self::Object => json!({ "key": name, "content": name }),
            Self::Items => {
                let put =
                    |name: &String| json!({ "id": name, "table": "items", "put": { "pk": { "S": name } } });
                json!({ "requests": names.iter().map(put).collect::<Vec<_>>() })
            }
            Self::Launch => {
                json!({ "image_id": "ami-12345678", "instance_type": "t3.micro", "count": 1, "tags": { "n": name } })
            }
        }
    }
}
