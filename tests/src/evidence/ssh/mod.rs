//! Releases over SSH while the connection is cut at random points: what is claimed against what the remote
//! has, and what reconciliation makes of every unknown.

mod watcher;

use crate::cutter::{Cut, Cutter, How};
use crate::evidence::Seeded;
use crate::rig::{Open, Rig, Stored};
use crate::sshd::Sshd;
use data_encoding::{BASE64, HEXLOWER};
use proofport_broker::{Clock, SystemClock};
use proofport_core::contract::{InjectionMode, Outcome};
use proofport_core::envelope::Envelope;
use proofport_core::time::UnixMillis;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use watcher::{FILES, Watcher, is_whole};

/// How much one release has to carry, in bytes: more than a channel's window takes at once is not needed.
const CONTENT: usize = 120_000;

/// After this long the connector takes an absence for proof, in seconds.
const ABSENCE_SETTLES: u64 = 301;

/// How often it is asked before the clock is put forward: by then the server has learnt of the cut, and
/// what it had begun has ended.
const LOOKS: usize = 5;

/// What was counted.
#[derive(Debug, Default, Serialize)]
pub struct Counts {
    /// Where the randomness began.
    pub seed: u64,
    /// Releases that were asked for.
    pub releases: u64,
    /// Calls that it took.
    pub calls: u64,
    /// Claims of cut calls, by how they were cut.
    pub claims: BTreeMap<String, BTreeMap<String, u64>>,
    /// Claimed not attempted or rejected, and it was there.
    pub false_refusals: u64,
    /// Claimed committed and done, and it was not there whole.
    pub false_committed: u64,
    /// Unknowns that a reconciliation found done.
    pub settled_committed: u64,
    /// Unknowns that a reconciliation found not done.
    pub settled_absent: u64,
    /// Unknowns that nothing settled.
    pub unsettled: u64,
    /// Releases that were made current more than once.
    pub second_deployments: u64,
    /// How often the current release was looked at.
    pub looks: u64,
    /// How often it was not whole.
    pub broken: u64,
    /// Releases that were there and whole in the end.
    pub whole: u64,
}

impl Counts {
    /// Whether no claim was false, nothing was done twice, and every unknown was settled.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.false_refusals + self.false_committed + self.unsettled + self.second_deployments + self.broken
            == 0
            && self.whole == self.releases
    }
}

/// The system's clock, and how far it is ahead.
#[derive(Default)]
struct Ahead(AtomicU64);

impl Clock for Ahead {
    fn now(&self) -> UnixMillis {
        SystemClock.now().plus_seconds(self.0.load(Ordering::Relaxed))
    }
}

/// Everything that a release needs.
struct Stage {
    open: Open,
    cutter: Cutter,
    clock: Arc<Ahead>,
    watcher: Watcher,
    root: std::path::PathBuf,
}

/// Asks for this many releases, each over a connection that is cut, until each is there.
///
/// # Panics
/// When there is no OpenSSH, or a host can't be set up.
pub async fn run(releases: u64, seed: u64) -> Counts {
    let mut random = Seeded::new(seed);
    let sshd = Sshd::start();
    let root = sshd.path("releases");
    std::fs::create_dir(&root).unwrap();
    let cutter = Cutter::to(SocketAddr::from((Ipv4Addr::LOCALHOST, sshd.port())));
    let clock = Arc::new(Ahead::default());
    let (rig, open) = home(&sshd, &cutter, &root, &clock).await;
    let stage = Stage { open, cutter, clock, watcher: Watcher::new(root.clone()), root };
    let mut counts = Counts { seed, releases, ..Counts::default() };
    // How much goes over a connection that is not cut.
    let first = stage.call("r0", &archive(&sshd, "r0")).await;
    assert!(first.ok(), "{first:?}");
    let most = stage.cutter.passed();
    for n in 1..=releases {
        let id = format!("r{n}");
        let input = archive(&sshd, &id);
        stage.release(&id, &input, most, &mut random, &mut counts).await;
    }
    (counts.broken, counts.looks) = stage.watcher.broken();
    stage.open.close();
    drop(rig);
    counts
}

impl Stage {
    async fn call(&self, id: &str, input: &str) -> Envelope {
        self.open.call_with("release", input, Some(id)).await
    }

    fn is_there(&self, id: &str) -> bool {
        is_whole(&self.root.join("releases").join(id), id)
    }

    /// Asks for one release: once over a connection that is cut, and then as its answers say.
    async fn release(&self, id: &str, input: &str, most: [u64; 2], random: &mut Seeded, counts: &mut Counts) {
        let sending = random.below(2) == 0;
        // Half of the cuts fall where the command is under way: near the end of what the server says.
        let most = most[usize::from(!sending)];
        let span = usize::try_from(most).unwrap();
        let after = match (sending, random.below(2)) {
            (false, 0) => most - 1 - random.below(span.min(800) - 1) as u64,
            (true, _) | (false, _) => 1 + random.below(span) as u64,
        };
        let how = How::ALL[random.below(How::ALL.len())];
        self.cutter.set(Some(Cut { sending, after, how }));
        let mut envelope = self.call(id, input).await;
        self.cutter.set(None);
        let outcome = envelope.outcome().map_or("none", Outcome::as_str);
        let way = format!("{} {}", if sending { "sending," } else { "receiving," }, how.word());
        *counts.claims.entry(way).or_default().entry(outcome.to_owned()).or_default() += 1;
        for _ in 0..4 {
            counts.calls += 1;
            match envelope.outcome() {
                Some(Outcome::Committed) => {
                    counts.false_committed += u64::from(envelope.ok() && !self.is_there(id));
                    break;
                }
                Some(Outcome::NotAttempted | Outcome::Rejected) => {
                    counts.false_refusals += u64::from(self.is_there(id));
                }
                Some(Outcome::Unknown) | None => {
                    self.settle(&envelope, id, counts).await;
                }
            }
            // After a refusal it is tried anew; what was found done is met, and nothing is sent.
            envelope = self.call(id, input).await;
        }
        counts.whole += u64::from(self.is_there(id));
        counts.second_deployments += self.watcher.switches(id).saturating_sub(1);
    }

    /// Asks what became of an unknown until something settles it.
    async fn settle(&self, envelope: &Envelope, id: &str, counts: &mut Counts) {
        let Some(request) = envelope.request_id() else {
            counts.unsettled += 1;
            return;
        };
        for n in 0..60 {
            let there = self.is_there(id);
            match self.open.broker.reconcile(&request).await.map(|delivery| delivery.envelope.outcome()) {
                Ok(Some(Outcome::Committed)) => {
                    counts.settled_committed += 1;
                    counts.false_committed += u64::from(!self.is_there(id));
                    return;
                }
                Ok(Some(Outcome::Rejected)) => {
                    counts.settled_absent += 1;
                    counts.false_refusals += u64::from(there);
                    return;
                }
                // Absent, and too early to believe it; or it is still at work.
                Ok(Some(Outcome::Unknown | Outcome::NotAttempted) | None) | Err(_) => {
                    if n >= LOOKS {
                        self.clock.0.fetch_add(ABSENCE_SETTLES, Ordering::Relaxed);
                    }
                    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
                }
            }
        }
        counts.unsettled += 1;
    }
}

async fn home(sshd: &Sshd, cutter: &Cutter, root: &Path, clock: &Arc<Ahead>) -> (Rig, Open) {
    let account = sshd.account();
    let user = account.split('@').next().unwrap_or_default();
    let toml = format!(
        "[connections.c]\nconnector = \"DIGEST\"\naddresses = [\"127.0.0.1\"]\n\
         [connections.c.limits]\nsetup_attempts = 1\ndeadline_seconds = 3\nconnect_seconds = 3\n\
         [connections.c.ssh]\nhosts = [\"{user}@127.0.0.1:{}\"]\nhost_keys = [\"{}\"]\n\
         [connections.c.credentials.login]\nsecret = \"login\"\nmode = \"ssh_key\"\n\
         [connections.c.config]\nroot = \"{}\"\n",
        cutter.port(),
        sshd.host_key(),
        root.display(),
    );
    let destination = format!("ssh://127.0.0.1:{}", cutter.port());
    let key = sshd.user_key();
    let secret =
        Stored { name: "login", value: &key, destination: &destination, mode: InjectionMode::SshKey };
    let mut rig = Rig::declared("proofport-connector-ssh-deploy", &[secret], &toml).await;
    rig.clock = Arc::<Ahead>::clone(clock);
    let open = rig.open().await;
    (rig, open)
}

/// A release's input: an archive whose files all say its id.
fn archive(sshd: &Sshd, id: &str) -> String {
    let folder = sshd.path(&format!("made-{id}"));
    for file in FILES {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = format!("{id}\n{}", "x".repeat(CONTENT / FILES.len()));
        std::fs::write(path, text).unwrap();
    }
    let packed = Command::new("tar").arg("-C").arg(&folder).args(["-cf", "-", "."]).output().unwrap();
    assert!(packed.status.success());
    let sha256 = HEXLOWER.encode(&Sha256::digest(&packed.stdout));
    json!({ "id": id, "sha256": sha256, "archive": BASE64.encode(&packed.stdout) }).to_string()
}
