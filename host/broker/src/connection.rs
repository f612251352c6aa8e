//! An admin's binding, checked: an approved connector with its config, targets, credentials and
//! limits.

use crate::ssh::SshBinding;
use crate::word::Approvals;
use proofport_core::contract::{InjectionMode, Repeat, Role};
use proofport_core::digest::Digest;
use proofport_core::failures::FailureBudget;
use proofport_core::id::Name;
use proofport_core::manifest::{Contract, Manifest, Operation};
use proofport_core::origin::Origin;
use proofport_core::proxy_status::Hop as HopName;
use proofport_core::retry::RetryBudget;
use proofport_core::secret::Secret;
use proofport_core::ssh::SshHost;
use proofport_egress::ssh::SshInjection;
use proofport_egress::{AddressPolicy, Injection, Pins, Trust};
use proofport_sandbox::Connector;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// One connection, ready for calls.
pub struct Connection {
    declared: Declaration,
    validators: BTreeMap<Name, Validators>,
}

/// What an admin declared, with the approved connector.
pub struct Declaration {
    /// Its name.
    pub name: Name,
    /// The approved module, compiled.
    pub connector: Connector,
    /// What it declared when it was approved.
    pub manifest: Arc<Manifest>,
    /// Canonical JSON of its config.
    pub config: String,
    /// Where its HTTP requests may go; the first is the default. Empty only where it has SSH hosts.
    pub origins: Vec<Origin>,
    /// Where its execs may go.
    pub ssh: Option<SshBinding>,
    /// Where a redirect of an effect may be followed to.
    pub redirect_origins: Vec<Origin>,
    /// What its TLS trusts.
    pub trust: Trust,
    /// Of the trusted certificates, which are accepted.
    pub pins: Pins,
    /// Which addresses it may reach.
    pub addresses: AddressPolicy,
    /// What it goes through.
    pub proxy: Option<ProxyBinding>,
    /// Hops whose `Proxy-Status` is believed, and which don't retry.
    pub trusted_hops: Vec<HopName>,
    /// Whether the admin vouches that nothing on the way sends a request on more than once.
    pub no_repeating_hops: bool,
    /// Which exchanges get a connection of their own.
    pub fresh: Fresh,
    /// Its credentials by slot.
    pub credentials: BTreeMap<Name, Binding>,
    /// Whether the admin marked every operation as `repeat: none`.
    pub repeat_none: bool,
    /// How often the host repeats an effect by itself, where the contract permits it.
    pub retries: Option<RetryBudget>,
    /// How often a session may fail at each of its operations.
    pub failures: FailureBudget,
    /// Whose word its operations need.
    pub approvals: Approvals,
    /// How often the host asks by itself what became of an effect, where the operation declares that it may.
    pub reconciliations: Option<RetryBudget>,
    /// How often, and until when, the host looks by itself at a job that was submitted.
    pub following: Option<RetryBudget>,
    /// Its limits.
    pub limits: Limits,
}

impl Deref for Connection {
    type Target = Declaration;
    fn deref(&self) -> &Declaration {
        &self.declared
    }
}

/// A proxy that a connection names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyBinding {
    /// Where it is; plain HTTP.
    pub origin: Origin,
    /// Which addresses it may have.
    pub addresses: AddressPolicy,
    /// Whether it resolves the origins' names.
    pub resolves: bool,
    /// The user and the secret of its Basic authentication.
    pub login: Option<(String, Name)>,
}

/// Which exchanges may not use a kept connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Fresh {
    /// Effects of operations that nothing may repeat.
    #[default]
    Unrepeatable,
    /// Every effect.
    Effects,
    /// Every exchange.
    Always,
    /// None.
    Never,
}

impl Fresh {
    /// Whether this exchange gets a connection of its own.
    pub(crate) fn wants(self, role: Role, repeat: &Repeat) -> bool {
        match (self, role) {
            (Self::Always, Role::Query | Role::Effect) | (Self::Effects, Role::Effect) => true,
            (Self::Unrepeatable, Role::Effect) => *repeat == Repeat::None,
            (Self::Never, Role::Query | Role::Effect) | (Self::Effects | Self::Unrepeatable, Role::Query) => {
                false
            }
        }
    }
}

/// Compiled schemas of one operation.
pub(crate) struct Validators {
    pub(crate) input: jsonschema::Validator,
    pub(crate) output: jsonschema::Validator,
    pub(crate) failure: Option<jsonschema::Validator>,
    /// Of the output of a batch's child that succeeded.
    pub(crate) child: Option<jsonschema::Validator>,
}

/// Which secret fills a slot, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The secret's name in the vault.
    pub secret: Name,
    /// Where it goes.
    pub place: Place,
}

/// Where a secret goes in an HTTP request, or in the connection under an exchange.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// `Authorization: Bearer`.
    Bearer,
    /// `Authorization: Basic` with this user name.
    Basic {
        /// The user name.
        user: String,
    },
    /// This header.
    Header {
        /// The field name.
        name: String,
    },
    /// This query parameter.
    Query {
        /// The parameter's name.
        name: String,
    },
    /// AWS Signature Version 4; the secret is the secret access key.
    SigV4 {
        /// Names the key; not secret.
        access_key_id: String,
        /// The region that is signed for.
        region: String,
        /// The service that is signed for.
        service: String,
    },
    /// The TLS handshake; the secret is a PEM text with certificates and their key.
    ClientCertificate,
    /// An SSH login by a private key in OpenSSH's format.
    SshKey {
        /// The secret that decrypts it, if it is encrypted.
        passphrase: Option<Name>,
        /// The line of the user certificate that goes with it. Not secret.
        certificate: Option<String>,
    },
    /// An SSH login by a password.
    SshPassword,
    /// An SSH login that answers a prompt.
    SshKeyboardInteractive,
}

impl Place {
    /// The injection mode that this is.
    #[must_use]
    pub const fn mode(&self) -> InjectionMode {
        match self {
            Self::Bearer => InjectionMode::HttpBearer,
            Self::Basic { .. } => InjectionMode::HttpBasic,
            Self::Header { .. } => InjectionMode::HttpHeader,
            Self::Query { .. } => InjectionMode::HttpQuery,
            Self::SigV4 { .. } => InjectionMode::AwsSigv4,
            Self::ClientCertificate => InjectionMode::TlsClientCertificate,
            Self::SshKey { .. } => InjectionMode::SshKey,
            Self::SshPassword => InjectionMode::SshPassword,
            Self::SshKeyboardInteractive => InjectionMode::SshKeyboardInteractive,
        }
    }

    /// The secret, ready to be attached to an HTTP request; none where it logs in over SSH.
    pub(crate) fn inject(&self, secret: Secret) -> Option<Injection> {
        Some(match self {
            Self::Bearer => Injection::Bearer(secret),
            Self::Basic { user } => Injection::Basic { user: user.clone(), password: secret },
            Self::Header { name } => Injection::Header { name: name.clone(), secret },
            Self::Query { name } => Injection::Query { name: name.clone(), secret },
            Self::SigV4 { access_key_id, region, service } => Injection::SigV4 {
                access_key_id: access_key_id.clone(),
                secret,
                session_token: None,
                region: region.clone(),
                service: service.clone(),
            },
            Self::ClientCertificate => Injection::ClientCertificate(secret),
            Self::SshKey { .. } | Self::SshPassword | Self::SshKeyboardInteractive => return None,
        })
    }

    /// The secret, ready to log in over SSH; none where it is for HTTP.
    pub(crate) fn login(&self, secret: Secret, passphrase: Option<Secret>) -> Option<SshInjection> {
        Some(match self {
            Self::SshKey { passphrase: _, certificate } => {
                SshInjection::Key { key: secret, passphrase, certificate: certificate.clone() }
            }
            Self::SshPassword => SshInjection::Password(secret),
            Self::SshKeyboardInteractive => SshInjection::KeyboardInteractive(secret),
            Self::Bearer
            | Self::Basic { .. }
            | Self::Header { .. }
            | Self::Query { .. }
            | Self::SigV4 { .. }
            | Self::ClientCertificate => return None,
        })
    }
}

/// How much and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest input and the largest request body, in bytes.
    pub request_bytes: usize,
    /// The largest response and the largest output, in bytes.
    pub response_bytes: usize,
    /// How long name resolution, TCP and TLS may take, each.
    pub connect: Duration,
    /// How long an exchange may take from its first byte on.
    pub deadline: Duration,
    /// How many connection attempts one exchange may take.
    pub setup_attempts: u32,
    /// The most connections to one origin at a time.
    pub connections_per_origin: usize,
    /// How long an unused connection is kept.
    pub idle: Duration,
    /// The largest content that is stored, in bytes.
    pub content_bytes: u64,
    /// How long a key is trusted where the service publishes no retention, in seconds.
    pub key_window_seconds: u64,
    /// What is taken off a key's window for clocks that differ, in seconds.
    pub clock_margin_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_bytes: 1 << 20,
            response_bytes: 4 << 20,
            connect: Duration::from_secs(10),
            deadline: Duration::from_secs(60),
            setup_attempts: 2,
            connections_per_origin: 8,
            idle: Duration::from_secs(30),
            content_bytes: 1 << 30,
            key_window_seconds: 3600,
            clock_margin_seconds: 300,
        }
    }
}

/// A schema of an approved manifest can't be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("operation `{operation}`: its {which} schema can't be used")]
pub struct BadSchema {
    /// Whose.
    pub operation: Name,
    /// Which of its schemas.
    pub which: &'static str,
}

impl Connection {
    /// A connection with its schemas compiled.
    ///
    /// # Errors
    /// When a schema of the manifest can't be used.
    pub fn new(declared: Declaration) -> Result<Self, BadSchema> {
        let validators = declared
            .manifest
            .operations
            .iter()
            .map(|operation| Ok((operation.name.clone(), Validators::of(operation)?)))
            .collect::<Result<_, BadSchema>>()?;
        Ok(Self { declared, validators })
    }

    pub(crate) fn validators(&self, operation: &Name) -> Option<&Validators> {
        self.validators.get(operation)
    }

    /// The operation's contract as this connection grants it: an admin can lower `repeat`, and
    /// nothing raises it.
    #[must_use]
    pub fn contract(&self, operation: &Operation) -> Contract {
        let mut contract = operation.contract.clone();
        if self.repeat_none {
            contract.repeat = Repeat::None;
        }
        contract
    }

    /// How requests get there, in one digest: a repeat goes the way of the first, under the same account.
    pub(crate) fn ways(&self) -> Digest {
        let mut ways = String::new();
        for (slot, binding) in &self.credentials {
            ways.push_str(&format!("{slot}={}/{:?};", binding.secret, binding.place));
        }
        if let Some(proxy) = &self.proxy {
            ways.push_str(&format!("proxy {} {};", proxy.origin, proxy.resolves));
        }
        if let Some(jump) = self.ssh.as_ref().and_then(|ssh| ssh.jump.as_ref()) {
            ways.push_str(&format!("jump {} {} {}/{:?};", jump.host, jump.resolves, jump.secret, jump.place));
        }
        Digest::of_parts("proofport.ways/1", &[ways.as_bytes()])
    }

    /// The SSH hosts; empty where there are none.
    pub(crate) fn ssh_hosts(&self) -> &[SshHost] {
        self.ssh.as_ref().map_or(&[], |ssh| &ssh.hosts)
    }

    pub(crate) fn config_digest(&self) -> Digest {
        Digest::of_parts("proofport.config/1", &[self.config.as_bytes()])
    }
}

impl Validators {
    fn of(operation: &Operation) -> Result<Self, BadSchema> {
        let compile = |schema: &serde_json::Value, which| {
            // A failure's output may hold text only in a closed format, so formats are asserted.
            jsonschema::draft202012::options()
                .should_validate_formats(true)
                .build(schema)
                .map_err(|_| BadSchema { operation: operation.name.clone(), which })
        };
        Ok(Self {
            input: compile(&operation.input_schema, "input")?,
            output: compile(&operation.output_schema, "output")?,
            failure: operation
                .failure_schema
                .as_ref()
                .map(|schema| compile(schema, "failure"))
                .transpose()?,
            child: operation
                .child_output_schema
                .as_ref()
                .map(|schema| compile(schema, "child output"))
                .transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_connection_is_wanted_by_policy_and_contract() {
        let check = |fresh: Fresh, repeat: &Repeat, expected: [bool; 2]| {
            let got = [Role::Effect, Role::Query].map(|role| fresh.wants(role, repeat));
            assert_eq!(got, expected, "{fresh:?} {repeat:?}");
        };
        for repeat in [Repeat::None, Repeat::Idempotent, Repeat::Conditional] {
            check(Fresh::Unrepeatable, &repeat, [repeat == Repeat::None, false]);
            check(Fresh::Effects, &repeat, [true, false]);
            check(Fresh::Always, &repeat, [true, true]);
            check(Fresh::Never, &repeat, [false, false]);
        }
    }
}
