//! Declaring what a connector is.

use crate::{
    BatchContract, BatchMode, Effect, HttpQueryTemplate, InjectionMode, KeyPlace, KeyedContract, Manifest,
    Operation, QueryTemplate, ReconcileContract, Repeat, Slot, Value, json,
};

impl Manifest {
    /// A connector with no configuration, slots or operations yet. `name` is lower-case letters,
    /// digits and dashes; `version` is semantic; `summary` is one sentence.
    #[must_use]
    pub fn new(name: &str, version: &str, summary: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            summary: summary.to_owned(),
            config_schema: nothing().to_string(),
            credential_slots: Vec::new(),
            operations: Vec::new(),
            query_templates: Vec::new(),
        }
    }

    /// The JSON Schema of a connection's `config`; without one, a connection has none.
    #[must_use]
    pub fn config(mut self, schema: &Value) -> Self {
        self.config_schema = schema.to_string();
        self
    }

    /// Adds a place for a credential.
    #[must_use]
    pub fn slot(mut self, slot: Slot) -> Self {
        self.credential_slots.push(slot);
        self
    }

    /// Adds an operation.
    #[must_use]
    pub fn operation(mut self, operation: Operation) -> Self {
        self.operations.push(operation);
        self
    }

    /// Adds a request that changes nothing although it is neither GET nor HEAD; a segment `{}` of
    /// `path` stands for any one segment. The admin reviews each.
    #[must_use]
    pub fn query_template(mut self, method: &str, path: &str) -> Self {
        let template = HttpQueryTemplate { method: method.to_owned(), path: path.to_owned() };
        self.query_templates.push(QueryTemplate::Http(template));
        self
    }
}

impl Slot {
    /// A place for a credential: its name, what it is for (for the admin who binds it), and the ways
    /// in which the service takes it.
    #[must_use]
    pub fn new(name: &str, purpose: &str, modes: &[InjectionMode]) -> Self {
        Self { name: name.to_owned(), purpose: purpose.to_owned(), modes: modes.to_vec() }
    }
}

impl Operation {
    /// An operation that changes nothing. All its exchanges are queries, so there is nothing for a
    /// repeat contract to say: a read is idempotent by what it is.
    #[must_use]
    pub fn read(name: &str) -> Self {
        Self::of(name, Effect::Read, Repeat::Idempotent)
    }

    /// An operation that may change something, with what the remote promises about the same request
    /// arriving twice.
    #[must_use]
    pub fn write(name: &str, repeat: Repeat) -> Self {
        Self::of(name, Effect::Write, repeat)
    }

    fn of(name: &str, effect: Effect, repeat: Repeat) -> Self {
        Self {
            name: name.to_owned(),
            summary: String::new(),
            input_schema: nothing().to_string(),
            output_schema: nothing().to_string(),
            failure_schema: None,
            effect,
            repeat,
            statuses_before_work: Vec::new(),
            reconcile: None,
            batch: None,
            job_operation: None,
            completion_marker: None,
            kept_headers: Vec::new(),
            stores_content: false,
            stop: None,
            raw_commands: false,
        }
    }

    /// One sentence for the people and models that call it.
    #[must_use]
    pub fn summary(mut self, summary: &str) -> Self {
        self.summary = summary.to_owned();
        self
    }

    /// The input's JSON Schema (2020-12); its root is an object. Without one, the input is empty.
    #[must_use]
    pub fn input(mut self, schema: &Value) -> Self {
        self.input_schema = schema.to_string();
        self
    }

    /// The JSON Schema of a success's output; its root is an object. Without one, it is empty.
    #[must_use]
    pub fn output(mut self, schema: &Value) -> Self {
        self.output_schema = schema.to_string();
        self
    }

    /// The JSON Schema of a failure's output. It admits no free text: every string in it has an
    /// `enum`, a `const` or a `format`.
    #[must_use]
    pub fn failure(mut self, schema: &Value) -> Self {
        self.failure_schema = Some(schema.to_string());
        self
    }

    /// Statuses that the service documents as sent before any work is done.
    #[must_use]
    pub fn statuses_before_work(mut self, statuses: &[u16]) -> Self {
        self.statuses_before_work = statuses.to_vec();
        self
    }

    /// Its fate can be asked for. `absence_settles_after_seconds`: how long after the last dispatch
    /// a finding of "absent" is proof; none: never. `automatic`: whether the host may ask unasked.
    #[must_use]
    pub const fn reconcile(mut self, absence_settles_after_seconds: Option<u32>, automatic: bool) -> Self {
        self.reconcile = Some(ReconcileContract { absence_settles_after_seconds, automatic });
        self
    }

    /// One request carries several children.
    #[must_use]
    pub fn batch(mut self, batch: BatchContract) -> Self {
        self.batch = Some(batch);
        self
    }

    /// The operation that follows a job which this one submits: a read, whose input has the job's id in `job`,
    /// and which answers with [`Verdict::accepted`](crate::Verdict::accepted) while the job goes on.
    #[must_use]
    pub fn job_operation(mut self, name: &str) -> Self {
        self.job_operation = Some(name.to_owned());
        self
    }

    /// Response headers that the connector sees and the record keeps; nothing else is.
    #[must_use]
    pub fn kept_headers(mut self, names: &[&str]) -> Self {
        self.kept_headers = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// The content of its answer may be too large to be read. The host stores the body of a complete
    /// 2xx answer of the last query, or of the effect, for the caller to fetch; the connector learns
    /// its length and digest by [`HttpResponse::stored`](crate::HttpResponse::stored). Other answers
    /// are shown as always.
    #[must_use]
    pub const fn stores_content(mut self) -> Self {
        self.stores_content = true;
        self
    }
}

impl BatchContract {
    /// A request that carries up to `max` children: `items` points to their array in the input, `child_id`
    /// to the identity in one of them. Their successes have no output.
    ///
    /// Where the operation is keyed and the connector places the key, each child's key is made of
    /// `call.idempotency_key` and the child's identity and of nothing else: the host may send children once
    /// more in other company.
    #[must_use]
    pub fn new(items: &str, child_id: &str, mode: BatchMode, max: u32) -> Self {
        Self { items: items.to_owned(), child_id: child_id.to_owned(), mode, max, child_output_schema: None }
    }

    /// The JSON Schema of the output of a child that succeeded; its root is an object. Then each such child
    /// has one.
    #[must_use]
    pub fn child_output(mut self, schema: &Value) -> Self {
        self.child_output_schema = Some(schema.to_string());
        self
    }
}

impl KeyedContract {
    /// A remote that publishes nothing about how long it remembers a key, does not compare payloads
    /// and marks neither a first request that still runs nor a replayed answer.
    #[must_use]
    pub fn new(place: KeyPlace, scope: &str) -> Self {
        Self {
            place,
            scope: scope.to_owned(),
            retention_seconds: None,
            compares_payload: false,
            running_status: None,
            replay_header: None,
        }
    }

    /// For how long the remote promises to remember a key, in seconds.
    #[must_use]
    pub const fn retention_seconds(mut self, seconds: u64) -> Self {
        self.retention_seconds = Some(seconds);
        self
    }

    /// The remote refuses a known key that comes with another payload.
    #[must_use]
    pub const fn compares_payload(mut self) -> Self {
        self.compares_payload = true;
        self
    }

    /// The status that means "the first request with this key is still running".
    #[must_use]
    pub const fn running_status(mut self, status: u16) -> Self {
        self.running_status = Some(status);
        self
    }

    /// The response header whose presence means "this is the first request's answer", a refusal too: the host
    /// lets it settle an earlier attempt whose answer was lost. It need not be among the kept headers.
    #[must_use]
    pub fn replay_header(mut self, name: &str) -> Self {
        self.replay_header = Some(name.to_owned());
        self
    }
}

/// The host writes the key into this request header.
#[must_use]
pub fn key_in_header(name: &str) -> KeyPlace {
    KeyPlace::Header(name.to_owned())
}

/// The connector puts `call.idempotency_key` where the remote takes it.
#[must_use]
pub const fn key_in_connector() -> KeyPlace {
    KeyPlace::Connector
}

/// The schema of an object without properties.
fn nothing() -> Value {
    json!({ "type": "object", "additionalProperties": false })
}

#[cfg(test)]
mod tests {
    use crate::Operation;

    #[test]
    fn a_content_is_shown_unless_it_is_declared_otherwise() {
        let check = |operation: Operation, expected: bool| {
            assert_eq!(operation.stores_content, expected);
        };
        check(Operation::read("fetch"), false);
        check(Operation::read("fetch").stores_content(), true);
    }
}
