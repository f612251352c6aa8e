//! A host that is locked while it serves.

use crate::agent::program;
use crate::world::{OK, World};
use proofport_core::code::Code;
use proofport_core::event::EventKind;
use proofport_core::id::{OperationName, RequestId};
use proofport_gateway::Vault;
use proofport_gateway::operator_side::{
    Answered, Base64, Call, Client, ClientError, Failure, Fetch, LockVault, Secrets, Sent, Unknowns,
    UnlockVault,
};
use proofport_tests::peer::{Act, Peer, Script};
use proofport_tests::rig::PASSPHRASE;
use serde_json::{Value, json};
use std::sync::Arc;

fn call(key: &str) -> Call {
    let operation = OperationName::parse("c.act").unwrap();
    Call { operation, input: Base64(b"{}".to_vec()), call_key: Some(key.to_owned()) }
}

fn read(answered: &Answered) -> Value {
    serde_json::from_str(&answered.envelope).unwrap()
}

async fn code(client: &Client, key: &str) -> Option<Code> {
    read(&client.ask(&call(key)).await.unwrap())["code"].as_str().map(|code| Code::parse(code).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_under_way_ends_and_is_stored_and_nothing_new_begins() {
    let held = Script(vec![Act::ReadRequest, Act::Effect, Act::Hold, Act::Send(OK.into()), Act::Close]);
    let world = World::with(Peer::http(held)).await;
    let serving = world.serve().await;
    let client = Arc::new(serving.client().await);
    let first = tokio::spawn({
        let client = Arc::clone(&client);
        async move { client.ask(&call("first")).await.unwrap() }
    });
    tokio::task::block_in_place(|| world.remote.wait_effects(1));
    client.ask(&LockVault {}).await.unwrap();
    assert!(Vault::open(&world.home().vault()).unwrap().latched(), "and the next start finds it so");
    assert_eq!(code(&client, "second").await, Some(Code::VaultLocked));
    let secrets = client.ask(&Secrets {}).await;
    assert!(matches!(secrets, Err(ClientError::Failure(Failure::VaultLocked))), "the keys are forgotten");
    world.remote.release();
    let first = read(&first.await.unwrap());
    assert_eq!((&first["ok"], &first["outcome"]), (&json!(true), &json!("committed")));
    let id = RequestId::parse(first["request_id"].as_str().unwrap()).unwrap();
    assert_eq!(read(&client.ask(&Fetch { id }).await.unwrap())["outcome"], "committed");
    assert_eq!(client.ask(&Unknowns {}).await.unwrap(), []);
    // Nothing but the passphrase lifts it, and an agent's wait is not answered by it.
    assert_eq!(serving.agent(&program()).knock(), "waiting");
    let wrong = UnlockVault { passphrase: Sent(crate::world::secret("hunter2hunter2")) };
    assert!(client.ask(&wrong).await.is_err());
    assert_eq!(code(&client, "third").await, Some(Code::VaultLocked));
    client.ask(&UnlockVault { passphrase: Sent(crate::world::secret(PASSPHRASE)) }).await.unwrap();
    assert_eq!(code(&client, "fourth").await, None);
    assert_eq!((world.remote.effects(), serving.recorded(EventKind::VaultStateChanged)), (2, 2));
    serving.stop().await;
}
