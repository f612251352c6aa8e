//! A whole host against the peer of one group of runs, and what is held against the peer's log.

use crate::case::{Case, Contract, Hops, Host, Over, Sees, Through};
use crate::script::{holds, http1, http2};
use crate::{CA, TLS, TLS_H2};
use proofport_core::contract::Outcome;
use proofport_core::digest::Digest;
use proofport_core::envelope::Envelope;
use proofport_core::evidence::{Hop, HttpEvidence, HttpVersion};
use proofport_core::origin::Origin;
use proofport_core::row::Row;
use proofport_core::state::State;
use proofport_tests::peer::{self, Peer, ScriptList, h2};
use proofport_tests::rig::{self, Open, Rig, Wanted};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tokio::task::block_in_place;

/// One call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) case: &'a Case,
    pub(crate) over: Over,
    pub(crate) contract: Contract,
    pub(crate) applies: bool,
}

impl Run<'_> {
    fn holds(&self) -> bool {
        let acts = if self.over == Over::H2 { &self.case.http2 } else { &self.case.http1 };
        holds(acts.as_deref(), &self.case.answer)
    }

    fn label(&self) -> String {
        let applied = if self.applies { "applied" } else { "not applied" };
        format!("`{}` over {:?} under {:?}, {applied}", self.case.name, self.over, self.contract)
    }
}

/// Every run of these cases.
pub(crate) fn runs(cases: &[Case]) -> Vec<Run<'_>> {
    let mut runs = Vec::new();
    for case in cases {
        for over in &case.over {
            let usable = |contract: &&Contract| *over != Over::H2 || contract.is_repeatable();
            for contract in case.contracts.iter().filter(usable) {
                for applies in &case.applies {
                    runs.push(Run { case, over: *over, contract: *contract, applies: *applies });
                }
            }
        }
    }
    runs
}

/// A peer and a connection to it.
struct Site {
    peer: Peer,
    open: Arc<Open>,
    rig: Rig,
}

/// Carries the runs out, in groups that share a peer and a home; what was wrong with them.
pub(crate) async fn carry_out(row: Row, runs: &[Run<'_>]) -> Vec<String> {
    let mut groups: BTreeMap<_, Vec<Run<'_>>> = BTreeMap::new();
    for run in runs {
        let case = run.case;
        let key = (run.over, case.through, case.host, case.trusted_hops.clone(), case.limits.clone());
        let key = (key, case.repeating_hops);
        groups.entry(key).or_default().push(*run);
    }
    let mut wrong = Vec::new();
    for (((over, ..), _), runs) in groups {
        let site = Site::new(over, &runs).await;
        let mut ended = 0;
        for (index, run) in runs.iter().enumerate() {
            ended += usize::from(!run.holds());
            let found = site.run(index, ended, run, row).await;
            let label = format!("{row}: {}", run.label());
            wrong.extend(found.into_iter().map(|what| format!("{label}: {what}")));
        }
    }
    wrong
}

impl Site {
    async fn new(over: Over, runs: &[Run<'_>]) -> Self {
        let of_http1 =
            || -> Vec<peer::Script> { runs.iter().map(|run| http1(run.case, run.applies)).collect() };
        let peer = match over {
            Over::Http1 => Peer::http(of_http1()),
            Over::Tls => Peer::https_as(of_http1(), TLS.clone()),
            Over::H2 => {
                let each: Vec<h2::Script> = runs.iter().map(|run| http2(run.case, run.applies)).collect();
                Peer::https2_as(ScriptList::from(each), TLS_H2.clone())
            }
        };
        // All of them are alike in what the connection says.
        let case = runs[0].case;
        let (origin, proxy) = match case.through {
            Through::Nothing => (peer.origin(), String::new()),
            Through::ForwardProxy => (
                Origin::parse("http://shop.test").unwrap(),
                format!("[connections.c.proxy]\nurl = \"{}\"\nresolve = \"proxy\"\n", peer.origin()),
            ),
        };
        let hops = match case.repeating_hops {
            Hops::Perhaps => "",
            Hops::None => "repeating_hops = \"none\"\n",
        };
        let mut wanted = Wanted::new("contracts", origin, "");
        wanted.more = format!(
            "ca_file = \"ca.pem\"\nfresh_connections = \"always\"\n{hops}trusted_hops = {}\n{proxy}",
            json!(case.trusted_hops),
        );
        let limits: String = case.limits.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        let rig = Rig::new(&wanted.limits(&format!("setup_attempts = 1\nidle_seconds = 0\n{limits}"))).await;
        std::fs::write(rig.home().join("ca.pem"), CA.pem()).unwrap();
        let open = rig.open().await;
        Self { peer, open: Arc::new(open), rig }
    }

    /// Carries out the call that meets the peer's next script, after which so many of them come to an end;
    /// what was wrong.
    async fn run(&self, index: usize, ended: usize, run: &Run<'_>, row: Row) -> Vec<String> {
        let before = self.peer.effects();
        let input = json!({ "bytes": run.case.bytes }).to_string();
        let key = format!("{index}");
        let operation = run.contract.operation();
        let (envelope, state) = match run.case.host {
            Host::Waits => {
                let envelope = self.open.call_with(operation, &input, Some(&key)).await;
                let state = record(&self.open, &envelope);
                (envelope, state)
            }
            Host::Stops => self.stop_and_go_on(index, operation, &input, &key).await,
        };
        block_in_place(|| {
            self.peer.wait_effects(before + usize::from(run.applies));
            if !run.holds() {
                self.peer.wait_ended(ended);
            }
        });
        let mut wrong = Vec::new();
        differ(&mut wrong, "connections", self.peer.accepted(), index + 1);
        let Some(evidence) = seen(&state) else {
            wrong.push(format!("nothing was dispatched: {envelope:?}"));
            return wrong;
        };
        let bound = &state.binding.as_ref().unwrap().contract;
        differ(&mut wrong, "row", Row::of(evidence, bound), row);
        differ(&mut wrong, "attempts", state.attempts.len(), 1);
        claims(&mut wrong, run, &envelope);
        evidence_is(&mut wrong, run, evidence);
        self.is_sound(&mut wrong, index, run, &envelope, evidence, self.peer.effects() - before);
        if !wrong.is_empty() {
            wrong.push(format!("the evidence is {evidence:?}"));
        }
        wrong
    }

    /// Has the host stop when the peer has given its signal: another one goes on with a copy of what was on
    /// disk at that moment, and is asked the same.
    async fn stop_and_go_on(
        &self,
        index: usize,
        operation: &'static str,
        input: &str,
        key: &str,
    ) -> (Envelope, State) {
        let (open, input, key) = (Arc::clone(&self.open), input.to_owned(), key.to_owned());
        let stopped = tokio::spawn({
            let (input, key) = (input.clone(), key.clone());
            async move { open.call_with(operation, &input, Some(&key)).await }
        });
        block_in_place(|| self.peer.wait_signals(index + 1));
        let left = tempfile::tempdir().unwrap();
        copy(&self.rig.home(), &left.path().join("home"));
        let open = rig::open(&left.path().join("home"), self.rig.clock.clone(), self.rig.probe.clone()).await;
        let envelope = open.call_with(operation, &input, Some(&key)).await;
        let state = record(&open, &envelope);
        open.close();
        stopped.abort();
        (envelope, state)
    }

    /// Holds what is claimed against what the peer saw and did.
    fn is_sound(
        &self,
        wrong: &mut Vec<String>,
        index: usize,
        run: &Run<'_>,
        envelope: &Envelope,
        evidence: &HttpEvidence,
        effects: usize,
    ) {
        let received = self.peer.received()[index].clone();
        let requests = self.peer.requests()[index].clone();
        let content: usize = match run.over {
            Over::Http1 | Over::Tls => {
                let head = received.windows(4).position(|four| four == b"\r\n\r\n");
                head.map_or(0, |end| received.len() - end - 4)
            }
            Over::H2 => requests.iter().map(|request| request.body.len()).sum(),
        };
        match run.case.sees {
            Sees::All => differ(wrong, "content that the peer saw", content, run.case.bytes),
            Sees::Head => differ(wrong, "content that the peer saw", content, 0),
            Sees::Anything => {}
        }
        if run.over == Over::H2 && requests.len() > 1 {
            wrong.push(format!("{} requests were sent", requests.len()));
        }
        if effects > 1 {
            wrong.push(format!("{effects} effects were applied"));
        }
        match envelope.outcome() {
            Some(Outcome::Rejected) => differ(wrong, "effects of what was rejected", effects, 0),
            Some(Outcome::Committed) => {
                let answer = &run.case.answer;
                differ(wrong, "status of what is committed", evidence.status, Some(answer.status));
                let whole = Digest::of_bytes(answer.body.as_bytes());
                differ(wrong, "digest of what is committed", evidence.body_digest, Some(whole));
            }
            Some(Outcome::Unknown) => {}
            Some(Outcome::NotAttempted) | None => {
                wrong.push("it is said not to have been attempted after its dispatch".to_owned());
            }
        }
    }
}

/// What is on record of an answer's invocation.
pub(crate) fn record(open: &Open, envelope: &Envelope) -> State {
    open.broker.diagnostic(&envelope.request_id().unwrap()).unwrap().unwrap().state().clone()
}

/// What was seen of the newest attempt.
pub(crate) fn seen(state: &State) -> Option<&HttpEvidence> {
    state.attempts.last()?.end.as_ref()?.evidence.http()
}

/// Compares what the caller is told.
pub(crate) fn claims(wrong: &mut Vec<String>, run: &Run<'_>, envelope: &Envelope) {
    let told = serde_json::to_value(envelope).unwrap();
    let is = |pointer: &str| told.pointer(pointer).cloned().unwrap_or(Value::Null);
    let expect = &run.case.expect;
    let job = expect.job.as_ref().map(|id| json!({ "id": id }));
    let retryable =
        expect.retry.under(run.contract).as_str() == "backoff" && expect.owner.as_str() == "caller";
    for (pointer, expected) in [
        ("/ok", json!(expect.code.is_none())),
        ("/outcome", json!(expect.outcome)),
        ("/code", json!(expect.code)),
        ("/retry", json!(expect.retry.under(run.contract))),
        ("/retry_owner", json!(expect.owner)),
        ("/retryable", json!(retryable)),
        ("/action", json!(expect.action)),
        ("/phase", json!(expect.phase)),
        ("/evidence/source", json!(expect.source)),
        ("/http_status", json!(expect.http_status)),
        ("/retry_after_seconds", json!(expect.retry_after)),
        ("/job", json!(job)),
        ("/repeated", json!(run.case.host == Host::Stops)),
    ] {
        differ(wrong, pointer, is(pointer), expected);
    }
}

/// Compares what is on record of the exchange.
fn evidence_is(wrong: &mut Vec<String>, run: &Run<'_>, evidence: &HttpEvidence) {
    let expect = &run.case.expect;
    let version = if run.over == Over::H2 { HttpVersion::Http2 } else { HttpVersion::Http11 };
    let hop = match run.case.through {
        Through::Nothing => Hop::Direct,
        Through::ForwardProxy => Hop::ForwardProxy,
    };
    // A host that stopped has seen nothing.
    if run.case.host == Host::Waits {
        differ(wrong, "version", evidence.version, version);
        differ(wrong, "hop", evidence.hop, hop);
    }
    if expect.completion.is_some() {
        differ(wrong, "completion", evidence.completion, expect.completion);
    }
    if expect.cause.is_some() {
        differ(wrong, "cause", evidence.cause, expect.cause);
    }
    // hyper tells of them over HTTP/1.1 alone.
    if version == HttpVersion::Http11 {
        differ(wrong, "interim answers", evidence.interim, expect.interim);
    }
}

fn differ<T: PartialEq + std::fmt::Debug>(wrong: &mut Vec<String>, what: &str, got: T, expected: T) {
    if got != expected {
        wrong.push(format!("{what} is {got:?} and not {expected:?}"));
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    std::fs::set_permissions(to, std::fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (entry, to) = (entry.unwrap().path(), to.join("x"));
        let to = to.with_file_name(entry.file_name().unwrap());
        if entry.is_dir() {
            copy(&entry, &to);
        } else {
            std::fs::copy(&entry, &to).unwrap();
        }
    }
}
