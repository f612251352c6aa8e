//! A server, what is needed to reach it, and one exec.

use crate::server::{Sshd, Workshop};
use proofport_core::evidence::{Cause, SetupAttempt};
use proofport_core::exchange::{SshCommand, SshRequest};
use proofport_core::secret::Secret;
use proofport_core::ssh::{CommandLine, SshHost};
use proofport_core::time::UnixMillis;
use proofport_egress::ssh::{
    HostKeys, SshCredential, SshDeadlines, SshEgress, SshExchange, SshExchangeOptions, SshInjection,
    SshOutgoing, SshTarget,
};
use proofport_egress::{AddressPolicy, ContentSink};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A server and a key that it admits.
pub(crate) struct World {
    pub(crate) shop: Workshop,
    pub(crate) sshd: Sshd,
    pub(crate) credential: Arc<SshCredential>,
    pub(crate) target: SshTarget,
}

pub(crate) fn user() -> String {
    String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout).unwrap().trim().to_owned()
}

pub(crate) fn now() -> UnixMillis {
    UnixMillis(u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap())
}

pub(crate) fn loopback() -> AddressPolicy {
    AddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap()])
}

pub(crate) fn pinned(line: &str) -> HostKeys {
    let mut keys = HostKeys::none();
    keys.pin(line).unwrap();
    keys
}

pub(crate) fn target(port: u16, host_keys: HostKeys) -> SshTarget {
    SshTarget {
        host: SshHost::parse(&format!("{}@127.0.0.1:{port}", user())).unwrap(),
        host_keys,
        addresses: loopback(),
        jump: None,
        deadlines: SshDeadlines {
            dns: PATIENCE,
            tcp_connect: PATIENCE,
            transport: PATIENCE,
            user_auth: PATIENCE,
            channel: PATIENCE,
            overall: PATIENCE * 2,
        },
        setup_attempts: 2,
        keepalive: Duration::from_secs(5),
        keepalive_max: 3,
    }
}

impl World {
    /// A server with the default key.
    pub(crate) fn new() -> Self {
        Self::with("", "")
    }

    /// Options before the key in `authorized_keys`, and more configuration.
    pub(crate) fn with(options: &str, more: &str) -> Self {
        let shop = Workshop::new();
        let public = shop.key("user", &["-t", "ed25519"], "");
        let sshd = Sshd::start(&shop, "main", &format!("{options} {public}"), more);
        let credential = key_credential(&shop, "user", None, None);
        let target = target(sshd.port, pinned(&sshd.host_key));
        Self { shop, sshd, credential, target }
    }

    pub(crate) async fn run(&self, request: SshRequest) -> Ran {
        exec(&self.target, request, Arc::clone(&self.credential), &options(), None).await
    }
}

pub(crate) fn key_credential(
    shop: &Workshop,
    name: &str,
    passphrase: Option<&str>,
    certificate: Option<String>,
) -> Arc<SshCredential> {
    let injection = SshInjection::Key {
        key: Secret::new(shop.read(name).into_bytes()),
        passphrase: passphrase.map(|text| Secret::new(text.as_bytes().to_vec())),
        certificate,
    };
    Arc::new(SshCredential::new(&injection).unwrap())
}

pub(crate) fn options() -> SshExchangeOptions {
    SshExchangeOptions {
        deadline: PATIENCE * 3,
        max_output_bytes: 1024 * 1024,
        max_shown_bytes: 1024 * 1024,
        max_content_bytes: 1 << 30,
        marker: None,
        stop_first: None,
    }
}

/// A script, in place of the login shell: some shells would stay around it, and tell of its end by a
/// status of their own.
pub(crate) fn sh(script: &str) -> SshRequest {
    let words = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    let line = CommandLine::new(&SshCommand::Argv(words)).unwrap();
    SshRequest {
        host: None,
        command: SshCommand::Raw(format!("exec {}", line.as_str())),
        environment: Vec::new(),
        stdin: None,
        credential: None,
    }
}

/// What came of it.
pub(crate) struct Ran {
    pub(crate) attempts: Vec<SetupAttempt>,
    pub(crate) result: Result<SshExchange, proofport_egress::SetupFailure>,
}

impl Ran {
    pub(crate) fn exchange(&self) -> &SshExchange {
        self.result.as_ref().unwrap()
    }

    pub(crate) fn cause(&self) -> Option<Cause> {
        self.result.as_ref().err().map(|failure| failure.cause)
    }
}

pub(crate) async fn exec(
    target: &SshTarget,
    request: SshRequest,
    credential: Arc<SshCredential>,
    options: &SshExchangeOptions,
    sink: Option<Arc<dyn ContentSink>>,
) -> Ran {
    let outgoing = SshOutgoing::prepare(&request, credential).unwrap();
    let setup = SshEgress::new().connect(target, outgoing, now(), 1).await;
    let result = match setup.result {
        Ok(mut loaded) => {
            assert_eq!(loaded.found_dead(9), None);
            let options = options.clone();
            let running = tokio::spawn(async move {
                loaded.exchange(&options, Arc::new(()), std::future::pending(), sink).await
            });
            Ok(running.await.unwrap())
        }
        Err(failure) => Err(failure),
    };
    Ran { attempts: setup.attempts, result }
}
