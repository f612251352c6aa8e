//! An agent asks, a person answers, and the host does what was said.

use crate::{Agent, LONG, Place, refused, writes};
use proofport_client::{Action, Code, Outcome};
use proofport_core::digest::Digest;

/// Approving is a person's: the agent waits, and gets what was approved, once, whatever becomes of the host.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_approves_is_done_once() {
    for restart in [false, true] {
        let place = Place::new("promises", Vec::new(), "").await;
        let mut host = place.serve();
        let (token, session) = host.token("mailer");
        let mut agent = Agent { client: Agent::client(&host, &token), session };
        let id = agent.asked("keyed", 1).await;
        assert_eq!(writes(&place.peer), 0);
        let again = refused(agent.call("keyed", 1).await, Code::ApprovalPending);
        assert_eq!((again.request_id(), again.repeated()), (Some(&id), true));
        if restart {
            tokio::task::block_in_place(|| host.kill());
            host = place.serve();
            agent.client = Agent::client(&host, &token);
        }
        let (status, listed) = host.operator(&["approvals"]);
        let card = &listed["approvals"][0]["card"];
        assert_eq!((status, card["request_id"].as_str()), (0, Some(id.as_str())), "{listed}");
        assert_eq!(card["principal"], "agent:mailer");
        assert_eq!(listed["approvals"][0]["session"]["id"].as_str(), Some(agent.session.as_str()));
        Digest::parse(card["request"].as_str().unwrap()).unwrap();
        // Without a person at a terminal it takes a word that says so.
        assert_eq!(host.operator(&["approve", id.as_str()]).0, 2);
        let waiting = agent.client.wait(&id, LONG);
        let approving =
            async { tokio::task::block_in_place(|| host.operator(&["approve", id.as_str(), "--yes"])) };
        let (done, (status, said)) = tokio::join!(waiting, approving);
        assert_eq!((status, said["request_id"].as_str()), (14, Some(id.as_str())), "{said}");
        assert_eq!(done.unwrap().request_id(), &id);
        assert_eq!(writes(&place.peer), 1);
        assert!(agent.call("keyed", 1).await.unwrap().repeated());
        assert_eq!(writes(&place.peer), 1);
        assert_eq!(tokio::task::block_in_place(|| host.stop()), Some(0));
    }
}

/// Case 24 as agents see it: a no is a no, and tells them to stop.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_denies_does_not_run() {
    let place = Place::new("promises", Vec::new(), "").await;
    let host = place.serve();
    let agent = Agent::new(&host, "mailer");
    let id = agent.asked("act", 1).await;
    let (status, said) = host.operator(&["deny", id.as_str()]);
    assert_eq!((status, said["code"].as_str()), (10, Some("USER_DENIED")), "{said}");
    let denied = refused(agent.client.result(&id).await, Code::UserDenied);
    assert_eq!(
        (denied.outcome(), denied.action()),
        (Some(Outcome::NotAttempted), Some(Action::StopAndReport))
    );
    assert_eq!(place.peer.accepted(), 0);
    assert_eq!(host.operator(&["approve", id.as_str(), "--yes"]).0, 1);
}

/// Case 25: what is allowed for one agent's session is asked about for another's.
#[tokio::test(flavor = "multi_thread")]
async fn what_one_agent_may_another_may_not() {
    let place = Place::new("promises", Vec::new(), "").await;
    let host = place.serve();
    let (mailer, stranger) = (Agent::new(&host, "mailer"), Agent::new(&host, "stranger"));
    let id = mailer.asked("act", 1).await;
    assert_eq!(host.operator(&["approve", id.as_str(), "--session", "--yes"]).0, 14);
    mailer.client.wait(&id, LONG).await.unwrap();
    mailer.call("act", 2).await.unwrap();
    stranger.asked("act", 3).await;
    // Another's invocation is as unknown as none.
    refused(stranger.client.result(&id).await, Code::NoSuchInvocation);
    assert_eq!(writes(&place.peer), 2);
}
