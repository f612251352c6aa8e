//! Builds every guest that the tests run, and says where they are.

// A build script speaks to cargo by printing.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use proofport_guest_build::{Guests, Spec, build};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.parent().unwrap_or(here);
    let target_dir = root.join("target/guests");
    let wit = root.join("wit");
    let specs = [
        Spec {
            workspace: here.join("guests"),
            target_dir: target_dir.clone(),
            guests: Guests::Examples,
            watch: ["src", "examples", "wit-0.9"]
                .iter()
                .map(|f| here.join("guests").join(f))
                .chain([wit.clone()])
                .collect(),
        },
        Spec {
            workspace: root.to_path_buf(),
            target_dir: target_dir.clone(),
            guests: Guests::Packages(vec![
                "proofport-connector-aws".into(),
                "proofport-connector-stripe".into(),
                "proofport-example-charges".into(),
                "proofport-connector-ssh-run".into(),
                "proofport-connector-ssh-deploy".into(),
            ]),
            watch: ["sdk/rust", "connectors", "examples/charges"]
                .iter()
                .map(|f| root.join(f))
                .chain([wit])
                .collect(),
        },
    ];
    for spec in &specs {
        if let Err(error) = build(spec) {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    println!("cargo:rustc-env=GUESTS={}", target_dir.join("wasm32-wasip2/guest").display());
    ExitCode::SUCCESS
}
