//! Where the demo plays: a temporary home, the payment service, and this very program, run as a
//! process of its own for every command.

use super::claim::Claim;
use super::service::PaymentService;
use anyhow::{Context as _, bail};
use proofport_core::digest::Digest;
use proofport_core::event::EventKind;
use proofport_core::id::RequestId;
use proofport_core::secret::Secret;
use serde::Deserialize;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// The connector of `examples/charges`, as this program was built with it.
const CONNECTOR: &[u8] = include_bytes!(env!("CHARGES_WASM"));

/// The operation that every scene calls.
pub(super) const OPERATION: &str = "shop.create_charge";

/// The stage. The service ends and the folder is removed when it is dropped.
pub(super) struct Stage {
    pub(super) service: PaymentService,
    program: PathBuf,
    passphrase: PathBuf,
    home: PathBuf,
    folder: TempDir,
}

/// A command that is running; killed when dropped.
pub(super) struct Running(Option<Child>);

/// What `connector install` says of the module.
#[derive(Deserialize)]
struct Installed {
    review: Review,
}

#[derive(Deserialize)]
struct Review {
    digest: Digest,
}

/// What `timeline` says of an invocation.
#[derive(Deserialize)]
struct Timeline {
    events: Vec<Recorded>,
}

#[derive(Deserialize)]
struct Recorded {
    #[serde(rename = "event")]
    kind: EventKind,
}

impl Stage {
    /// Makes everything that a call needs, as a person would: home, secret, connector, connection.
    ///
    /// # Errors
    /// When this machine has no loopback interface, no room for temporary files, or the program fails.
    pub(super) fn set_up() -> anyhow::Result<Self> {
        let key = random_text("sk_demo_")?;
        let service = PaymentService::start(Secret::new(key.expose().to_vec()))
            .context("the demo's payment service needs the loopback address 127.0.0.1 to listen on")?;
        let folder = tempfile::Builder::new()
            .prefix("proofport-demo-")
            .tempdir()
            .context("the demo needs a folder for temporary files; set TMPDIR to one that can be written")?;
        let passphrase = folder.path().join("passphrase");
        write_private(&passphrase, random_text("")?.expose())?;
        let home = folder.path().join("home");
        let program = std::env::current_exe().context("this program can't find its own file")?;
        let stage = Self { service, program, passphrase, home, folder };
        // A cheap derivation: this passphrase is random, known to nobody and gone in a minute.
        stage.run(&["init", "--kdf-memory-kib", "8192"], None)?;
        let origin = stage.service.origin();
        stage.run(&["secret", "set", "shop-key", "--for", &origin, "--mode", "http_bearer"], Some(&key))?;
        let module = stage.folder.path().join("charges.wasm");
        write_private(&module, CONNECTOR)?;
        let module = module.to_str().context("the folder for temporary files is not UTF-8")?;
        let installed: Installed = stage.run_for(&["connector", "install", module, "--yes"])?;
        let connection = format!(
            "[connections.shop]\n\
             connector = \"{}\"\n\
             origins = [\"{origin}\"]\n\
             addresses = [\"127.0.0.1\"]\n\
             [connections.shop.credentials.api_key]\n\
             secret = \"shop-key\"\n\
             mode = \"http_bearer\"\n",
            installed.review.digest
        );
        write_private(&stage.home.join("proofport.toml"), connection.as_bytes())?;
        stage.run(&["connection", "check"], None)?;
        Ok(stage)
    }

    /// The temporary home.
    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// Ends the service and removes the home.
    ///
    /// # Errors
    /// When the folder can't be removed.
    pub(super) fn close(self) -> anyhow::Result<()> {
        let Self { service, folder, .. } = self;
        drop(service);
        let path = folder.path().display().to_string();
        folder.close().with_context(|| format!("the temporary folder {path} could not be removed"))
    }

    /// Calls the operation.
    ///
    /// # Errors
    /// When the program prints no envelope.
    pub(super) fn call(&self, input: &str) -> anyhow::Result<Claim> {
        self.begin_call(input)?.claim()
    }

    /// Calls the operation, and does not wait.
    ///
    /// # Errors
    /// When the program can't be started.
    pub(super) fn begin_call(&self, input: &str) -> anyhow::Result<Running> {
        let mut command = self.command(&["call", OPERATION, "--input", input]);
        Ok(Running(Some(command.spawn().context("this program can't be started once more")?)))
    }

    /// Asks the remote what became of an effect.
    ///
    /// # Errors
    /// When the program prints no envelope.
    pub(super) fn reconcile(&self, id: &RequestId) -> anyhow::Result<Claim> {
        Claim::read(&self.output(&["reconcile", &id.to_string()], None)?)
    }

    /// The kinds of an invocation's events, in order.
    ///
    /// # Errors
    /// When the program fails.
    pub(super) fn timeline(&self, id: &RequestId) -> anyhow::Result<Vec<EventKind>> {
        let timeline: Timeline = self.run_for(&["timeline", &id.to_string()])?;
        Ok(timeline.events.into_iter().map(|recorded| recorded.kind).collect())
    }

    /// Locks or unlocks the vault.
    ///
    /// # Errors
    /// When the program fails.
    pub(super) fn vault(&self, command: &str) -> anyhow::Result<()> {
        self.run(&["vault", command], None).map(|_| ())
    }

    /// Runs a command that has to succeed, and reads the JSON that it prints.
    fn run_for<T: serde::de::DeserializeOwned>(&self, args: &[&str]) -> anyhow::Result<T> {
        let output = self.run(args, None)?;
        let what = || format!("`proofport {}` printed something else than was expected", args.join(" "));
        serde_json::from_slice(&output.stdout).with_context(what)
    }

    /// Runs a command that has to succeed.
    fn run(&self, args: &[&str], stdin: Option<&Secret>) -> anyhow::Result<Output> {
        let output = self.output(args, stdin)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("`proofport {}` failed ({}): {}", args.join(" "), output.status, said.trim());
        }
        Ok(output)
    }

    fn output(&self, args: &[&str], stdin: Option<&Secret>) -> anyhow::Result<Output> {
        let mut command = self.command(args);
        if stdin.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().context("this program can't be started once more")?;
        if let (Some(secret), Some(mut pipe)) = (stdin, child.stdin.take()) {
            pipe.write_all(secret.expose()).context("a command did not read its standard input")?;
        }
        child.wait_with_output().context("a command's output could not be read")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--home").arg(&self.home).arg("--passphrase-file").arg(&self.passphrase).arg("--json");
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for variable in ["PROOFPORT_HOME", "PROOFPORT_PASSPHRASE", "PROOFPORT_LOG"] {
            command.env_remove(variable);
        }
        command
    }
}

impl Running {
    /// Its process id; 0 once it has ended.
    pub(super) fn pid(&self) -> u32 {
        self.0.as_ref().map_or(0, Child::id)
    }

    /// Waits for its end, and reads what it claimed.
    ///
    /// # Errors
    /// When it was killed or printed no envelope.
    pub(super) fn claim(mut self) -> anyhow::Result<Claim> {
        Claim::read(&self.take()?.wait_with_output().context("a command's output could not be read")?)
    }

    /// Kills it with SIGKILL and waits until it is gone. What it left is returned.
    ///
    /// # Errors
    /// When it can't be killed.
    pub(super) fn kill(mut self) -> anyhow::Result<Output> {
        let mut child = self.take()?;
        child.kill().context("the host process could not be killed")?;
        child.wait_with_output().context("the host process could not be waited for")
    }

    fn take(&mut self) -> anyhow::Result<Child> {
        self.0.take().context("the command has ended already")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // It may be gone already; either way nothing is left behind.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// 128 random bits as text, behind a prefix.
fn random_text(prefix: &str) -> anyhow::Result<Secret> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).context("the operating system gave no randomness")?;
    let number = u128::from_le_bytes(bytes);
    Ok(Secret::new(format!("{prefix}{number:032x}").into_bytes()))
}

fn write_private(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(bytes))
        .with_context(|| format!("{} could not be written", path.display()))
}
