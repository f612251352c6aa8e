//! Which children may be sent once more, and on what terms.

use super::*;
use crate::common::values::{
    KEY_END, LEASE_END, accepted, binding, child_id, complete, credential, digest, elsewhere, exec, key_use,
    keyed, lost, peer, query, settlement,
};
use proofport_core::batch::again::{Again, again, continues};
use proofport_core::batch::found;
use proofport_core::classify;
use proofport_core::contract::{KeyPlace, Source};
use proofport_core::decide::Readiness;
use proofport_core::event::{Binding, ChildFacts, Continues, CredentialUse, KeyUse, QueryPurpose};
use proofport_core::evidence::PeerIdentity;
use proofport_core::exchange::SshExit;
use proofport_core::id::{Reference, RequestId};
use proofport_core::project::project;
use proofport_core::state::IllegalEvent;
use proofport_core::time::UnixMillis;

use Outcome::{Committed, Rejected, Unknown};

/// Keyed, with a key for each child that the connector makes of the call's.
fn keyed_by_connector() -> Repeat {
    match keyed() {
        Repeat::Keyed(mut keyed) => {
            keyed.place = KeyPlace::Connector;
            Repeat::Keyed(keyed)
        }
        other @ (Repeat::None | Repeat::Idempotent | Repeat::Conditional) => other,
    }
}

/// Three children, of which the first is done.
fn partly(repeat: Repeat, delay: Option<u32>, second: Claim, third: Claim) -> State {
    let terms = independent(repeat);
    let mut reading = verdict(DIFFER);
    if let Reading::Verdict(verdict) = &mut reading {
        verdict.retry_after_seconds = delay;
    }
    answered(&terms, complete(200), reading, three(DONE, second, third))
}

#[test]
fn only_what_its_own_record_permits_is_sent_again() {
    let check = |repeat: Repeat, (second, third): (Claim, Claim), children: &[u32], unknown: &[u32]| {
        let state = partly(repeat.clone(), None, second, third);
        let got = again(&state, START);
        assert_eq!((&got.children[..], &got.unknown[..]), (children, unknown), "{repeat:?} {second:?}");
    };
    // Field case 13: one is done, one needs a correction, and one may come back.
    for repeat in [Repeat::Idempotent, keyed(), keyed_by_connector()] {
        check(repeat, (CONFLICT, LATER), &[2], &[]);
    }
    check(Repeat::None, (CONFLICT, LATER), &[], &[]);
    check(Repeat::Conditional, (CONFLICT, LATER), &[], &[]);
    // What is unknown goes out again only where the contract makes that harmless.
    check(Repeat::None, (UNCLEAR, UNCLEAR), &[], &[]);
    check(Repeat::Conditional, (UNCLEAR, UNCLEAR), &[], &[]);
    check(keyed(), (UNCLEAR, LATER), &[2], &[]);
    check(keyed_by_connector(), (UNCLEAR, LATER), &[1, 2], &[1]);
    check(Repeat::Idempotent, (UNCLEAR, LATER), &[1, 2], &[1]);
    check(Repeat::Idempotent, (FAILED, DONE), &[], &[]);
}

#[test]
fn a_key_is_good_for_children_until_its_stored_expiry() {
    let check = |now: UnixMillis, expected: &[u32]| {
        let state = partly(keyed_by_connector(), None, UNCLEAR, CONFLICT);
        assert_eq!(again(&state, now).children, expected, "{now:?}");
    };
    check(START, &[1]);
    check(UnixMillis(KEY_END.0 - 1), &[1]);
    check(KEY_END, &[]);
}

#[test]
fn a_remote_that_asks_to_wait_is_waited_for() {
    let until = START.plus_seconds(30).0;
    let check = |repeat: Repeat, now: u64, expected: Again| {
        let state = partly(repeat, Some(30), UNCLEAR, LATER);
        assert_eq!(again(&state, UnixMillis(now)), expected, "{now}");
    };
    let held = |children: &[u32]| Again {
        children: children.to_vec(),
        unknown: children.to_vec(),
        // The exchange itself took a moment.
        not_before: Some(UnixMillis(until + 1)),
    };
    let free = |children: &[u32], unknown: &[u32]| Again {
        children: children.to_vec(),
        unknown: unknown.to_vec(),
        not_before: None,
    };
    check(Repeat::None, START.0, held(&[]));
    check(Repeat::None, until, held(&[]));
    check(Repeat::None, until + 1, free(&[2], &[]));
    check(Repeat::Idempotent, START.0, held(&[1]));
    check(Repeat::Idempotent, until + 1, free(&[1, 2], &[1]));
}

/// A batch that may be repeated whole is not sent in parts beside that, and an atomic one never is.
#[test]
fn a_batch_is_divided_only_when_nobody_repeats_it_whole() {
    let check = |terms: &Contract, word: Claim, said: Vec<Said>, expected: &[u32]| {
        let state = answered(terms, complete(200), verdict(word), said);
        assert_eq!(again(&state, START).children, expected, "{terms:?}");
    };
    let some_refused = || three(LATER, UNCLEAR, CONFLICT);
    check(&independent(Repeat::Idempotent), UNCLEAR, some_refused(), &[]);
    check(&independent(keyed_by_connector()), UNCLEAR, some_refused(), &[]);
    check(&independent(Repeat::Idempotent), DIFFER, some_refused(), &[0, 1]);
    let atomic = batch(BatchMode::Atomic, contract(Effect::Write, Repeat::Idempotent));
    check(&atomic, LATER, vec![], &[]);
    check(&atomic, UNCLEAR, vec![], &[]);
    check(&independent(Repeat::Idempotent), LATER, vec![], &[0, 1, 2]);
    let before = fold(&reach(Standing::Authorized, Way::Write, &independent(Repeat::Idempotent)).unwrap());
    assert_eq!(again(&before, START), Again::default());
    let under_way = fold(&reach(Standing::Dispatched, Way::Write, &independent(Repeat::Idempotent)).unwrap());
    assert_eq!(again(&under_way, START), Again::default());
    let lost = answered(&independent(Repeat::None), lost(), Reading::None, vec![]);
    assert_eq!(again(&lost, START), Again::default());
}

#[test]
fn what_is_unknown_takes_its_key_and_credential_along() {
    let check = |repeat: Repeat, children: &[u32], unknown: &[u32], expected: Continues| {
        let state = partly(repeat, None, UNCLEAR, LATER);
        assert_eq!(continues(&state, children, unknown), expected, "{children:?}");
    };
    let parent = RequestId::from_random([7; 16]);
    let nothing = Continues { parent, ..takes_nothing_over() };
    check(keyed_by_connector(), &[2], &[], nothing.clone());
    check(keyed_by_connector(), &[2], &[1], nothing.clone());
    // Without its reference and its time the remote would not know it again.
    let reference = Some(RequestId::from_random([7; 16]).reference());
    let accepted_at = Some(START);
    let known = Continues { reference, accepted_at, ..nothing.clone() };
    let carried = Continues { unknown: vec![0], credential: Some(credential()), ..known };
    check(Repeat::Idempotent, &[1, 2], &[1], carried.clone());
    let key = Some(key_use(8, KEY_END));
    check(keyed_by_connector(), &[1, 2], &[1], Continues { key: key.clone(), ..carried.clone() });
    check(keyed_by_connector(), &[0, 1], &[1], Continues { key, unknown: vec![1], ..carried });
}

/// A linked invocation up to its dispatch.
fn linked(repeat: Repeat, takes_over: Continues, uses: CredentialUse) -> Result<State, IllegalEvent> {
    let Event::ActionAccepted(mut first) = accepted() else { panic!("no acceptance") };
    first.continues = Some(Box::new(takes_over));
    let events = [
        Event::ActionAccepted(first),
        Event::PreflightValidated(Box::new(binding(independent(repeat)))),
        Event::CredentialAuthorized(uses),
        Event::LeaseTaken { generation: 1, until: LEASE_END },
    ];
    State::replay(&events).map(Option::unwrap)
}

fn takes_over(unknown: &[u32], key: Option<KeyUse>) -> Continues {
    Continues { unknown: unknown.to_vec(), key, credential: Some(credential()), ..takes_nothing_over() }
}

fn takes_nothing_over() -> Continues {
    Continues {
        parent: RequestId::from_random([1; 16]),
        unknown: Vec::new(),
        key: None,
        credential: None,
        reference: None,
        accepted_at: None,
        peer: None,
    }
}

#[test]
fn what_is_unknown_leaves_again_only_under_its_own_key_in_time() {
    let check = |repeat: Repeat, unknown: &[u32], key: Option<KeyUse>, now: UnixMillis, permitted: bool| {
        let mine = Some(key_use(8, KEY_END));
        let state = linked(repeat.clone(), takes_over(unknown, mine), credential()).unwrap();
        let ready = Readiness { request: digest(9), peer: peer(), key, lease_millis: 1, follows: None };
        let got = decide(&state, Input::Ready(Box::new(ready)), now);
        assert_eq!(got.is_ok(), permitted, "{repeat:?} {unknown:?} {now:?}");
    };
    let mine = || Some(key_use(8, KEY_END));
    let other = || Some(key_use(9, KEY_END));
    let late = UnixMillis(LEASE_END.0 - 1);
    check(keyed_by_connector(), &[0], mine(), late, true);
    check(keyed_by_connector(), &[0], other(), late, false);
    check(keyed_by_connector(), &[0], None, late, false);
    check(keyed_by_connector(), &[], other(), late, true);
    check(keyed(), &[0], mine(), late, false);
    check(keyed(), &[], other(), late, true);
    check(Repeat::Idempotent, &[0], None, late, true);
    check(Repeat::None, &[0], None, late, false);
    check(Repeat::Conditional, &[0], None, late, false);
    check(Repeat::None, &[], None, late, true);
    // The key's time is over before the lease's is.
    let short = || Some(key_use(8, UnixMillis(START.0 + 5)));
    let state = linked(keyed_by_connector(), takes_over(&[0], short()), credential()).unwrap();
    let ready = |key| Readiness { request: digest(9), peer: peer(), key, lease_millis: 1, follows: None };
    let at = |now: u64| decide(&state, Input::Ready(Box::new(ready(short()))), UnixMillis(now)).is_ok();
    assert!(at(START.0 + 4) && !at(START.0 + 5));
}

#[test]
fn what_is_unknown_leaves_again_with_its_own_credential() {
    let check = |unknown: &[u32], version: u32, permitted: bool| {
        let uses = CredentialUse { version: Some(version), ..credential() };
        let got = linked(Repeat::Idempotent, takes_over(unknown, None), uses);
        assert_eq!(got.is_ok(), permitted, "{unknown:?}, version {version}");
    };
    check(&[0], 1, true);
    check(&[0], 2, false);
    check(&[], 2, true);
}

/// Law 3 over the link: a refusal there settles nothing that is unknown here.
#[test]
fn a_refusal_of_what_is_sent_again_leaves_it_unknown() {
    let check = |word: Claim, said: Vec<Said>, whole: Outcome, expected: [Outcome; 3]| {
        let terms = independent(Repeat::Idempotent);
        let mut state = linked(Repeat::Idempotent, takes_over(&[1], None), credential()).unwrap();
        let ready = Readiness { request: digest(9), peer: peer(), key: None, lease_millis: 1, follows: None };
        take(&mut state, Input::Ready(Box::new(ready)));
        answer(&mut state, &terms, complete(200), verdict(word), said.clone());
        let got: Vec<_> = claims(&state, START).into_iter().map(|claim| claim.outcome).collect();
        assert_eq!(got, expected, "{said:?}");
        assert_eq!(state.outcome(), whole, "{said:?}");
        let claim = project(&state, START);
        assert_eq!(claim.outcome, whole);
        assert!(claim.code.is_some() || whole == Committed);
    };
    check(LATER, vec![], Unknown, [Rejected, Unknown, Rejected]);
    check(DIFFER, three(DONE, CONFLICT, CONFLICT), Committed, [Committed, Unknown, Rejected]);
    check(DIFFER, three(CONFLICT, DONE, CONFLICT), Committed, [Rejected, Committed, Rejected]);
    check(DONE, three(DONE, DONE, DONE), Committed, [Committed; 3]);
    // Before anything is sent, it is as unknown as ever.
    let state = linked(Repeat::Idempotent, takes_over(&[1], None), credential()).unwrap();
    let got: Vec<_> = claims(&state, START).into_iter().map(|claim| claim.outcome).collect();
    assert_eq!(got, [Outcome::NotAttempted, Unknown, Outcome::NotAttempted]);
}

/// A query looks for the effect of the call that it is made for: its finding nothing does not settle what
/// another call may have done.
#[test]
fn absence_here_says_nothing_of_what_was_sent_first() {
    let present = (Committed, true, Reason::Present);
    let absent = (Rejected, false, Reason::Absent);
    let check = |word: Claim, said: Vec<Said>, whole: Outcome, expected: [Outcome; 3]| {
        let mut state = linked(Repeat::Idempotent, takes_over(&[1], None), credential()).unwrap();
        let ready = Readiness { request: digest(9), peer: peer(), key: None, lease_millis: 1, follows: None };
        take(&mut state, Input::Ready(Box::new(ready)));
        answer(&mut state, &independent(Repeat::Idempotent), lost(), Reading::None, vec![]);
        take(&mut state, Input::Queried(Box::new(query(QueryPurpose::Reconcile, complete(200)))));
        let evidence = Evidence::from(complete(200));
        let plain = contract(Effect::Write, Repeat::Idempotent);
        let found_whole = classify::judge(&evidence, &plain, verdict(word), None);
        let judgement = found(&state, found_whole, (word.0, word.1), said.clone());
        let result = ResultFacts::Nothing;
        take(&mut state, Input::Reconciled(Box::new(Judged { judgement, evidence, result })));
        let got: Vec<_> = claims(&state, START).into_iter().map(|claim| claim.outcome).collect();
        assert_eq!((state.outcome(), &got[..]), (whole, &expected[..]), "{said:?}");
    };
    check(absent, vec![], Unknown, [Rejected, Unknown, Rejected]);
    check(absent, three(absent, absent, absent), Unknown, [Rejected, Unknown, Rejected]);
    check(present, three(absent, present, absent), Committed, [Rejected, Committed, Rejected]);
    check(present, three(present, absent, present), Committed, [Committed, Unknown, Committed]);
}

/// And the record refuses it, too.
#[test]
fn a_record_of_absence_here_settles_nothing_that_was_sent_first() {
    let lost_again = || {
        let mut state = linked(Repeat::Idempotent, takes_over(&[1], None), credential()).unwrap();
        let ready = Readiness { request: digest(9), peer: peer(), key: None, lease_millis: 1, follows: None };
        take(&mut state, Input::Ready(Box::new(ready)));
        answer(&mut state, &independent(Repeat::Idempotent), lost(), Reading::None, vec![]);
        take(&mut state, Input::Queried(Box::new(query(QueryPurpose::Reconcile, complete(200)))));
        state
    };
    let check = |event: Event, permitted: bool| {
        let refused = Err(IllegalEvent::Contradiction(event.kind()));
        assert_eq!(lost_again().apply(&event), if permitted { Ok(()) } else { refused }, "{event:?}");
    };
    let child = |index: u32, id: &str, outcome: Outcome| {
        let code = (outcome == Rejected).then_some(Code::ConfirmedAbsent);
        let (id, source) = (child_id(id), Source::RemoteQuery);
        let (repairable, output) = (false, None);
        Event::ChildSettled(ChildFacts {
            index,
            id,
            generation: 1,
            outcome,
            code,
            source,
            repairable,
            output,
            attested_reason: None,
            left_unknown: None,
        })
    };
    check(child(0, "a", Rejected), true);
    check(child(1, "b", Rejected), false);
    check(child(1, "b", Committed), true);
    check(Event::OutcomeSettled(settlement(Rejected, Source::RemoteQuery)), false);
    check(Event::OutcomeSettled(settlement(Rejected, Source::OperatorAttested)), true);
}

/// What is unknown keeps the reference by which its connector may have named it, and the machine that had it.
#[test]
fn what_is_unknown_keeps_its_reference_and_its_machine() {
    let own = || RequestId::from_random([7; 16]).reference();
    let check = |first: Continues, there: PeerIdentity, permitted: bool| {
        let what = format!("{first:?} {there:?}");
        let got = linked(Repeat::Idempotent, first, credential()).is_ok_and(|state| {
            let key = None;
            let ready = Readiness { request: digest(9), peer: there, key, lease_millis: 1, follows: None };
            decide(&state, Input::Ready(Box::new(ready)), START).is_ok()
        });
        assert_eq!(got, permitted, "{what}");
    };
    let known = |reference| Continues { reference: Some(reference), ..takes_over(&[1], None) };
    check(known(own()), peer(), true);
    check(known(RequestId::from_random([8; 16]).reference()), peer(), false);
    let machine = || Continues { peer: Some(peer()), ..takes_over(&[1], None) };
    let other = || PeerIdentity { certificate: Some(digest(77)), ..peer() };
    check(machine(), peer(), true);
    check(machine(), other(), false);
    check(takes_over(&[1], None), other(), true);
    // Nothing of what was refused is anywhere.
    check(Continues { unknown: Vec::new(), ..machine() }, other(), true);
}

/// One that continues another hands on what it took over itself.
#[test]
fn a_reference_is_handed_on() {
    let first = RequestId::from_random([3; 16]).reference();
    let Event::ActionAccepted(mut accepted) = accepted() else { panic!("no acceptance") };
    let taken = Continues {
        reference: Some(first.clone()),
        accepted_at: Some(UnixMillis(5)),
        ..takes_over(&[1], None)
    };
    accepted.continues = Some(Box::new(taken));
    assert_eq!((accepted.reference(), accepted.known_since()), (first.clone(), UnixMillis(5)));
    let binding = Binding { reference: first.clone(), ..binding(independent(Repeat::Idempotent)) };
    let events = [Event::ActionAccepted(accepted), Event::PreflightValidated(Box::new(binding))];
    let state = State::replay(&events).unwrap().unwrap();
    let handed_on = continues(&state, &[1], &[1]);
    assert_eq!((handed_on.reference, handed_on.accepted_at), (Some(first), Some(UnixMillis(5))));
}

/// Over SSH it takes the machine along that had the command.
#[test]
fn a_machine_is_taken_along() {
    let done = exec(Some(SshExit::Status(0)), true);
    let terms = independent(Repeat::Idempotent);
    let state = answered(&terms, done, verdict(DIFFER), three(DONE, UNCLEAR, LATER));
    assert_eq!(again(&state, START).unknown, [1]);
    assert_eq!(continues(&state, &[1], &[1]).peer, Some(peer()));
    assert_eq!(continues(&state, &[2], &[1]).peer, None);
}

/// Another origin knows nothing of them, and what was asked before is not kept: then nobody would know what is
/// unknown again. What was refused may be sent all the same.
#[test]
fn what_nobody_would_know_again_is_not_sent() {
    let check = |what: &str, change: &dyn Fn(&mut State), children: &[u32], retry: Retry| {
        let mut state = partly(Repeat::Idempotent, None, UNCLEAR, LATER);
        change(&mut state);
        assert_eq!(again(&state, START).children, children, "{what}");
        assert_eq!(rows(&state)[1].2, retry, "{what}");
    };
    check("nothing of the kind", &|_| {}, &[1, 2], Retry::Backoff);
    let sent_on = |state: &mut State| state.attempts[0].dispatch.follows = Some(elsewhere());
    check("sent on", &sent_on, &[2], Retry::Reconcile);
    let asked = |state: &mut State| state.queries.push(query(QueryPurpose::Prepare, complete(200)));
    check("prepared", &asked, &[2], Retry::Reconcile);
    let looked = |state: &mut State| state.queries.push(query(QueryPurpose::Reconcile, complete(200)));
    check("asked about", &looked, &[1, 2], Retry::Backoff);
}

/// A redirect is not followed with what another origin has perhaps carried out.
#[test]
fn what_is_sent_again_is_not_sent_on() {
    let own = || Some(RequestId::from_random([7; 16]).reference());
    let check = |unknown: &[u32], reference: Option<Reference>, permitted: bool| {
        let carried = Continues { reference, ..takes_over(unknown, None) };
        let mut state = linked(Repeat::Idempotent, carried, credential()).unwrap();
        let ready = Readiness { request: digest(9), peer: peer(), key: None, lease_millis: 1, follows: None };
        take(&mut state, Input::Ready(Box::new(ready)));
        take(&mut state, Input::Exchanged(Box::new(complete(307).into())));
        take(&mut state, Input::Redirected { evidence: Box::new(complete(307)), to: elsewhere() });
        let follows = Some(elsewhere());
        let ready = Readiness { request: digest(8), peer: peer(), key: None, lease_millis: 1, follows };
        let followed = decide(&state, Input::Ready(Box::new(ready)), START);
        assert_eq!(followed.is_ok(), permitted, "{unknown:?}");
    };
    check(&[], None, true);
    check(&[1], own(), false);
    // Records from before the reference was taken along can be read, whatever they say.
    check(&[1], None, true);
}
