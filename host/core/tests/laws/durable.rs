//! Laws 1 and 5: a host that puts on disk what `due` says, and nothing sooner, dispatches and answers nothing
//! that its disk does not know.

use crate::aggregation::{ENDINGS, Ending, ready};
use crate::common::history::fold;
use crate::common::values::{START, accepted, binding, contract, credential, output, stop};
use proofport_core::classify::{Reading, judge};
use proofport_core::contract::{Effect, Repeat};
use proofport_core::decide::{Input, Judged, decide};
use proofport_core::due::{Effect as Due, due};
use proofport_core::envelope::Envelope;
use proofport_core::event::Event;
use proofport_core::evidence::Evidence;
use proofport_core::manifest::Contract;
use proofport_core::state::State;

/// A host without anything around it, which loses what is pending whenever its power goes.
struct Host {
    terms: Contract,
    state: State,
    pending: Vec<Event>,
    disk: Vec<Event>,
    commits: usize,
}

impl Host {
    fn new() -> Self {
        let state = fold(&[accepted()]);
        let terms = contract(Effect::Write, Repeat::None);
        Self { terms, state, pending: vec![accepted()], disk: Vec::new(), commits: 0 }
    }

    fn learn(&mut self, input: Input) {
        for event in decide(&self.state, input, START).unwrap() {
            self.state.apply(&event).unwrap();
            self.pending.push(event);
        }
    }

    /// What comes next, with on disk what has to be there before it.
    fn next(&mut self) -> Due {
        let next = due(&self.state);
        if next.must_be_durable() && !self.pending.is_empty() {
            self.disk.append(&mut self.pending);
            self.commits += 1;
        }
        next
    }

    /// What would be known after a power loss.
    fn known(&self) -> Option<State> {
        State::replay(&self.disk).unwrap()
    }

    /// One whole call whose attempt ends like this. Returns how many commits it cost.
    fn call(mut self, ending: Ending) -> usize {
        let shown = ending.shown();
        loop {
            match self.next() {
                Due::Validate => self.learn(Input::Validated(Box::new(binding(self.terms.clone())))),
                Due::Authorize => self.learn(Input::Authorized(credential())),
                Due::Prepare => match shown {
                    Ok(_) => self.learn(ready(&self.terms)),
                    Err((phase, code)) => self.learn(Input::Refused(stop(phase, code))),
                },
                Due::Dispatch => {
                    assert_eq!(
                        self.known().as_ref(),
                        Some(&self.state),
                        "{ending:?}: sent before it was on disk"
                    );
                    let evidence = Evidence::from(shown.clone().unwrap());
                    self.learn(Input::Exchanged(Box::new(evidence)));
                }
                Due::Judge => {
                    let http = shown.clone().unwrap();
                    let reading = Reading::Verdict(ending.verdict(&http, &self.terms));
                    let evidence = Evidence::from(http);
                    let judgement = judge(&evidence, &self.terms, reading, None);
                    self.learn(Input::Judged(Box::new(Judged { judgement, evidence, result: output() })));
                }
                Due::Wait | Due::Deliver => {
                    let told = |state: &State| {
                        serde_json::to_string(&Envelope::of(state, None, false, START)).unwrap()
                    };
                    let known = self.known().as_ref().map(told);
                    assert_eq!(known, Some(told(&self.state)), "{ending:?}: told before it was on disk");
                    return self.commits;
                }
            }
        }
    }
}

/// Two commits for a call that reached its dispatch, and one for any other.
#[test]
fn nothing_is_sent_or_told_before_it_is_on_disk() {
    for ending in ENDINGS {
        let commits = Host::new().call(ending);
        assert_eq!(commits, if ending.shown().is_ok() { 2 } else { 1 }, "{ending:?}");
    }
}
