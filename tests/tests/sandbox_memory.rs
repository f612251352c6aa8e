//! What a memory bomb leaves behind. A program of its own, since it measures the whole process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

use proofport_core::call::Call;
use proofport_core::id::{Name, RequestId};
use proofport_core::origin::Origin;
use proofport_core::time::UnixMillis;
use proofport_sandbox::{Fault, Limits, Rules, Sandbox};
use proofport_tests::guests::guest;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn a_memory_bomb_leaves_no_memory_behind() {
    let limits = Limits { instances: 2, ..Limits::default() };
    let sandbox = Sandbox::new(None, Zeroizing::new([7; 32]), limits).unwrap();
    let bomb = sandbox.load(&guest("memory-bomb")).unwrap();
    let call = Call {
        operation: Name::parse("act").unwrap(),
        input: "{}".to_owned(),
        config: "{}".to_owned(),
        reference: RequestId::from_random([1; 16]).reference(),
        idempotency_key: None,
        accepted_at: UnixMillis(0),
    };
    let rules = Rules {
        origins: vec![Origin::parse("https://api.example").unwrap()],
        manifest: Arc::new(bomb.describe("{}").await.unwrap().value),
        operation: call.operation.clone(),
        ssh_hosts: Vec::new(),
        raw_commands: false,
    };
    let run = async || assert_eq!(bomb.next(&call, &[], &rules).await.unwrap_err(), Fault::MemoryLimit);
    let before = resident();
    for _ in 0..20 {
        run().await;
    }
    let after = resident();
    // Each run fills up to 64 MiB. Two slots may keep what their reset clears by hand.
    assert!(after < before + (8 << 20), "{before} to {after}");
}
