//! A new agent waits; a word counts for exactly the process and program that it was given for.

use crate::agent::{digest_of, other_program, program};
use crate::world::{Serving, World};
use proofport_core::session::{DecidedBy, SessionStanding, Who};
use proofport_gateway::operator_side::{
    AllowSession, ClientError, EndSession, Failure, ListSessions, MintToken, Minted,
};
use proofport_gateway::session::Admission;
use proofport_tests::rig::name;

/// The token's text.
async fn minted(serving: &Serving, agent: &str) -> (Minted, String) {
    let minted = serving.client().await.ask(&MintToken { agent: name(agent) }).await.unwrap();
    let text = String::from_utf8(minted.token.0.expose().to_vec()).unwrap();
    (minted, text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_process_waits_until_it_is_let_in_and_no_other_is_let_in_with_it() {
    let world = World::new().await;
    let serving = world.serve().await;
    let client = serving.client().await;
    let mut agent = serving.agent(&program());
    assert_eq!(agent.knock(), "waiting");
    assert_eq!(agent.knock(), "waiting");
    let waits = client.ask(&ListSessions {}).await.unwrap();
    let [view] = waits.as_slice() else { panic!("{waits:?}") };
    let Who::Process(process) = &view.who else { panic!("{view:?}") };
    assert_eq!((process.key.pid, process.key.executable), (agent.pid(), digest_of(&program())));
    assert_eq!(process.path, program().to_str().unwrap());
    assert_eq!(process.parent.as_ref().unwrap().pid, std::process::id());

    let allowed = client.ask(&AllowSession { session: view.id }).await.unwrap();
    assert_eq!((allowed.standing, allowed.by), (SessionStanding::Allowed, Some(DecidedBy::Operator)));
    let (uid, digest) = (process.key.uid, process.key.executable.hex());
    let admitted = format!("admitted {} uid:{uid}:exe:{digest}", view.id);
    assert_eq!(agent.knock(), admitted);
    // Neither another program nor another process of the same one.
    let other = other_program(world.folder.path(), "other");
    for next in [&other, &program()] {
        let mut next = serving.agent(next);
        assert_eq!(next.knock(), "waiting");
    }
    assert_eq!(agent.knock(), admitted);

    client.ask(&EndSession { session: view.id }).await.unwrap();
    assert_eq!(agent.knock(), "ended");
    assert!(!serving.sessions.may_call(&view.id));
    let again = client.ask(&AllowSession { session: view.id }).await;
    assert!(
        matches!(again, Err(ClientError::Failure(Failure::SessionEnded { session })) if session == view.id)
    );
    assert_eq!(agent.knock(), "ended");
    serving.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_process_is_refused_for_good_and_one_that_is_gone_is_not_let_in() {
    let world = World::new().await;
    let serving = world.serve().await;
    let client = serving.client().await;
    let mut agent = serving.agent(&program());
    agent.knock();
    client.ask(&EndSession { session: serving.waiting().id }).await.unwrap();
    assert_eq!(agent.knock(), "ended");

    let mut gone = serving.agent(&program());
    gone.knock();
    let waited = serving.waiting().id;
    gone.end();
    let allowed = client.ask(&AllowSession { session: waited }).await;
    assert!(
        matches!(allowed, Err(ClientError::Failure(Failure::NoSuchSession { .. }))),
        "{:?}",
        allowed.err()
    );
    assert!(serving.standing(SessionStanding::Waiting).is_empty());
    serving.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_becomes_another_program_is_asked_about_anew() {
    let world = World::new().await;
    let serving = world.serve().await;
    let client = serving.client().await;
    let mut agent = serving.agent(&program());
    agent.knock();
    client.ask(&AllowSession { session: serving.waiting().id }).await.unwrap();
    assert!(agent.knock().starts_with("admitted"));
    let pid = agent.pid();
    agent.exec(&other_program(world.folder.path(), "other"));
    assert_eq!(agent.knock(), "waiting");
    assert_eq!(agent.pid(), pid);
    // Becoming the first again is becoming a new one, also for a host that has started since.
    agent.exec(&program());
    assert_eq!(agent.knock(), "ended");
    let [ended] = <[_; 1]>::try_from(serving.standing(SessionStanding::Ended)).unwrap();
    assert_eq!(ended.by, Some(DecidedBy::Host));
    serving.stop().await;
    let serving = world.serve().await;
    assert_eq!(agent.knock(), "ended");
    serving.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_forgets_no_word() {
    let world = World::new().await;
    let serving = world.serve().await;
    let client = serving.client().await;
    let mut agents: Vec<_> = (0..3).map(|_| serving.agent(&program())).collect();
    for (agent, allowed) in agents.iter_mut().zip([Some(true), Some(false), None]) {
        agent.knock();
        let pid = agent.pid();
        let waiting = serving.standing(SessionStanding::Waiting);
        let of_it = |who: &Who| if let Who::Process(process) = who { process.key.pid == pid } else { false };
        let session = waiting.iter().find(|view| of_it(&view.who)).unwrap().id;
        match allowed {
            Some(true) => drop(client.ask(&AllowSession { session }).await.unwrap()),
            Some(false) => drop(client.ask(&EndSession { session }).await.unwrap()),
            None => {}
        }
    }
    let said: Vec<String> = agents.iter_mut().map(crate::agent::Agent::knock).collect();
    assert!(said[0].starts_with("admitted") && said[1] == "ended" && said[2] == "waiting", "{said:?}");
    let (kept, token) = minted(&serving, "kept").await;
    let (ended, ended_token) = minted(&serving, "ended").await;
    client.ask(&EndSession { session: ended.session.id }).await.unwrap();
    let refused = client.ask(&MintToken { agent: name("kept") }).await.err().unwrap();
    let has = Failure::AgentHasToken { agent: name("kept"), session: kept.session.id };
    assert!(matches!(refused, ClientError::Failure(failure) if failure == has));
    serving.stop().await;

    let serving = world.serve().await;
    let again: Vec<String> = agents.iter_mut().map(crate::agent::Agent::knock).collect();
    assert_eq!(again, said, "the same sessions, and who waited waits");
    let Some(Admission::Admitted(caller)) = serving.sessions.of_token(&token) else { panic!("it holds") };
    assert_eq!((caller.principal.as_str(), caller.session), ("agent:kept", kept.session.id.to_string()));
    assert_eq!(serving.sessions.of_token(&ended_token), Some(Admission::Ended));
    for nobodys in ["", "ppt_", &token[..55], &format!("{token}a"), &token.to_uppercase()] {
        assert_eq!(serving.sessions.of_token(nobodys), None, "{nobodys}");
    }
    // A name whose token was ended is free for another, and the old one stays what it is.
    let (_, renewed) = minted(&serving, "ended").await;
    assert!(matches!(serving.sessions.of_token(&renewed), Some(Admission::Admitted(_))));
    assert_eq!(serving.sessions.of_token(&ended_token), Some(Admission::Ended));
    serving.stop().await;
    let stored = std::fs::read(world.home().journal()).unwrap();
    for token in [token, ended_token, renewed] {
        assert!(memchr::memmem::find(&stored, token.as_bytes()).is_none(), "no token is stored");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_wait_are_bounded() {
    let world = World::new().await;
    let serving = world.serve().await;
    let mut agents: Vec<_> = (0..20).map(|_| serving.agent(&program())).collect();
    for agent in &mut agents {
        assert_eq!(agent.knock(), "waiting");
    }
    assert_eq!(serving.standing(SessionStanding::Waiting).len(), 16, "one program's don't fill the list");
    let mut other = serving.agent(&other_program(world.folder.path(), "other"));
    assert_eq!(other.knock(), "waiting");
    assert_eq!(serving.standing(SessionStanding::Waiting).len(), 17);
    // Whose process is gone makes room.
    agents.drain(..10).for_each(crate::agent::Agent::end);
    for agent in &mut agents {
        assert_eq!(agent.knock(), "waiting");
    }
    assert_eq!(serving.standing(SessionStanding::Waiting).len(), 11);
    serving.stop().await;
}
