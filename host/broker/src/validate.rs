//! Everything that can be checked before a secret is touched or a name resolved.

use crate::batch;
use crate::connection::Connection;
use crate::intent::Authority;
use crate::prepare::over_limit;
use crate::refuse;
use crate::run::Run;
use crate::ssh::SshBinding;
use jsonschema::error::ValidationErrorKind;
use proofport_core::approval::ApprovalTerms;
use proofport_core::call::Call;
use proofport_core::code::Code;
use proofport_core::contract::{Effect, Repeat};
use proofport_core::decide::Input;
use proofport_core::digest::Digest;
use proofport_core::envelope::FieldPointer;
use proofport_core::event::{Binding, StopDetail};
use proofport_core::id::IdempotencyKey;
use proofport_core::origin::Origin;
use proofport_core::verdict::Step;
use proofport_journal::{Body, BodyKind};
use proofport_sandbox::{Fault, Report, Rules};
use std::sync::Arc;

/// The most steps of one call: its queries, its effect and its verdict.
pub(crate) const MOST_STEPS: u32 = 32;

impl Run {
    pub(crate) async fn validate(&mut self) -> Input {
        let Some(connection) = self.scratch.connection.clone() else {
            return refuse::refused(Code::UnsupportedAction, StopDetail::UnknownConnection);
        };
        if let Some(refused) = self.refuse_revoked(&connection) {
            return refused;
        }
        let name = self.state.accepted.operation.operation.clone();
        let Some((operation, validators)) =
            connection.manifest.operation(&name).zip(connection.validators(&name))
        else {
            return refuse::refused(Code::UnsupportedAction, StopDetail::UnknownOperation);
        };
        if self.scratch.canonical.len() > connection.limits.request_bytes {
            let limit = connection.limits.request_bytes as u64;
            return refuse::refused(Code::PayloadLimit, StopDetail::OverLimit { limit });
        }
        let Some(input) = &self.scratch.input else {
            return refuse::invalid_input(vec![FieldPointer::in_schema("", &operation.input_schema)]);
        };
        let mut invalid: Vec<FieldPointer> = Vec::new();
        for error in validators.input.iter_errors(input).take(32) {
            let mut pointer = error.instance_path().as_str().to_owned();
            // What is missing is named too, where the schema names it.
            if let ValidationErrorKind::Required { property } = error.kind()
                && let Some(property) = property.as_str()
            {
                pointer.push('/');
                pointer.push_str(&property.replace('~', "~0").replace('/', "~1"));
            }
            let field = FieldPointer::in_schema(&pointer, &operation.input_schema);
            if !invalid.contains(&field) {
                invalid.push(field);
            }
        }
        if !invalid.is_empty() {
            return refuse::invalid_input(invalid);
        }
        let children = match batch::children(operation, input) {
            Ok(children) => children,
            Err(refused) => return refused,
        };
        let contract = connection.contract(operation);
        // What is sent again takes its key along.
        let known = self.state.accepted.continues.as_ref().and_then(|continues| continues.key.as_ref());
        let key = match (&contract.repeat, known) {
            (Repeat::Keyed(_), Some(known)) => Some(known.key.clone()),
            (Repeat::Keyed(_), None) => match self.inner.entropy.bytes() {
                Ok(random) => Some(IdempotencyKey::from_random(random)),
                Err(_) => return refuse::refused(Code::Internal, StopDetail::None),
            },
            (Repeat::None | Repeat::Idempotent | Repeat::Conditional, _) => None,
        };
        let reference = self.state.accepted.reference();
        self.scratch.call = Some(Call {
            operation: name.clone(),
            input: self.scratch.canonical.clone(),
            config: connection.config.clone(),
            reference: reference.clone(),
            idempotency_key: key.clone(),
            accepted_at: self.state.accepted.known_since(),
        });
        let asks = contract.reconcile.is_some_and(|terms| terms.automatic);
        let reconciliations = connection.reconciliations.filter(|_| asks);
        let approval = match self.scratch.authority {
            Authority::Operator => ApprovalTerms::NONE,
            Authority::Agent => connection.approvals.terms(&name, contract.effect),
        };
        let following = connection.following.filter(|_| contract.job_operation.is_some());
        self.scratch.key = key;
        self.scratch.contract = Some(contract.clone());
        self.scratch.protected.connector =
            format!("{} {}", connection.manifest.name, connection.manifest.version);
        match self.step(&connection).await {
            Ok(Step::Refuse(pointers)) => refuse::invalid_input(
                pointers
                    .iter()
                    .map(|pointer| FieldPointer::in_schema(pointer, &operation.input_schema))
                    .collect(),
            ),
            Ok(Step::Settle(_)) => refuse::breach("a verdict before anything was sent"),
            Ok(Step::Send(send)) => {
                if let Some(refused) = over_limit(&connection, &send.request) {
                    return refused;
                }
                // What was refused is not kept: its digest is, and nothing will ask for more.
                let input = self.scratch.canonical.clone().into_bytes();
                self.bodies.push(Body { kind: BodyKind::Input, bytes: input });
                self.scratch.step = Some(Step::Send(send));
                let config = connection.config_digest();
                Input::Validated(Box::new(Binding {
                    intent: self.intent(&connection, config),
                    connector: connection.connector.digest(),
                    config,
                    origins: connection.origins.clone(),
                    reference,
                    contract,
                    redirect_origins: connection.redirect_origins.clone(),
                    ssh_hosts: connection.ssh_hosts().to_vec(),
                    children,
                    retries: connection.retries,
                    reconciliations,
                    following,
                    ways: Some(connection.ways()),
                    approval,
                }))
            }
            Err(fault) => refuse::fault(&fault),
        }
    }

    /// The intent fingerprint: a change of any part of it is another invocation.
    fn intent(&self, connection: &Connection, config: Digest) -> Digest {
        let texts =
            |origins: &[Origin]| origins.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let (origins, redirects) = (texts(&connection.origins), texts(&connection.redirect_origins));
        let mut hosts = connection.ssh.as_ref().map(|ssh| ssh.names().join(" ")).unwrap_or_default();
        let mut credentials = String::new();
        {
            let vault = self.inner.vault.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            // The same address behind another host that leads there is another machine.
            if let Some(jump) = connection.ssh.as_ref().and_then(|ssh| ssh.jump.as_ref()) {
                let version = vault.newest_version(&jump.secret).unwrap_or(0);
                let (host, secret, mode) = (&jump.host, &jump.secret, jump.place.mode());
                hosts.push_str(&format!(" via {host} {} {secret}@{version}/{mode}", jump.resolves));
            }
            for (slot, binding) in &connection.credentials {
                let version = vault.newest_version(&binding.secret).unwrap_or(0);
                credentials.push_str(&format!(
                    "{slot}={}@{version}/{};",
                    binding.secret,
                    binding.place.mode()
                ));
            }
        }
        Digest::of_parts(
            "proofport.invocation/1",
            &[
                self.state.accepted.operation.to_string().as_bytes(),
                self.scratch.canonical.as_bytes(),
                connection.connector.digest().as_bytes(),
                config.as_bytes(),
                origins.as_bytes(),
                credentials.as_bytes(),
                redirects.as_bytes(),
                hosts.as_bytes(),
            ],
        )
    }

    /// The connector's next step, counted.
    pub(crate) async fn step(&mut self, connection: &Arc<Connection>) -> Result<Step, Fault> {
        let Some(call) = self.scratch.call.clone() else { return Err(Fault::Unavailable) };
        let rules = rules(connection, &call);
        let report = connection.connector.next(&call, &self.scratch.history, &rules).await;
        self.spent(report)
    }

    /// Notes what a step cost, whatever it said.
    pub(crate) fn spent(&mut self, report: Result<Report<Step>, Fault>) -> Result<Step, Fault> {
        let protected = &mut self.scratch.protected;
        self.scratch.steps += 1;
        protected.connector_steps = self.scratch.steps;
        let spent = report.as_ref().ok().map(|report| (report.fuel, report.micros));
        self.inner.figures.stepped(spent);
        let id = self.state.accepted.request_id;
        self.inner.note_step(id, spent.map(|(_, micros)| micros));
        match report {
            Ok(report) => {
                protected.connector_fuel += report.fuel;
                protected.connector_micros += report.micros;
                add_log(&mut protected.connector_log, &report.log);
                Ok(report.value)
            }
            Err(fault) => {
                if let Fault::Trap { log, .. } = &fault {
                    add_log(&mut protected.connector_log, log);
                }
                Err(fault)
            }
        }
    }

    pub(crate) fn is_read(&self) -> bool {
        self.scratch.contract.as_ref().is_some_and(|contract| contract.effect == Effect::Read)
    }
}

/// What a connector prints over all its steps is bounded too.
const LONGEST_LOG: usize = 16 * 1024;

fn add_log(log: &mut String, more: &[u8]) {
    let room = LONGEST_LOG.saturating_sub(log.len());
    let more = String::from_utf8_lossy(more);
    log.extend(more.chars().take(room));
}

/// What this call's requests are held against.
pub(crate) fn rules(connection: &Connection, call: &Call) -> Rules {
    Rules {
        origins: connection.origins.clone(),
        manifest: Arc::clone(&connection.manifest),
        operation: call.operation.clone(),
        ssh_hosts: connection.ssh.as_ref().map(SshBinding::names).unwrap_or_default(),
        raw_commands: connection.ssh.as_ref().is_some_and(|ssh| ssh.raw_commands),
    }
}
