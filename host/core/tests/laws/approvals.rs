//! A person's word: when it is needed, what it covers, and that nothing else stands for it.

use crate::common::history::fold;
use crate::common::values::{
    LEASE_END, START, accepted, binding, complete, contract, credential, digest, dispatch, peer, query,
};
use proofport_core::approval::{Approval, ApprovalTerms, Grant, Question, Word};
use proofport_core::code::Code;
use proofport_core::contract::{Effect, Outcome, Phase, Repeat, Role};
use proofport_core::decide::{Input, Readiness, decide};
use proofport_core::event::{Binding, Event, QueryPurpose, Stop, StopDetail};
use proofport_core::id::RequestId;
use proofport_core::inquiry::{Move, announced};
use proofport_core::project::project;
use proofport_core::state::{IllegalEvent, State};
use proofport_core::time::UnixMillis;

const EACH: ApprovalTerms = ApprovalTerms { needs: Approval::Each, queries: false, seconds: 60 };

/// An invocation whose credential is authorized, under these terms.
fn authorized(effect: Effect, terms: ApprovalTerms) -> State {
    let contract = contract(effect, Repeat::Idempotent);
    let bound = Binding { approval: terms, ..binding(contract) };
    fold(&[accepted(), Event::PreflightValidated(Box::new(bound)), Event::CredentialAuthorized(credential())])
}

fn take(state: &mut State, input: Input) -> Result<(), IllegalEvent> {
    for event in decide(state, input, START)? {
        state.apply(&event).unwrap();
    }
    Ok(())
}

fn question() -> Input {
    Input::Question(Question { until: LEASE_END, request: digest(9) })
}

const fn word(approved: bool, request: proofport_core::digest::Digest) -> Word {
    Word { approved, request, grant: None, by: None }
}

fn ready(request: u8) -> Input {
    let request = digest(request);
    Input::Ready(Box::new(Readiness { request, peer: peer(), key: None, lease_millis: 1000, follows: None }))
}

/// Law 8: nothing but the very bytes that the word was about is dispatched, and nothing without a word.
#[test]
fn only_what_was_approved_is_dispatched() {
    let check = |terms: ApprovalTerms, said: &[Input], sent: u8, dispatched: bool| {
        let mut state = authorized(Effect::Write, terms);
        for input in said {
            take(&mut state, input.clone()).unwrap();
        }
        assert_eq!(state.needs_word(Role::Effect, &digest(sent)), !dispatched);
        assert_eq!(take(&mut state, ready(sent)).is_ok(), dispatched, "{terms:?} {said:?} {sent}");
    };
    let session = ApprovalTerms { needs: Approval::Session, ..EACH };
    let yes = Input::Decided(word(true, digest(9)));
    let covered = Input::Decided(Word { by: Some(RequestId::from_random([3; 16])), ..word(true, digest(9)) });
    check(ApprovalTerms::NONE, &[], 9, true);
    for terms in [EACH, session] {
        check(terms, &[], 9, false);
        check(terms, &[question(), yes.clone()], 9, true);
        check(terms, &[question(), yes.clone()], 8, false);
        check(terms, std::slice::from_ref(&covered), 9, true);
        check(terms, std::slice::from_ref(&covered), 8, false);
    }
}

/// A question is answered once, with what was asked; a no ends it before anything is sent.
#[test]
fn a_word_is_about_its_question() {
    let check = |asked: bool, given: Word, code: Option<Result<Code, ()>>| {
        let mut state = authorized(Effect::Write, EACH);
        if asked {
            take(&mut state, question()).unwrap();
            assert_eq!(project(&state, START).code, Some(Code::ApprovalPending));
            assert_eq!(announced(&state), Some(Move::Lapse { at: LEASE_END }));
        }
        let taken = take(&mut state, Input::Decided(given));
        assert_eq!(taken.is_ok(), code.is_some(), "{given:?}");
        let Some(code) = code else { return };
        assert_eq!(project(&state, START).code, Some(code.unwrap_or(Code::InProgress)));
        assert_eq!(state.outcome(), Outcome::NotAttempted);
        assert_eq!(announced(&state), (asked && code.is_err()).then_some(Move::Begin));
        // What was approved waits for its hand, whatever becomes of the host.
        let recovered = decide(&state, Input::Recovered, START).unwrap();
        assert_eq!(recovered.is_empty(), asked || code.is_ok(), "{given:?}");
    };
    let yes = word(true, digest(9));
    let by = Some(RequestId::from_random([3; 16]));
    let grant = Some(Grant { until: None });
    check(true, yes, Some(Err(())));
    check(true, Word { grant, ..yes }, Some(Err(())));
    check(true, Word { by, ..yes }, Some(Err(())));
    check(true, word(false, digest(9)), Some(Ok(Code::UserDenied)));
    check(true, word(true, digest(8)), None);
    check(true, Word { grant, ..word(false, digest(9)) }, None);
    check(true, Word { grant, by, ..yes }, None);
    check(false, yes, None);
    check(false, word(false, digest(9)), None);
    check(false, Word { by, approved: false, ..yes }, None);
    check(false, Word { by, ..yes }, Some(Err(())));
}

/// Nobody answered is not a denial, and neither is carried out afterwards.
#[test]
fn a_question_that_lapsed_is_no_denial() {
    let mut state = authorized(Effect::Write, EACH);
    take(&mut state, question()).unwrap();
    let lapsed = Stop {
        phase: Phase::CredentialInjection,
        code: Code::ApprovalExpired,
        invalid_fields: Vec::new(),
        detail: StopDetail::None,
    };
    take(&mut state, Input::Refused(lapsed)).unwrap();
    assert_eq!(project(&state, START).code, Some(Code::ApprovalExpired));
    assert!(take(&mut state, Input::Decided(word(true, digest(9)))).is_err());
    assert!(take(&mut state, ready(9)).is_err());
    assert_eq!(announced(&state), None);
}

/// A read is covered from its first request on; queries before an effect wait only where the admin says so.
#[test]
fn queries_wait_for_a_word_where_they_need_one() {
    let check = |effect: Effect, terms: ApprovalTerms, purpose: QueryPurpose, approved: bool, legal: bool| {
        let mut state = authorized(effect, terms);
        let request = query(purpose, complete(200)).request;
        if approved {
            take(&mut state, Input::Question(Question { until: LEASE_END, request })).unwrap();
            take(&mut state, Input::Decided(word(true, request))).unwrap();
        }
        let queried = Input::Queried(Box::new(query(purpose, complete(200))));
        assert_eq!(take(&mut state, queried).is_ok(), legal, "{effect:?} {terms:?} {approved}");
    };
    let queries = ApprovalTerms { queries: true, ..EACH };
    check(Effect::Read, ApprovalTerms::NONE, QueryPurpose::Read, false, true);
    check(Effect::Read, EACH, QueryPurpose::Read, false, false);
    check(Effect::Read, EACH, QueryPurpose::Read, true, true);
    check(Effect::Write, EACH, QueryPurpose::Prepare, false, true);
    check(Effect::Write, queries, QueryPurpose::Prepare, false, false);
    check(Effect::Write, queries, QueryPurpose::Prepare, true, true);
    // A word on one of them is none on another.
    let mut state = authorized(Effect::Write, queries);
    take(&mut state, question()).unwrap();
    take(&mut state, Input::Decided(word(true, digest(9)))).unwrap();
    assert!(state.needs_word(Role::Query, &digest(8)) && !state.needs_word(Role::Query, &digest(9)));
}

/// A grant reaches as far as it says, and no further than its session, operation and binding.
#[test]
fn a_grant_covers_the_same_session_operation_and_binding() {
    let granted = |until: Option<UnixMillis>| {
        let mut state = authorized(Effect::Write, EACH);
        take(&mut state, question()).unwrap();
        let given = Word { grant: Some(Grant { until }), ..word(true, digest(9)) };
        take(&mut state, Input::Decided(given)).unwrap();
        state
    };
    let check = |until: Option<UnixMillis>, change: fn(&mut State), covered: bool| {
        let mut other = authorized(Effect::Write, EACH);
        change(&mut other);
        assert_eq!(granted(until).grants(&other, START), covered);
    };
    check(None, |_| {}, true);
    check(Some(START.plus_seconds(1)), |_| {}, true);
    check(Some(START), |_| {}, false);
    check(None, |other| other.accepted.session = "two".to_owned(), false);
    check(None, |other| other.accepted.principal = "somebody".to_owned(), false);
    check(None, |other| other.binding = None, false);
    check(None, |other| other.credential = None, false);
    let bound = |change: fn(&mut Binding)| {
        let mut other = authorized(Effect::Write, EACH);
        change(other.binding.as_mut().unwrap());
        assert!(!granted(None).grants(&other, START));
    };
    bound(|binding| binding.connector = digest(77));
    bound(|binding| binding.config = digest(77));
    bound(|binding| binding.ways = Some(digest(77)));
    bound(|binding| binding.origins.clear());
    bound(|binding| binding.contract.repeat = Repeat::None);
    let mut once = authorized(Effect::Write, EACH);
    take(&mut once, question()).unwrap();
    take(&mut once, Input::Decided(word(true, digest(9)))).unwrap();
    assert!(!once.grants(&authorized(Effect::Write, EACH), START), "once is once");
}

/// What is repeated over an unknown was approved with its first bytes.
#[test]
fn a_repeat_needs_no_second_word() {
    let mut state = authorized(Effect::Write, EACH);
    take(&mut state, question()).unwrap();
    take(&mut state, Input::Decided(word(true, digest(9)))).unwrap();
    take(&mut state, ready(9)).unwrap();
    assert_eq!(
        state.attempts[0].dispatch.request,
        dispatch(1, &contract(Effect::Write, Repeat::None)).request
    );
    assert!(!state.needs_word(Role::Effect, &digest(9)));
}
