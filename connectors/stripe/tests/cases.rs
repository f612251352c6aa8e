//! Runs every file in `cases/`: a call, the answers that Stripe gives to it, and the steps that the
//! connector must take. The format is described in `sdk/testkit/README.md`.

use proofport_connector_stripe::Stripe;
use proofport_testkit::Cases;
use std::path::Path;

#[test]
fn every_case_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let cases = Cases::of(folder).credential("api_key").header("stripe-version", "2024-06-20");
    let run = cases.check::<Stripe>();
    assert!(run > 40, "only {run} cases");
}
