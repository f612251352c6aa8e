//! Runs every file in `cases/`: a call, the answers that AWS gives to it, and the steps that the connector
//! must take. The format is described in `sdk/testkit/README.md`.

use proofport_connector_aws::Aws;
use proofport_testkit::Cases;
use std::path::Path;

#[test]
fn every_case_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let run = Cases::of(folder).credential("access_key").check::<Aws>();
    assert!(run > 80, "only {run} cases");
}
