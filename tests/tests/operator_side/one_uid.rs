//! An agent's process under the operator's own uid cannot approve, inspect or read a diagnostic record. Host,
//! agent and operator run as one unprivileged user, since root may look at everybody.

use proofport_client::{Call, CallError, Client, Code, RequestId, Token};
use proofport_tests::peer::{Peer, Script};
use proofport_tests::program::program;
use proofport_tests::rig::{PASSPHRASE, Wanted, make_home};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::lchown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::task::block_in_place;

/// Who the tests run as where they are root: nobody.
const NOBODY: u32 = 65534;

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

/// In the path of the request whose record is asked for.
const JOB: &str = "canary-job-7f3a51cd";

/// In the input of the call that waits for a person.
const NOTE: &str = "canary-note-0b9e4d26";

/// A home, the program and the host that serves, all of one user's.
struct User {
    folder: TempDir,
    host: Option<Child>,
}

impl User {
    async fn new(peer: &Peer) -> Self {
        let mut wanted = Wanted::new("inquires", peer.origin(), "");
        wanted.asks = true;
        let folder = tempfile::tempdir().unwrap();
        let user = Self { folder, host: None };
        make_home(&user.home(), &wanted.limits("setup_attempts = 1")).await;
        let config = user.home().join("proofport.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(config, format!("{text}\n[serve]\nhttp = \"127.0.0.1:0\"\n")).unwrap();
        let built = block_in_place(program);
        // Where it was built, others may not be let through.
        if std::fs::hard_link(&built, user.program()).is_err() {
            std::fs::copy(&built, user.program()).unwrap();
        }
        if is_root() {
            give(user.folder.path());
        }
        user
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("proofport")
    }

    fn runs(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PROOFPORT_HOME", self.home()).current_dir(self.folder.path());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.stdin(Stdio::null());
        command
    }

    /// The program with this passphrase, or with none.
    fn proofport(&self, passphrase: Option<&str>, words: &[&str]) -> Output {
        let mut command = self.runs(&self.program());
        command.envs(passphrase.map(|passphrase| ("PROOFPORT_PASSPHRASE", passphrase)));
        block_in_place(|| command.args(words).arg("--json").output()).unwrap()
    }

    /// One of the operator's commands, by the operator.
    fn operator(&self, words: &[&str]) -> (Option<i32>, Value) {
        let output = self.proofport(Some(PASSPHRASE), words);
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
    }

    /// Serves; where it listens for HTTP.
    fn serve(&mut self) -> SocketAddr {
        let mut command = self.runs(&self.program());
        command.env("PROOFPORT_PASSPHRASE", PASSPHRASE).args(["serve", "--json"]).stdout(Stdio::piped());
        let mut line = String::new();
        let mut host = command.spawn().unwrap();
        block_in_place(|| BufReader::new(host.stdout.as_mut().unwrap()).read_line(&mut line)).unwrap();
        self.host = Some(host);
        let ready: Value = serde_json::from_str(&line).unwrap();
        ready["http"].as_str().unwrap().strip_prefix("http://").unwrap().parse().unwrap()
    }

    /// What the agent's process can do.
    fn pry(&self, words: &[&str]) -> Value {
        let python = ["/usr/bin/python3", "/usr/local/bin/python3"].map(Path::new);
        let python =
            python.into_iter().find(|path| path.exists()).expect("Python is missing: run make setup");
        let mut command = self.runs(python);
        let pid = self.host.as_ref().unwrap().id().to_string();
        command.args(["-c", include_str!("pry.py"), &pid, self.home().to_str().unwrap()]).args(words);
        let output = block_in_place(|| command.output()).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if let Some(mut host) = self.host.take() {
            host.kill().ok();
            host.wait().ok();
        }
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Gives a folder and all that is in it to nobody, but for what has another name elsewhere.
fn give(path: &Path) {
    let found = std::fs::symlink_metadata(path).unwrap();
    if found.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path()));
        lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    } else if std::os::unix::fs::MetadataExt::nlink(&found) == 1 {
        lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

/// A call that a person has to be asked about.
async fn asked(agent: &Client, operation: &str, input: &Value) -> RequestId {
    match agent.call(&Call::new(operation, input).unwrap()).await {
        Err(CallError::Answered(envelope)) if envelope.code() == Some(Code::ApprovalPending) => {
            envelope.request_id().unwrap().clone()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_under_the_operators_uid_gets_nothing_of_the_operators() {
    let peer = Peer::http(Script::answer(OK));
    let mut user = User::new(&peer).await;
    let http = user.serve();
    let (_, minted) = user.operator(&["session", "token", "mailer"]);
    let token = minted["token"].as_str().unwrap();
    let agent = Client::http(http, Token::new(token).unwrap()).unwrap();
    let done = asked(&agent, "c.follow", &json!({ "job": JOB })).await;
    assert_eq!(user.operator(&["approve", done.as_str(), "--yes"]).0, Some(14));
    let longest = Duration::from_secs(30);
    agent.wait(&done, longest).await.unwrap();
    let waits = asked(&agent, "c.once", &json!({ "note": NOTE })).await;
    let (done, waits_id) = (done.as_str(), waits.as_str());
    // There is something to be had.
    let (status, record) = user.operator(&["inspect", done]);
    let destination = peer.origin().to_string();
    let record = record.to_string();
    assert!(status == Some(0) && record.contains(JOB) && record.contains(&destination), "{record}");
    let card = user.operator(&["approvals"]).1.to_string();
    assert!(card.contains(NOTE), "{card}");

    // The program itself, without the passphrase and with a wrong one.
    for passphrase in [None, Some("hunter2hunter2")] {
        for words in [
            &["approve", waits_id, "--yes"][..],
            &["deny", waits_id],
            &["inspect", done],
            &["timeline", done],
            &["approvals"],
        ] {
            let output = user.proofport(passphrase, words);
            let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
            assert!(said.contains("passphrase") && !said.contains("canary"), "{words:?}: {said}");
        }
    }

    let came = user.pry(&[&http.to_string(), token, waits_id, done, JOB, NOTE, &destination]);
    for (what, refusal) in [
        ("mem", "EACCES"),
        ("environ", "EACCES"),
        ("maps", "EACCES"),
        ("auxv", "EACCES"),
        ("fd", "EACCES"),
        ("exe", "EACCES"),
        ("ptrace", "EPERM"),
        ("process_vm_readv", "EPERM"),
        ("pidfd_getfd", "EPERM"),
    ] {
        assert_eq!(came["child"][what], "done", "{what}: it is refused here whatever a process does");
        assert_eq!(came["host"][what], refusal, "{what}");
    }
    assert_eq!(came["core"], json!([["0", "0"]]), "a core file would hold everything");
    let doors = came["doors"].as_array().unwrap();
    assert_eq!(doors.len(), 3 * 3 * 9);
    for door in doors {
        let (where_, status, body) = (door[0].as_str().unwrap(), &door[3], door[4].as_str().unwrap());
        let refused =
            if where_.ends_with("operator.sock") { status == 401 } else { status == 401 || status == 404 };
        assert!(refused && !body.contains("canary"), "{door}");
    }
    // Its own answer is an envelope, and no record.
    let own = came["own"].as_array().unwrap();
    let body = own[1].as_str().unwrap();
    assert!(own[0] == 200 && !body.contains(JOB) && !body.contains(&destination), "{body}");
    let files = came["files"].as_object().unwrap();
    assert_eq!(files["proofport.toml"], json!([destination]), "files can be read");
    for name in ["journal.redb", "vault.json"] {
        assert!(files.contains_key(name), "{files:?}");
    }
    // What was sent, what came back and where it went: of that nothing is in the clear.
    for (name, words) in files.iter().filter(|(name, _)| *name != "proofport.toml") {
        let of_a_record =
            [JOB, NOTE, &destination].iter().any(|word| words.as_array().unwrap().contains(&json!(word)));
        assert!(!of_a_record, "{name}: {words}");
    }

    // None of it did anything, and the passphrase is all that was missing.
    assert_eq!(peer.accepted(), 1);
    assert_eq!(user.operator(&["approve", waits_id, "--yes"]).0, Some(14));
    agent.wait(&waits, longest).await.unwrap();
    assert_eq!(peer.accepted(), 2);
}
