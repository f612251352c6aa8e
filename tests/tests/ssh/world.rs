//! A server, and a home whose one connection runs declared commands on it.

use proofport_broker::Clock as _;
use proofport_core::contract::InjectionMode;
use proofport_core::envelope::Envelope;
use proofport_core::state::State;
use proofport_tests::rig::{Open, Rig, Stored};
use proofport_tests::sshd::Sshd;

/// The connector under most tests.
pub(crate) const RUN: &str = "proofport-connector-ssh-run";

/// What a connection is beside its commands.
pub(crate) struct Terms {
    /// The lines of `[connections.c.ssh]` about host keys.
    pub(crate) host_keys: String,
    /// The login's private key.
    pub(crate) key: String,
    /// What decrypts it, where it has a secret of its own.
    pub(crate) passphrase: Option<String>,
    /// More keys of the credential.
    pub(crate) more: String,
    /// More lines of `[connections.c.limits]`.
    pub(crate) limits: String,
}

impl Terms {
    /// The right ones.
    pub(crate) fn of(sshd: &Sshd) -> Self {
        let host_keys = format!("host_keys = [\"{}\"]", sshd.host_key());
        let (more, limits) = (String::new(), String::new());
        Self { host_keys, key: sshd.user_key(), passphrase: None, more, limits }
    }
}

/// The head of a connection to this server: everything but the connector's config.
pub(crate) fn head(sshd: &Sshd, terms: &Terms) -> String {
    let passphrase = if terms.passphrase.is_some() { "passphrase = \"phrase\"\n" } else { "" };
    format!(
        "[connections.c]\nconnector = \"DIGEST\"\naddresses = [\"{}\"]\n\
         [connections.c.limits]\nsetup_attempts = 1\n{}\n\
         [connections.c.ssh]\nhosts = [\"{}\"]\n{}\n\
         [connections.c.credentials.login]\nsecret = \"login\"\nmode = \"ssh_key\"\n{passphrase}{}\n",
        sshd.address(),
        terms.limits,
        sshd.account(),
        terms.host_keys,
        terms.more,
    )
}

/// A home for this guest with this `proofport.toml`.
pub(crate) async fn home(guest: &'static str, sshd: &Sshd, terms: &Terms, toml: &str) -> Rig {
    let destination = sshd.destination();
    let stored = |name, value| Stored { name, value, destination: &destination, mode: InjectionMode::SshKey };
    let mut secrets = vec![stored("login", &terms.key)];
    secrets.extend(terms.passphrase.as_deref().map(|passphrase| stored("phrase", passphrase)));
    Rig::declared(guest, &secrets, toml).await
}

/// One command that the connection declares: a script, and whether it runs under the call's reference.
/// `RUNS` in it is a file to which each run appends a line, and `HERE` the test's folder.
pub(crate) struct Declared(pub(crate) &'static str, pub(crate) &'static str, pub(crate) bool);

/// The `proofport.toml` of a connection that declares these commands.
pub(crate) fn declared(sshd: &Sshd, terms: &Terms, commands: &[Declared]) -> String {
    let state = sshd.path("state");
    std::fs::create_dir_all(&state).unwrap();
    sshd.give(&state);
    let here = sshd.path("").display().to_string();
    let mut toml = head(sshd, terms);
    toml.push_str(&format!("[connections.c.config]\nstate = \"{}\"\n", state.display()));
    for Declared(name, script, run_once) in commands {
        let script = script.replace("RUNS", "HERE/runs").replace("HERE/", &here);
        toml.push_str(&format!(
            "[connections.c.config.commands.{name}]\nargv = [\"sh\", \"-c\", '''{script}''']\nrun_once = {run_once}\n"
        ));
    }
    toml
}

/// A home whose connection declares these commands.
pub(crate) async fn declaring(sshd: &Sshd, terms: &Terms, commands: &[Declared]) -> Rig {
    home(RUN, sshd, terms, &declared(sshd, terms, commands)).await
}

/// Runs the declared command of this name.
pub(crate) async fn run(open: &Open, command: &str) -> Envelope {
    open.call("run", &format!("{{\"command\":\"{command}\"}}")).await
}

/// How many commands ran.
pub(crate) fn runs(sshd: &Sshd) -> usize {
    std::fs::read_to_string(sshd.path("runs")).map_or(0, |text| text.lines().count())
}

/// The record of this answer.
pub(crate) fn record(open: &Open, envelope: &Envelope) -> State {
    open.broker.diagnostic(&envelope.request_id().unwrap()).unwrap().unwrap().state().clone()
}

/// Waits until a file is there.
pub(crate) async fn appears(sshd: &Sshd, name: &str) {
    let until = proofport_broker::SystemClock.now().0 + 60_000;
    while !sshd.path(name).exists() {
        assert!(proofport_broker::SystemClock.now().0 < until, "{name} never came");
        tokio::task::yield_now().await;
    }
}

/// The published form of an answer.
pub(crate) fn published(envelope: &Envelope) -> serde_json::Value {
    serde_json::to_value(envelope).unwrap()
}
