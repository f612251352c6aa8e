//! Other people's fuzzer for OpenAPI documents against the running program.

use crate::OK;
use crate::program::Program;
use crate::served::home;
use proofport_tests::peer::Script;
use std::path::Path;
use std::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn schemathesis_finds_nothing() {
    let fuzzer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/bin/schemathesis");
    assert!(fuzzer.exists(), "schemathesis is not set up ({} is missing): run make setup", fuzzer.display());
    let (_peer, rig) = home(Script::answer(OK)).await;
    let program = Program::start(rig, None).await;
    let folder = tempfile::tempdir().unwrap();
    let output = tokio::task::block_in_place(|| {
        Command::new(&fuzzer)
            .current_dir(folder.path())
            .arg("run")
            .arg(format!("http://{}/openapi.json", program.address))
            .args(["--header", &format!("Authorization: Bearer {}", program.token)])
            // The same every time.
            .args(["--seed", "7", "--max-examples", "40", "--generation-database", "none", "--no-color"])
            .output()
            .unwrap()
    });
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
}
