//! SSH against a scripted server: what it does is data, and what we claim of it is compared.

// Helpers outside of `#[test]` functions say what they expect by panicking, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod canary;
mod guard;
mod rows;
mod server;
mod setup;

use proofport_core::exchange::{SshCommand, SshRequest};
use proofport_core::secret::Secret;
use proofport_core::ssh::SshHost;
use proofport_core::time::UnixMillis;
use proofport_egress::AddressPolicy;
use proofport_egress::ssh::{
    HostKeys, SshCredential, SshDeadlines, SshEgress, SshExchange, SshExchangeOptions, SshInjection,
    SshOutgoing, SshSetup, SshTarget, StopFirst,
};
use server::{PASSWORD, Peer};
use std::sync::Arc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

fn target(port: u16, key: &str) -> SshTarget {
    let mut host_keys = HostKeys::none();
    host_keys.pin(key).unwrap();
    SshTarget {
        host: SshHost::parse(&format!("somebody@127.0.0.1:{port}")).unwrap(),
        host_keys,
        addresses: AddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap()]),
        jump: None,
        deadlines: SshDeadlines {
            dns: PATIENCE,
            tcp_connect: PATIENCE,
            transport: PATIENCE,
            user_auth: PATIENCE,
            channel: PATIENCE,
            overall: PATIENCE,
        },
        setup_attempts: 2,
        keepalive: Duration::from_millis(200),
        keepalive_max: 3,
    }
}

fn options() -> SshExchangeOptions {
    SshExchangeOptions {
        deadline: PATIENCE,
        max_output_bytes: 1 << 20,
        max_shown_bytes: 1 << 20,
        max_content_bytes: 1 << 20,
        marker: Some("done act_1".to_owned()),
        stop_first: None,
    }
}

fn password() -> SshInjection {
    SshInjection::Password(Secret::new(PASSWORD.as_bytes().to_vec()))
}

async fn connect(target: &SshTarget, injection: &SshInjection, stdin: usize) -> SshSetup {
    let request = SshRequest {
        host: None,
        command: SshCommand::Argv(vec!["effect".to_owned()]),
        environment: Vec::new(),
        stdin: Some(vec![b'i'; stdin]),
        credential: None,
    };
    let credential = Arc::new(SshCredential::new(injection).unwrap());
    let outgoing = SshOutgoing::prepare(&request, credential).unwrap();
    SshEgress::new().connect(target, outgoing, UnixMillis(1_800_000_000_000), 1).await
}

async fn run(peer: &Peer, options: SshExchangeOptions, stdin: usize) -> SshExchange {
    let loaded = connect(&target(peer.port, &peer.key), &password(), stdin).await.result.unwrap();
    assert_eq!(peer.came().execs.len(), 0, "something of the effect left before the dispatch");
    tokio::spawn(async move { loaded.exchange(&options, Arc::new(()), std::future::pending(), None).await })
        .await
        .unwrap()
}

fn stop_first() -> Option<StopFirst> {
    Some(StopFirst { grace: PATIENCE })
}
