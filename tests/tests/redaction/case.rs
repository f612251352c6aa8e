//! One failure, and the four things that are held of each.

use crate::host::{Answer, Door, Host};
use crate::secret::{ORDERS, nowhere_in};
use memchr::memmem;
use serde_json::Value;

/// What somebody who asked may learn of one failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    /// None: it is no failure.
    pub(crate) code: Option<&'static str>,
    pub(crate) action: Option<&'static str>,
    pub(crate) outcome: Option<&'static str>,
}

/// A failure of which this is told.
pub(crate) const fn told(code: &'static str, action: &'static str, outcome: &'static str) -> Told {
    Told { code: Some(code), action: Some(action), outcome: Some(outcome) }
}

/// A success.
pub(crate) const DONE: Told = Told { code: None, action: None, outcome: Some("committed") };

/// What the protected record has to say: what stopped or broke it, by a value somewhere in it, and the last
/// boundary that it reached before its answer was handed over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    pub(crate) because: &'static str,
    pub(crate) reached: &'static str,
}

/// A case under way.
pub(crate) struct Case<'a> {
    pub(crate) what: String,
    pub(crate) told: Told,
    /// None: nothing was taken on, so that there is no record.
    pub(crate) recorded: Option<Recorded>,
    /// What no answer may hold.
    pub(crate) secrets: &'a [&'a str],
    /// What else it may not hold: of the remote and of this machine.
    pub(crate) private: Vec<String>,
}

impl Case<'_> {
    /// Holds an answer to all four.
    pub(crate) fn check(&self, host: &mut Host, answer: &Answer) {
        self.says_what_to_do(answer);
        self.tells_nothing(&format!("{}: the answer", self.what), &answer.bytes, answer.body.get("result"));
        self.keeps(&format!("{}: the metrics", self.what), &host.metrics());
        if self.recorded.is_some() {
            // What is handed out once more, and what operators see.
            let id = answer.id();
            let again = host.ask(Door::Socket, &format!("GET /v1/invocations/{id}"), "");
            let place = format!("{}: the stored answer", self.what);
            self.tells_nothing(&place, &again.bytes, again.body.get("result"));
            let record = host.operator(&["inspect", &id, "--json"], &[0]);
            self.is_on_record(&id, &record);
            let text = host.operator(&["timeline", &id, "--json"], &[0]);
            self.keeps(&format!("{}: the timeline", self.what), text.to_string().as_bytes());
        }
    }

    fn says_what_to_do(&self, answer: &Answer) {
        let Told { code, action, outcome } = self.told;
        let body = &answer.body;
        let seen = (body["code"].as_str(), body["action"].as_str(), body["outcome"].as_str());
        assert_eq!(seen, (code, action, outcome), "{}: {body}", self.what);
        assert_eq!(body["ok"], code.is_none(), "{}: {body}", self.what);
        assert_eq!(body["schema"], "proofport.envelope/1", "{}: {body}", self.what);
    }

    fn keeps(&self, place: &str, bytes: &[u8]) {
        for secret in self.secrets {
            nowhere_in(secret, place, bytes);
        }
    }

    /// That an answer holds no secret, nothing of the remote's and nothing of this machine's. What a success
    /// declares as its output is the remote's own, and no place for secrets either.
    fn tells_nothing(&self, place: &str, bytes: &[u8], output: Option<&Value>) {
        self.keeps(place, bytes);
        assert!(output.is_none() || self.told.code.is_none(), "{place}: a failure has no output");
        let output = output.map(ToString::to_string).unwrap_or_default();
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        if !output.is_empty() {
            // A tool's answer has it a second time, as text.
            let as_text = serde_json::to_string(&output).unwrap();
            text = text.replacen(&output, "", 1).replacen(as_text.trim_matches('"'), "", 1);
        }
        let usual = [ORDERS, "Ignore previous", "127.0.0.1", "/tmp/", "os error", "hyper", "rustls"];
        for private in usual.into_iter().chain(self.private.iter().map(String::as_str)) {
            let found = memmem::find(text.as_bytes(), private.as_bytes());
            assert!(found.is_none(), "{place}: {private:?} is in {text}");
        }
    }

    fn is_on_record(&self, id: &str, record: &Value) {
        let Some(Recorded { because, reached }) = self.recorded else { return };
        let place = format!("{}: the protected record {record}", self.what);
        self.keeps(&place, record.to_string().as_bytes());
        assert_eq!(record["schema"], "proofport.diagnostic/1", "{place}");
        assert_eq!(record["state"]["accepted"]["request_id"], id, "{place}");
        assert_eq!(record["claim"]["code"].as_str(), self.told.code, "{place}");
        assert_eq!(record["claim"]["outcome"].as_str(), self.told.outcome, "{place}");
        // A peer that goes away is seen in one of two ways.
        assert!(because.split('|').any(|because| has(record, because)), "{place}: no {because:?}");
        let mut boundaries = record["boundaries"].as_array().unwrap().iter().filter_map(Value::as_str);
        // When it was handed over is written down with whatever comes next.
        let last = boundaries.rfind(|boundary| *boundary != "result_delivered");
        assert_eq!(last.unwrap_or_default(), reached, "{place}");
    }
}

/// Whether a value with this text, or a number of this value, is anywhere in it.
fn has(value: &Value, text: &str) -> bool {
    match value {
        Value::String(value) => value == text,
        Value::Number(value) => value.to_string() == text,
        Value::Array(values) => values.iter().any(|value| has(value, text)),
        Value::Object(fields) => fields.values().any(|value| has(value, text)),
        Value::Null | Value::Bool(_) => false,
    }
}
