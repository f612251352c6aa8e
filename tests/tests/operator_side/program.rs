//! The program says the same, whether a host runs or not.

use crate::agent::program as knock;
use crate::world::World;
use proofport_core::session::SessionStanding;
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::program::program;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The program on a home.
struct Program<'a> {
    program: PathBuf,
    world: &'a World,
}

impl Program<'_> {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().env("PROOFPORT_HOME", self.world.home().path()).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    #[track_caller]
    fn exits(&self, status: i32, args: &[&str]) -> Output {
        let mut command = self.command(args);
        command.arg("--passphrase-file").arg(self.world.path("passphrase"));
        checked(&mut command, status)
    }

    #[track_caller]
    fn json(&self, status: i32, args: &[&str]) -> Value {
        let output = self.exits(status, &[args, &["--json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap()
    }

    #[track_caller]
    fn text(&self, status: i32, args: &[&str]) -> String {
        String::from_utf8(self.exits(status, args).stdout).unwrap()
    }
}

#[track_caller]
fn checked(command: &mut Command, status: i32) -> Output {
    let output = tokio::task::block_in_place(|| command.output()).unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{command:?}\n{out}\n{err}");
    output
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

#[tokio::test(flavor = "multi_thread")]
async fn a_command_says_the_same_with_a_host_and_without() {
    let lost = Script(vec![Act::ReadRequest, Act::Effect, Act::Close]);
    let remote = Peer::http(Scripts { each: vec![lost].into(), default: Some(Script::answer(OK)) });
    let world = World::with(remote).await;
    let proofport = Program { program: tokio::task::block_in_place(program), world: &world };
    let serving = world.serve().await;
    let unknown = proofport.json(12, &["call", "c.act", "--input", "{}"]);
    let lost = unknown["request_id"].as_str().unwrap().to_owned();
    let done = proofport.json(0, &["call", "c.act", "--input", "{}", "--call-key", "again"]);
    let done = done["request_id"].as_str().unwrap().to_owned();
    let again = proofport.json(0, &["call", "c.act", "--input", "{}", "--call-key", "again"]);
    assert_eq!(
        (again["request_id"].as_str(), again["repeated"].as_bool()),
        (Some(done.as_str()), Some(true))
    );
    assert_eq!(world.remote.effects(), 2);
    let read: [(i32, &[&str]); 12] = [
        (12, &["result", &lost]),
        (0, &["result", &done]),
        (10, &["result", "act_aaaaaaaaaaaaaaaaaaaaaaaaaa"]),
        (12, &["wait", &lost]),
        (12, &["retry", &lost]),
        (12, &["reconcile", &lost]),
        (0, &["inspect", &lost]),
        (0, &["timeline", &lost]),
        (0, &["connection", "check"]),
        (0, &["connector", "list"]),
        (0, &["secret", "list"]),
        (1, &["inspect", "act_aaaaaaaaaaaaaaaaaaaaaaaaaa"]),
    ];
    let said = |proofport: &Program<'_>| -> Vec<(String, String)> {
        let both = |(status, args): &(i32, &[&str])| {
            let json = proofport.exits(*status, &[args, &["--json"][..]].concat());
            let json = String::from_utf8([json.stdout, json.stderr].concat()).unwrap();
            (json, proofport.text(*status, args))
        };
        read.iter().map(both).collect()
    };
    let with = said(&proofport);
    let listed = proofport.json(0, &["unknowns"])["unknowns"][0]["request_id"].clone();
    assert_eq!(listed, lost.as_str());
    serving.stop().await;
    let without = said(&proofport);
    for (((with, without), (_, args)), at) in with.iter().zip(&without).zip(read).zip(0..) {
        assert_eq!(with, without, "{at}: {args:?}");
    }

    let serving = world.serve().await;
    let attested =
        proofport.json(11, &["attest", &lost, "--outcome", "rejected", "--reason", "not in the ledger"]);
    assert_eq!(attested["evidence"]["source"], "operator_attested");
    assert_eq!(proofport.json(0, &["unknowns"])["unknowns"].as_array().unwrap().len(), 0);
    assert_eq!(proofport.json(0, &["vault", "lock"])["locked"], true);
    assert_eq!(proofport.json(10, &["call", "c.act", "--input", "{}"])["code"], "VAULT_LOCKED");
    assert!(serving.host.broker().is_locked());
    assert_eq!(proofport.json(0, &["vault", "unlock"])["locked"], false);
    assert!(!serving.host.broker().is_locked());
    serving.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_let_in_and_ended_from_the_command_line() {
    let world = World::new().await;
    let proofport = Program { program: tokio::task::block_in_place(program), world: &world };
    let serving = world.serve().await;
    assert!(proofport.text(0, &["session", "list"]).contains("No agent"));
    let mut agent = serving.agent(&knock());
    assert_eq!(agent.knock(), "waiting");
    let listed = proofport.json(0, &["session", "list"]);
    let [session] = listed["sessions"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!(session["standing"], "waiting");
    assert_eq!(session["pid"], agent.pid());
    let id = session["id"].as_str().unwrap().to_owned();
    let text = proofport.text(0, &["session", "list"]);
    assert!(text.contains(&format!("proofport session allow {id}")), "{text}");
    // Whoever has no passphrase decides nothing.
    checked(&mut proofport.command(&["session", "allow", &id]), 1);
    let mut guess = proofport.command(&["session", "allow", &id]);
    checked(guess.env("PROOFPORT_PASSPHRASE", "hunter2hunter2"), 1);
    assert_eq!(agent.knock(), "waiting");
    assert_eq!(proofport.json(0, &["session", "allow", &id])["sessions"][0]["standing"], "allowed");
    assert!(agent.knock().starts_with("admitted"));
    assert_eq!(proofport.json(0, &["session", "end", &id])["sessions"][0]["standing"], "ended");
    assert_eq!(agent.knock(), "ended");
    assert_eq!(serving.standing(SessionStanding::Allowed), []);

    let token = proofport.text(0, &["session", "token", "mailer"]);
    assert!(serving.sessions.of_token(token.trim_end()).is_some());
    let twice = proofport.exits(1, &["session", "token", "mailer"]);
    assert!(String::from_utf8(twice.stderr).unwrap().contains("has a token already"));
    let listed = proofport.text(0, &["session", "list"]);
    assert!(listed.contains("mailer, by its token") && !listed.contains("ppt_"), "{listed}");
    serving.stop().await;
    // A token that was made while no host ran is good when one does.
    let token = proofport.text(0, &["session", "token", "nightly"]);
    let serving = world.serve().await;
    assert!(serving.sessions.of_token(token.trim_end()).is_some());
    serving.stop().await;
}
