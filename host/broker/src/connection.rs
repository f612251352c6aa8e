//! An admin's binding, checked: an approved connector with its config, targets, credentials and
//! limits.

use proofport_core::contract::{InjectionMode, Repeat};
use proofport_core::digest::Digest;
use proofport_core::id::Name;
use proofport_core::manifest::{Contract, Manifest, Operation};
use proofport_core::origin::Origin;
use proofport_core::secret::Secret;
use proofport_egress::{AddressPolicy, Injection, Trust};
use proofport_sandbox::Connector;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// One connection, ready for calls.
pub struct Connection {
    /// Its name.
    pub name: Name,
    /// The approved module, compiled.
    pub connector: Connector,
    /// What it declared when it was approved.
    pub manifest: Arc<Manifest>,
    /// Canonical JSON of its config.
    pub config: String,
    /// Where it may go; the first is the default. Never empty.
    pub origins: Vec<Origin>,
    /// What its TLS trusts.
    pub trust: Trust,
    /// Which addresses it may reach.
    pub addresses: AddressPolicy,
    /// Its credentials by slot.
    pub credentials: BTreeMap<Name, Binding>,
    /// Whether the admin marked every operation as `repeat: none`.
    pub repeat_none: bool,
    /// Its limits.
    pub limits: Limits,
    validators: BTreeMap<Name, Validators>,
}

/// Compiled schemas of one operation.
pub(crate) struct Validators {
    pub(crate) input: jsonschema::Validator,
    pub(crate) output: jsonschema::Validator,
    pub(crate) failure: Option<jsonschema::Validator>,
}

/// Which secret fills a slot, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The secret's name in the vault.
    pub secret: Name,
    /// Where it goes.
    pub place: Place,
}

/// Where a secret goes in an HTTP request.
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
        }
    }

    /// The secret, ready to be attached.
    pub(crate) fn inject(&self, secret: Secret) -> Injection {
        match self {
            Self::Bearer => Injection::Bearer(secret),
            Self::Basic { user } => Injection::Basic { user: user.clone(), password: secret },
            Self::Header { name } => Injection::Header { name: name.clone(), secret },
            Self::Query { name } => Injection::Query { name: name.clone(), secret },
        }
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
    #[expect(clippy::too_many_arguments, reason = "each is one line of the connection's declaration")]
    pub fn new(
        name: Name,
        connector: Connector,
        manifest: Arc<Manifest>,
        config: String,
        origins: Vec<Origin>,
        trust: Trust,
        addresses: AddressPolicy,
        credentials: BTreeMap<Name, Binding>,
        repeat_none: bool,
        limits: Limits,
    ) -> Result<Self, BadSchema> {
        let validators = manifest
            .operations
            .iter()
            .map(|operation| Ok((operation.name.clone(), Validators::of(operation)?)))
            .collect::<Result<_, BadSchema>>()?;
        Ok(Self {
            name,
            connector,
            manifest,
            config,
            origins,
            trust,
            addresses,
            credentials,
            repeat_none,
            limits,
            validators,
        })
    }

    pub(crate) fn validators(&self, operation: &Name) -> Option<&Validators> {
        self.validators.get(operation)
    }

    /// The operation's contract as this connection grants it: an admin can lower `repeat`, and
    /// nothing raises it.
    pub(crate) fn contract(&self, operation: &Operation) -> Contract {
        let mut contract = operation.contract.clone();
        if self.repeat_none {
            contract.repeat = Repeat::None;
        }
        contract
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
        })
    }
}
