//! A verified HTTP connection with a request loaded on it.

use crate::connection::Connection;
use crate::exchange::Ready;
use crate::prepare::{Connected, over_limit};
use crate::refuse;
use crate::run::Run;
use proofport_core::contract::{Repeat, Role};
use proofport_core::decide::Input;
use proofport_core::exchange::{Header, HttpRequest, Request, Send};
use proofport_egress::{Credential, HttpTarget, Outgoing, PoolLimits, SetupDeadlines};
use std::sync::Arc;
use std::time::Instant;

/// Whether a connection of its own is wanted whatever the policy says, and the number of the first
/// attempt.
#[derive(Clone, Copy)]
pub(crate) struct Newness {
    pub(crate) fresh: bool,
    pub(crate) first: u32,
}

impl Run {
    pub(crate) async fn connect_http(
        &mut self,
        connection: &Arc<Connection>,
        send: &Send,
        request: &HttpRequest,
        extra: &[Header],
        Newness { fresh, first }: Newness,
    ) -> Result<Connected, Vec<Input>> {
        if let Some(refused) = over_limit(connection, &send.request) {
            return Err(vec![refused]);
        }
        self.describe(request, &send.summary);
        let credential = self.credential_for(connection, &send.request).map_err(|input| vec![*input])?;
        let outgoing = Outgoing::prepare(request, extra, credential.as_deref(), self.inner.clock.now())
            .map_err(|unsendable| vec![refuse::breach(&unsendable.to_string())])?;
        if credential.is_some() {
            self.guard_against(outgoing.guard());
        }
        let proxy = self.proxy(connection).map_err(|input| vec![*input])?;
        let limits = connection.limits;
        let none = Repeat::None;
        let repeat = self.scratch.contract.as_ref().map_or(&none, |contract| &contract.repeat);
        let target = HttpTarget {
            connection: connection.name.to_string(),
            origin: request.origin.clone(),
            trust: connection.trust.clone(),
            pins: connection.pins.clone(),
            identity: credential.as_deref().and_then(Credential::client_identity).cloned(),
            addresses: connection.addresses.clone(),
            proxy,
            // A graceful end can race a request that is queued, so what nothing may repeat stays on HTTP/1.1.
            http2: send.role == Role::Query || repeat.is_repeatable(),
            fresh: fresh || connection.fresh.wants(send.role, repeat),
            pool: PoolLimits { per_origin: limits.connections_per_origin, idle: limits.idle },
            deadlines: SetupDeadlines {
                dns: limits.connect,
                tcp_connect: limits.connect,
                tls: limits.connect,
                pool: limits.connect,
                tunnel: limits.connect,
                overall: limits.deadline,
            },
            setup_attempts: limits.setup_attempts,
        };
        let since = Instant::now();
        let setup = self.inner.egress.connect(&target, first).await;
        self.scratch.setup_took = since.elapsed();
        let mut inputs = vec![Input::Connected(setup.attempts)];
        let ready = match setup.result {
            Ok(ready) => ready,
            Err(failure) => {
                self.scratch.protected.cause_chain = vec![failure.detail.clone()];
                inputs.push(refuse::setup(&failure));
                return Err(inputs);
            }
        };
        let peer = ready.peer().clone();
        match ready.load(outgoing) {
            Ok(loaded) => {
                let request = Request::Http(request.clone());
                Ok(Connected { ready: Ready::Http(Box::new(loaded)), peer, request, inputs })
            }
            Err(wrong) => {
                inputs.push(refuse::breach(&wrong.to_string()));
                Err(inputs)
            }
        }
    }

    fn describe(&mut self, request: &HttpRequest, summary: &str) {
        let protected = &mut self.scratch.protected;
        protected.destination = Some(request.origin.to_string());
        protected.method = Some(request.method.clone());
        protected.path = Some(request.path.path().to_owned());
        protected.summary = Some(summary.to_owned());
    }
}
