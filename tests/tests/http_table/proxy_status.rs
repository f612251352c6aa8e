//! Every error type of RFC 9209, said by a hop that is trusted and by one that is not.

use crate::case::{self, Case};
use crate::site;
use proofport_core::proxy_status::{Forwarded, ProxyErrorType};
use proofport_core::row::Row;

/// One case for each error type, in this order.
fn cases(trusted: &str, errors: &[ProxyErrorType], applies: bool, expect: &str) -> Vec<Case> {
    let case = |error: &ProxyErrorType| {
        format!(
            r#"
[[case]]
name = "{error}, with {trusted} trusted"
over = ["http1", "tls", "h2"]
contracts = ["plain", "keyed"]
applies = [{applies}]
trusted_hops = ["{trusted}"]
answer = {{ status = 502, headers = [["proxy-status", "edge; error={error}"]] }}
expect = {{ {expect} }}
"#
        )
    };
    case::parse(&errors.iter().map(case).collect::<String>()).unwrap()
}

const REFUSED: &str = r#"outcome = "rejected", code = "RATE_LIMITED", retry = "backoff", owner = "caller", action = "retry_after_delay", phase = "remote_execution", source = "transport_observed""#;

const UNKNOWN: &str = r#"outcome = "unknown", code = "OUTCOME_UNKNOWN", retry = "by_contract", owner = "operator", action = "inspect_outcome", phase = "remote_execution", source = "transport_observed", http_status = 502"#;

async fn check(row: Row, cases: &[Case]) {
    let wrong = site::carry_out(row, &site::runs(cases)).await;
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trusted_hop_is_believed_by_the_type_of_its_error() {
    let (no, unsure): (Vec<_>, Vec<_>) =
        ProxyErrorType::ALL.iter().partition(|error| error.forwarded() == Forwarded::No);
    assert_eq!((no.len(), unsure.len()), (10, 22), "32 types are registered");
    check(Row::NotForwarded, &cases("edge", &no, false, REFUSED)).await;
    // The peer has applied it, so that a refusal would be a lie.
    check(Row::Gateway, &cases("edge", &unsure, true, UNKNOWN)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_hop_is_never_believed() {
    check(Row::Gateway, &cases("relay", ProxyErrorType::ALL, true, UNKNOWN)).await;
}
