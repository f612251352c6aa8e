//! Builds the example connector that the program carries for its demonstration.

use proofport_guest_build::{Guests, Spec, build};
use std::path::Path;
use std::process::ExitCode;

// A build script talks to cargo by printing.
#[allow(clippy::print_stdout, clippy::print_stderr)]
fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let spec = Spec {
        workspace: root.clone(),
        target_dir: root.join("target/guests"),
        guests: Guests::Packages(vec!["proofport-example-charges".into()]),
        watch: ["sdk/rust", "examples/charges", "wit"].iter().map(|folder| root.join(folder)).collect(),
    };
    match build(&spec) {
        Ok(built) => {
            for guest in built {
                println!("cargo:rustc-env=CHARGES_WASM={}", guest.path.display());
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
