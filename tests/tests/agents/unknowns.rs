//! An answer is lost: the agent is told so, nobody sends anything twice, and it is settled.

use crate::{Agent, Place, lost, refused, writes};
use proofport_client::{Action, Code, Outcome};

const AUTO: &str = "[connections.c.approvals]\nreads = \"auto\"\nwrites = \"auto\"\n[connections.c.reconciliations]\nattempts = 0\n";

/// Case 18: a repeated tool call meets the first, unknown or settled.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_is_met_and_asked_about_and_never_repeated() {
    let says_yes = proofport_tests::peer::Script::answer("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nyes");
    let place = Place::new("inquires", vec![lost(), says_yes], AUTO).await;
    let host = place.serve();
    let agent = Agent::new(&host, "mailer");
    let unknown = refused(agent.call("once", 1).await, Code::OutcomeUnknown);
    assert_eq!((unknown.outcome(), unknown.action()), (Some(Outcome::Unknown), Some(Action::InspectOutcome)));
    let id = unknown.request_id().unwrap().clone();
    let again = refused(agent.call("once", 1).await, Code::OutcomeUnknown);
    assert_eq!((again.request_id(), again.repeated()), (Some(&id), true));
    // Nothing of its contract makes a second arrival harmless.
    refused(agent.client.retry(&id).await, Code::OutcomeUnknown);
    let settled = agent.client.reconcile(&id).await.unwrap();
    assert_eq!(settled.request_id(), &id);
    assert!(agent.call("once", 1).await.unwrap().repeated());
    assert_eq!(writes(&place.peer), 1);
}

/// Law 3 under a locked vault: what stands on record is no refusal, and nobody is told that nothing was sent.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_stays_one_while_the_vault_is_locked() {
    let place = Place::new("promises", vec![lost()], AUTO_WITHOUT_QUESTIONS).await;
    let host = place.serve();
    let agent = Agent::new(&host, "mailer");
    let unknown = refused(agent.call("same", 1).await, Code::OutcomeUnknown);
    let id = unknown.request_id().unwrap().clone();
    assert_eq!(host.operator(&["vault", "lock"]).0, 0);
    for answered in [agent.client.retry(&id).await, agent.client.reconcile(&id).await] {
        let told = refused(answered, Code::OutcomeUnknown);
        assert_eq!((told.outcome(), told.request_id()), (Some(Outcome::Unknown), Some(&id)));
    }
    assert_eq!(writes(&place.peer), 1);
}

/// Where the contract makes a second arrival harmless, an agent may have it sent again, so often and no more.
#[tokio::test(flavor = "multi_thread")]
async fn an_agents_retries_have_a_budget() {
    let place = Place::new("promises", vec![lost(), lost(), lost(), lost()], AUTO_WITHOUT_QUESTIONS).await;
    let host = place.serve();
    let agent = Agent::new(&host, "mailer");
    let unknown = refused(agent.call("same", 1).await, Code::OutcomeUnknown);
    let id = unknown.request_id().unwrap().clone();
    for sent in [2, 3, 3, 3] {
        refused(agent.client.retry(&id).await, Code::OutcomeUnknown);
        assert_eq!(writes(&place.peer), sent);
    }
    // An operator's word needs none.
    assert_eq!(host.operator(&["retry", id.as_str()]).0, 12);
    assert_eq!(host.operator(&["retry", id.as_str()]).0, 0);
    assert!(agent.client.result(&id).await.is_ok());
    assert_eq!(writes(&place.peer), 5);
}

const AUTO_WITHOUT_QUESTIONS: &str = "[connections.c.approvals]\nreads = \"auto\"\nwrites = \"auto\"\n";
