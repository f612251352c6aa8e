//! Plain values.

use proofport_core::approval::ApprovalTerms;
use proofport_core::attestation::AttestedReason;
use proofport_core::batch::ChildId;
use proofport_core::code::Code;
use proofport_core::content::ContentFacts;
use proofport_core::contract::{
    Effect, InjectionMode, KeyPlace, KeyedContract, Outcome, Phase, Repeat, Source,
};
use proofport_core::digest::Digest;
use proofport_core::event::{
    Accepted, AttemptEnd, Binding, CredentialUse, Dispatch, Event, KeyUse, QueryFacts, QueryPurpose,
    ResultFacts, Settlement, Stop, StopDetail,
};
use proofport_core::evidence::{Cause, Completion, Hop, HttpEvidence, PeerIdentity, SetupAttempt};
use proofport_core::exchange::SshExit;
use proofport_core::id::{IdempotencyKey, Name, OperationName, RequestId};
use proofport_core::manifest::{Batch, BatchMode, Contract, Reconcile};
use proofport_core::origin::Origin;
use proofport_core::ssh::{SshEvidence, StreamSeen};
use proofport_core::time::UnixMillis;

/// When every history here begins.
pub(crate) const START: UnixMillis = UnixMillis(1_700_000_000_000);
/// When its leases end.
pub(crate) const LEASE_END: UnixMillis = START.plus_seconds(60);
/// When its idempotency keys may be forgotten.
pub(crate) const KEY_END: UnixMillis = START.plus_seconds(3600);

pub(crate) fn digest(n: u8) -> Digest {
    Digest::from_bytes([n; 32])
}

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

pub(crate) fn keyed() -> Repeat {
    Repeat::Keyed(KeyedContract {
        place: KeyPlace::Header("idempotency-key".to_owned()),
        scope: "account".to_owned(),
        retention_seconds: Some(86_400),
        compares_payload: true,
        running_status: Some(409),
        replay_header: None,
    })
}

/// The same, with a header that marks the first request's answer.
pub(crate) fn marking() -> Repeat {
    let Repeat::Keyed(keyed) = keyed() else { unreachable!() };
    Repeat::Keyed(KeyedContract { replay_header: Some("idempotent-replayed".to_owned()), ..keyed })
}

/// Whether the contract names such a header.
pub(crate) const fn marks(terms: &Contract) -> bool {
    match &terms.repeat {
        Repeat::Keyed(keyed) => keyed.replay_header.is_some(),
        Repeat::None | Repeat::Idempotent | Repeat::Conditional => false,
    }
}

pub(crate) fn contract(effect: Effect, repeat: Repeat) -> Contract {
    Contract {
        effect,
        repeat,
        statuses_before_work: Vec::new(),
        reconcile: None,
        batch: None,
        job_operation: None,
        completion_marker: None,
        stop_grace_seconds: None,
    }
}

pub(crate) fn reconcilable(contract: Contract) -> Contract {
    let reconcile = Reconcile { absence_settles_after_seconds: Some(60), automatic: true };
    Contract { reconcile: Some(reconcile), ..contract }
}

pub(crate) fn accepted() -> Event {
    Event::ActionAccepted(Box::new(Accepted {
        request_id: RequestId::from_random([7; 16]),
        operation: OperationName::parse("shop.pay").unwrap(),
        principal: "agent".to_owned(),
        session: String::new(),
        input: digest(1),
        call_key: None,
        at: START,
        continues: None,
        follows: None,
    }))
}

/// A contract whose requests carry up to three children.
pub(crate) fn batch(mode: BatchMode, contract: Contract) -> Contract {
    let batch = Batch { items: "/items".to_owned(), child_id: "/id".to_owned(), mode, max: 3 };
    Contract { batch: Some(batch), ..contract }
}

pub(crate) fn child_id(text: &str) -> ChildId {
    ChildId::parse(text).unwrap()
}

/// A batch is bound to three children.
pub(crate) fn binding(contract: Contract) -> Binding {
    let children = contract.batch.iter().flat_map(|_| ["a", "b", "c"].map(child_id)).collect();
    Binding {
        intent: digest(2),
        connector: digest(3),
        config: digest(4),
        origins: vec![Origin::parse("https://shop.example").unwrap()],
        reference: RequestId::from_random([7; 16]).reference(),
        contract,
        redirect_origins: vec![elsewhere()],
        ssh_hosts: Vec::new(),
        children,
        retries: None,
        reconciliations: None,
        following: None,
        ways: None,
        approval: ApprovalTerms::NONE,
    }
}

/// An origin to which redirects may be followed.
pub(crate) fn elsewhere() -> Origin {
    Origin::parse("https://elsewhere.example").unwrap()
}

pub(crate) fn credential() -> CredentialUse {
    CredentialUse { secret: Some(name("shop-key")), version: Some(1), mode: Some(InjectionMode::HttpBearer) }
}

pub(crate) fn peer() -> PeerIdentity {
    PeerIdentity { name: "shop.example".to_owned(), certificate: Some(digest(5)) }
}

/// Evidence of an exchange whose request went out whole.
pub(crate) fn evidence(status: Option<u16>, completion: Option<Completion>) -> HttpEvidence {
    HttpEvidence {
        bytes_offered: 100,
        bytes_read: if status.is_some() { 200 } else { 0 },
        request_complete: true,
        status,
        completion,
        cause: if completion.is_none() { Some(Cause::ConnectionReset) } else { None },
        from_origin: true,
        masked: 0,
        withheld: false,
        body_digest: None,
        micros: 5,
        ..HttpEvidence::nothing_seen(Cause::ConnectionReset)
    }
}

/// A complete answer with this status.
pub(crate) fn complete(status: u16) -> HttpEvidence {
    evidence(Some(status), Some(Completion::ContentLength))
}

/// An exec that the server accepted and whose end was seen like this.
pub(crate) fn exec(exit: Option<SshExit>, whole: bool) -> SshEvidence {
    let stream = StreamSeen { bytes: 3, digest: None, complete: whole };
    SshEvidence {
        exec_offered: true,
        command_accepted: Some(true),
        stdin_complete: true,
        exit,
        stdout: stream,
        stderr: stream,
        eof: whole,
        closed: whole,
        cause: (!whole).then_some(Cause::ConnectionReset),
        ..SshEvidence::nothing_seen(Cause::ConnectionReset)
    }
}

/// A request without any answer.
pub(crate) fn lost() -> HttpEvidence {
    evidence(None, None)
}

pub(crate) fn setup(cause: Option<Cause>) -> SetupAttempt {
    use proofport_core::contract::Stage;
    let stage = if cause.is_some() { Stage::TcpConnect } else { Stage::HttpHandshake };
    SetupAttempt {
        n: 1,
        stage,
        cause,
        address: None,
        timings: Vec::new(),
        reused: false,
        hop: Hop::Direct,
        proxy_status: None,
    }
}

pub(crate) fn query(purpose: QueryPurpose, evidence: HttpEvidence) -> QueryFacts {
    QueryFacts { purpose, request: digest(6), peer: peer(), evidence: evidence.into() }
}

pub(crate) fn key_use(n: u8, expires: UnixMillis) -> KeyUse {
    KeyUse {
        key: IdempotencyKey::from_random([n; 16]),
        scope: "account".to_owned(),
        first_use: START,
        expires,
    }
}

/// The dispatch of a generation; keyed where the contract is.
pub(crate) fn dispatch(generation: u32, contract: &Contract) -> Dispatch {
    let key = match contract.repeat {
        Repeat::Keyed(_) => Some(key_use(8, KEY_END)),
        Repeat::None | Repeat::Idempotent | Repeat::Conditional => None,
    };
    Dispatch { generation, request: digest(9), peer: peer(), key, at: START, follows: None }
}

/// The end of an attempt with a code and a source that go with the outcome.
pub(crate) fn end(generation: u32, outcome: Outcome) -> AttemptEnd {
    let (code, source, evidence) = match outcome {
        Outcome::Unknown => (Some(Code::OutcomeUnknown), Source::TransportObserved, lost()),
        Outcome::Rejected => (Some(Code::RemoteRejected), Source::RemoteResponse, complete(404)),
        Outcome::Committed => (None, Source::RemoteResponse, complete(200)),
        Outcome::NotAttempted => {
            let nothing = HttpEvidence::nothing_seen(Cause::ConnectionRefused);
            (Some(Code::ConnectFailed), Source::TransportObserved, nothing)
        }
    };
    AttemptEnd {
        generation,
        outcome,
        code,
        source,
        evidence: evidence.into(),
        above_ceiling: false,
        connector_fault: None,
        redirected: None,
        unmatched_children: 0,
        retry_after_seconds: None,
    }
}

/// A settlement with a code that goes with the outcome.
pub(crate) fn settlement(outcome: Outcome, source: Source) -> Settlement {
    let code = match outcome {
        Outcome::Committed => None,
        Outcome::Rejected => Some(Code::RemoteRejected),
        Outcome::Unknown | Outcome::NotAttempted => Some(Code::OutcomeUnknown),
    };
    Settlement {
        outcome,
        code,
        source,
        repairable: false,
        retry_after_seconds: None,
        http_status: None,
        attested_reason: None,
        unknown_children: 0,
    }
}

pub(crate) fn reason() -> AttestedReason {
    AttestedReason::parse("seen in the dashboard").unwrap()
}

pub(crate) fn output() -> ResultFacts {
    ResultFacts::Output { digest: digest(10), bytes: 12, content: None }
}

/// An output beside a content of three chunks.
pub(crate) fn stored_output() -> ResultFacts {
    ResultFacts::Output { digest: digest(10), bytes: 12, content: Some(content()) }
}

pub(crate) fn content() -> ContentFacts {
    ContentFacts { bytes: 10, digest: digest(11), chunks: 3, chunk_bytes: 4 }
}

pub(crate) fn stop(phase: Phase, code: Code) -> Stop {
    Stop { phase, code, invalid_fields: Vec::new(), detail: StopDetail::None }
}
