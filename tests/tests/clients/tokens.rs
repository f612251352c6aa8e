//! Agents of one user over standard input and output, each with a token of its own.

use crate::{Place, done};
use proofport_tests::mcp::{Raw, Revision, Stdio};
use proofport_tests::program::program;
use proofport_tests::serving::Serving;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio as Streams};

const AUTO: &str = "[connections.c.approvals]\nreads = \"auto\"\nwrites = \"auto\"\n";

struct Agent {
    stdio: Stdio,
    spells: Raw,
}

impl Agent {
    fn start(host: &Serving, token: &Path) -> Self {
        let stdio = Stdio::start_as(&host.agent_socket(), Some(token));
        Self { stdio, spells: Raw::new(host.http(), Revision::New) }
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let (_, message) = self.spells.message("tools/call", json!({ "name": tool, "arguments": arguments }));
        let answer = self.stdio.ask(&message).await;
        answer.pointer("/result/structuredContent").unwrap_or(&answer["error"]).clone()
    }
}

fn written(place: &Place, name: &str, token: &str) -> PathBuf {
    let path = place.dir.path().join(name);
    std::fs::write(&path, format!("{token}\n")).unwrap();
    path
}

#[test]
fn agents_of_one_user_are_told_apart_by_their_tokens() {
    let place = Place::new(vec![done(), done()]);
    place.configure(AUTO);
    let host = Serving::start(&place.home());
    let made = ["first", "second"].map(|name| written(&place, name, &host.token(name).0));
    let nobodys = written(&place, "nobodys", &format!("ppt_{}", "a".repeat(52)));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let [mut first, mut second] = made.each_ref().map(|token| Agent::start(&host, token));
        let same = json!({ "n": 1 });
        let one = first.call("c__once", same.clone()).await;
        assert_eq!((&one["outcome"], &one["repeated"]), (&json!("committed"), &json!(false)), "{one}");
        let others = second.call("fetch_result", json!({ "request_id": one["request_id"] })).await;
        assert_eq!(others["code"], "NO_SUCH_INVOCATION", "{others}");
        let other = second.call("c__once", same.clone()).await;
        assert_eq!((&other["outcome"], &other["repeated"]), (&json!("committed"), &json!(false)), "{other}");
        let again = first.call("c__once", same.clone()).await;
        assert_eq!((&again["request_id"], &again["repeated"]), (&one["request_id"], &json!(true)), "{again}");
        let mut stranger = Agent::start(&host, &nobodys);
        let refused = stranger.call("c__once", same).await;
        let said = "The Proofport host does not know this agent. Nothing was sent.";
        assert_eq!(refused["message"], said, "{refused}");
    });
    assert_eq!(place.peer.effects(), 2);
    let listed = host.operator(&["session", "list"]).1;
    let who: Vec<&Value> = listed["sessions"].as_array().unwrap().iter().map(|s| &s["principal"]).collect();
    assert_eq!(who.len(), 2, "{listed}");
    assert_ne!(who[0], who[1]);
    assert_eq!(host.stop(), Some(0));
}

#[test]
fn what_is_no_token_is_named_and_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let check = |content: Option<&str>, says: &str| {
        let path = folder.path().join("token");
        if let Some(content) = content {
            std::fs::write(&path, content).unwrap();
        }
        let mut command = Command::new(program());
        let token = command.args(["mcp", "--socket", "/nowhere", "--token-file"]).arg(&path);
        let output = token.stdin(Streams::null()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(path.to_str().unwrap()) && said.contains(says), "{said}");
        assert!(!said.contains("canary"), "{said}");
    };
    check(None, "could not read the token file");
    for content in ["", "\n", "canary one\n", "canary\n\n", "{\"token\":\"canary\"}", "can\u{e4}ry-canary"] {
        check(Some(content), "it is no token");
    }
}
