//! Other people's clients, as their authors publish them: the official SDKs of Python and TypeScript, and the
//! MCP inspector's command line. Each over HTTP and over standard input and output, in both revisions.

use crate::{OK, lost, setting};
use proofport_gateway::mcp::Options;
use proofport_tests::mcp::{McpHost, Revision, SocketWay};
use proofport_tests::peer::{Peer, Script};
use proofport_tests::program::program;
use proofport_tests::rig::Rig;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How a client reaches the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Http,
    Lines,
}

/// A host for one session: a call that is done, one whose answer is lost, and the query that settles it.
async fn host() -> (Peer, Rig, McpHost, SocketWay) {
    let scripts = vec![Script::answer(OK), lost(), Script::answer(OK)];
    let (peer, rig, host) = setting("finds-nothing", scripts, Options::default()).await;
    let way = SocketWay::open(&socket(&rig), host.address);
    (peer, rig, host, way)
}

fn socket(rig: &Rig) -> PathBuf {
    rig.dir.path().join("agent.sock")
}

/// What comes after the client's own words on its command line.
fn target(over: Over, host: &McpHost, rig: &Rig) -> Vec<String> {
    match over {
        Over::Http => vec![format!("http://{}/mcp", host.address)],
        Over::Lines => {
            let program = program().into_os_string().into_string().unwrap();
            vec![program, "mcp".to_owned(), "--socket".to_owned(), socket(rig).display().to_string()]
        }
    }
}

fn here(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    assert!(path.exists(), "{} is missing: run make setup", path.display());
    path
}

/// Runs a client to its end, off the runtime's threads.
fn run(command: &mut Command) -> Output {
    tokio::task::block_in_place(|| {
        command.env("NO_COLOR", "1").env("MCP_AUTO_OPEN_ENABLED", "false").output().unwrap()
    })
}

fn said(output: &Output) -> Value {
    let (text, trouble) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {text} {trouble}", output.status);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text} {trouble}"))
}

/// One session of an SDK's.
async fn session(runs: &str, script: &str, revision: Revision, over: Over) {
    let what = format!("{script} {revision:?} {over:?}");
    let (peer, rig, host, way) = host().await;
    let mut command = Command::new(if runs == "node" { PathBuf::from("node") } else { here(runs) });
    command.arg(here(script)).arg(revision.version()).args(target(over, &host, &rig));
    let said = said(&run(&mut command));
    assert_eq!(said["revision"], revision.version(), "{what}");
    let tools = said["tools"].as_array().unwrap();
    for tool in ["c__act", "c__look", "fetch_result", "wait", "inspect_outcome", "retry"] {
        assert!(tools.iter().any(|name| name == tool), "{what}: {tools:?}");
    }
    assert!(said["progress"].as_u64().unwrap() > 0, "{what}: progress");
    let check = |answer: &str, error: bool, fields: [Value; 2]| {
        let got = &said["answers"][answer];
        assert_eq!(said["errors"][answer], error, "{what}: {answer}");
        let found = ["code", "outcome"].map(|field| got.get(field).cloned().unwrap_or_default());
        assert_eq!(found, fields, "{what}: {got}");
    };
    check("done", false, [Value::Null, json!("committed")]);
    check("unknown", true, [json!("OUTCOME_UNKNOWN"), json!("unknown")]);
    check("settled", true, [json!("CONFIRMED_ABSENT"), json!("rejected")]);
    check("fetched", true, [json!("CONFIRMED_ABSENT"), json!("rejected")]);
    let id = |answer: &str| said["answers"][answer]["request_id"].clone();
    assert_eq!((id("unknown"), id("unknown")), (id("settled"), id("fetched")), "{what}");
    assert_eq!(peer.accepted(), 3, "{what}: nothing was sent twice");
    way.die().await;
    host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_sdk_has_an_unknown_settled() {
    for revision in Revision::BOTH {
        for over in [Over::Http, Over::Lines] {
            session("../.venv/bin/python", "clients/sdk.py", revision, over).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_typescript_sdk_has_an_unknown_settled() {
    here("node_modules/@modelcontextprotocol/sdk/package.json");
    here("node_modules/@modelcontextprotocol/client/package.json");
    for revision in Revision::BOTH {
        for over in [Over::Http, Over::Lines] {
            session("node", "clients/sdk.mjs", revision, over).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inspector_finds_no_fault_and_has_an_unknown_settled() {
    for over in [Over::Http, Over::Lines] {
        let (peer, rig, host, way) = host().await;
        let target = target(over, &host, &rig);
        let ask = |words: &[&str]| {
            let mut command = Command::new("node");
            command.arg(here("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"));
            // Nothing of the person's who runs the tests is read or written.
            command.arg("--cli").env("HOME", rig.dir.path()).args(&target).args(words);
            run(&mut command)
        };
        let listed = said(&ask(&["--method", "tools/list", "--strict"]));
        let tools = listed["tools"].as_array().unwrap();
        assert!(tools.iter().any(|tool| tool["name"] == "c__act"), "{over:?}: {listed}");
        let call = |tool: &str, argument: &str| {
            let output = ask(&["--method", "tools/call", "--tool-name", tool, "--tool-arg", argument]);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let read: Value = serde_json::from_str(&text).unwrap_or_else(|error| {
                panic!("{error}: {text} {}", String::from_utf8_lossy(&output.stderr))
            });
            read["structuredContent"].clone()
        };
        assert_eq!(call("c__act", "n=1")["ok"], true, "{over:?}");
        let unknown = call("c__act", "n=2");
        assert_eq!(unknown["outcome"], "unknown", "{over:?}");
        let id = unknown["request_id"].as_str().unwrap();
        let settled = call("inspect_outcome", &format!("request_id={id}"));
        assert_eq!((&settled["code"], &settled["request_id"]), (&json!("CONFIRMED_ABSENT"), &json!(id)));
        assert_eq!(peer.accepted(), 3, "{over:?}");
        way.die().await;
        host.close().await;
    }
}
