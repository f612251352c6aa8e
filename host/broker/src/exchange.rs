//! One exchange over whatever its connection speaks: from loaded to what came of it.

use crate::content::Storage;
use crate::run::Run;
use proofport_core::contract::{Repeat, Role};
use proofport_core::evidence::{Evidence, SetupAttempt};
use proofport_core::exchange::{Response, SshExit};
use proofport_egress::ssh::{SshExchange, SshExchangeOptions, SshLoaded, StopFirst};
use proofport_egress::{ContentSink, ExchangeOptions, Guard, HttpExchange, Loaded, Watch};
use std::sync::Arc;
use std::time::Duration;

/// A verified connection with its request on it.
pub(crate) enum Ready {
    Http(Box<Loaded>),
    Ssh(Box<SshLoaded>),
}

/// Limits of one exchange, for either transport.
pub(crate) struct Options {
    http: ExchangeOptions,
    ssh: SshExchangeOptions,
}

/// What came of it.
pub(crate) enum Exchanged {
    Http(Box<HttpExchange>),
    Ssh(Box<SshExchange>),
}

impl Ready {
    /// Looks at the connection once more. None: it can be used.
    pub(crate) fn found_dead(&mut self, n: u32) -> Option<SetupAttempt> {
        match self {
            Self::Http(loaded) => loaded.found_dead(n),
            Self::Ssh(loaded) => loaded.found_dead(n),
        }
    }

    /// Carries it out. When `cancel` comes, a channel is closed, its command perhaps first asked to stop; an
    /// HTTP exchange runs on, since what the origin still says settles the record.
    pub(crate) async fn exchange(
        self,
        options: &Options,
        watch: Arc<dyn Watch>,
        sink: Option<Arc<dyn ContentSink>>,
        cancel: impl Future<Output = ()> + Send,
    ) -> Exchanged {
        match self {
            Self::Http(loaded) => {
                Exchanged::Http(Box::new(loaded.exchange(&options.http, watch, sink).await))
            }
            Self::Ssh(loaded) => {
                Exchanged::Ssh(Box::new(loaded.exchange(&options.ssh, watch, cancel, sink).await))
            }
        }
    }
}

impl Exchanged {
    pub(crate) fn evidence(&self) -> Evidence {
        match self {
            Self::Http(http) => http.evidence.clone().into(),
            Self::Ssh(ssh) => ssh.evidence.clone().into(),
        }
    }

    /// The whole answer, where it may be shown to the connector.
    pub(crate) fn response(&self) -> Option<Response> {
        match self {
            Self::Http(http) => http.response.clone().map(Response::Http),
            Self::Ssh(ssh) => ssh.response.clone().map(Response::Ssh),
        }
    }
}

/// Of an output that may be stored, this part of the limit is shown at most.
const SHOWN_PART: usize = 8;

impl Run {
    /// Where the content of the next answer goes, if the operation has it stored. The egress searches it
    /// for the secret of its own request; on the way to the disk it is searched for all others.
    pub(crate) fn storage(&mut self, ready: &Ready) -> Option<Arc<dyn ContentSink>> {
        let connection = self.scratch.connection.as_ref()?;
        let operation = connection.manifest.operation(&self.state.accepted.operation.operation)?;
        let own = match ready {
            _ if !operation.stores_content => return None,
            Ready::Http(loaded) => loaded.guard(),
            Ready::Ssh(loaded) => loaded.guard(),
        };
        let others = self.scratch.guards.iter().filter(|guard| !Arc::ptr_eq(guard, &own)).cloned().collect();
        let storage = Storage::new(Arc::clone(&self.inner), self.state.accepted.request_id, others);
        self.scratch.storage = Some(Arc::clone(&storage));
        Some(storage)
    }

    pub(crate) fn exchange_options(&self, role: Role) -> Options {
        let connection = self.scratch.connection.as_ref();
        let limits = connection.map(|connection| connection.limits).unwrap_or_default();
        let operation = connection
            .and_then(|connection| connection.manifest.operation(&self.state.accepted.operation.operation));
        // One deadline for all of it; but a slow setup leaves the exchange at least half.
        let deadline = limits.deadline.saturating_sub(self.scratch.setup_took).max(limits.deadline / 2);
        let text = operation.and_then(|operation| operation.contract.completion_marker.as_deref());
        let grace = operation.and_then(|operation| operation.contract.stop_grace_seconds);
        let reference = self.state.binding.as_ref().map(|binding| binding.reference.as_str());
        let marker = text.zip(reference).map(|(text, reference)| format!("{text}{reference}"));
        Options {
            http: ExchangeOptions {
                deadline,
                max_response_bytes: limits.response_bytes,
                max_content_bytes: limits.content_bytes,
                kept_headers: operation.map(|operation| operation.kept_headers.clone()).unwrap_or_default(),
                replay_header: self.replay_header().filter(|_| role == Role::Effect),
                trusted_hops: connection
                    .map(|connection| connection.trusted_hops.clone())
                    .unwrap_or_default(),
                other_secrets: self.scratch.blind || self.scratch.guards.iter().any(|guard| guard.is_armed()),
                copies_matter: role == Role::Effect
                    && connection.is_none_or(|connection| !connection.no_repeating_hops),
            },
            ssh: SshExchangeOptions {
                deadline,
                max_output_bytes: limits.response_bytes,
                // What is shown may be said again as JSON, in which a byte can take six.
                max_shown_bytes: limits.response_bytes / SHOWN_PART,
                max_content_bytes: limits.content_bytes,
                // An answer to a question may well quote it.
                marker: marker.filter(|_| role == Role::Effect),
                stop_first: grace.map(|seconds| StopFirst { grace: Duration::from_secs(seconds.into()) }),
            },
        }
    }

    /// The header by which the contract that is bound marks the first request's answer: the admin may have
    /// taken back what the operation declares.
    fn replay_header(&self) -> Option<String> {
        match &self.state.binding.as_ref()?.contract.repeat {
            Repeat::Keyed(keyed) => keyed.replay_header.clone(),
            Repeat::None | Repeat::Idempotent | Repeat::Conditional => None,
        }
    }

    /// The egress searched the answer for the secret of its own request; here it is searched for those
    /// of the invocation's other requests. A find withholds it.
    pub(crate) fn screen(&self, exchanged: &mut Exchanged) {
        match exchanged {
            Exchanged::Http(http) => screen_http(http, &self.scratch.guards),
            Exchanged::Ssh(ssh) => screen_ssh(ssh, &self.scratch.guards),
        }
    }

    /// What operators get to see of an exchange, beyond the evidence.
    pub(crate) fn note(&mut self, exchanged: &Exchanged) {
        let (diagnostic, asked_delay) = match exchanged {
            Exchanged::Http(http) => (&http.diagnostic, http.retry_after_seconds),
            Exchanged::Ssh(ssh) => (&ssh.diagnostic, None),
        };
        let protected = &mut self.scratch.protected;
        protected.cause_chain.clone_from(&diagnostic.cause_chain);
        protected.remote_request_id.clone_from(&diagnostic.remote_request_id);
        self.scratch.asked_delay = asked_delay;
    }
}

fn is_clean(bytes: &[u8], guards: &[Arc<Guard>]) -> bool {
    guards.iter().all(|guard| guard.is_clean(bytes))
}

fn screen_http(exchange: &mut HttpExchange, guards: &[Arc<Guard>]) {
    let clean = |bytes: &[u8]| is_clean(bytes, guards);
    let evidence = &mut exchange.evidence;
    if !evidence.proxy_status.iter().all(|entry| clean(entry.hop.as_str().as_bytes())) {
        evidence.proxy_status.clear();
    }
    // A library's words may repeat the peer's.
    exchange.diagnostic.cause_chain.retain(|cause| clean(cause.as_bytes()));
    let named = &mut exchange.diagnostic.remote_request_id;
    *named = named.take().filter(|id| clean(id.as_bytes()));
    // It would be sent on, and stored.
    exchange.redirect = exchange.redirect.take().filter(|to| clean(to.path.as_str().as_bytes()));
    let Some(response) = &exchange.response else { return };
    let headers = response.headers.iter().all(|header| clean(header.value.as_bytes()));
    if !(headers && clean(&response.body)) {
        exchange.response = None;
        exchange.evidence.withheld = true;
    }
}

fn screen_ssh(exchange: &mut SshExchange, guards: &[Arc<Guard>]) {
    let clean = |bytes: &[u8]| is_clean(bytes, guards);
    exchange.diagnostic.cause_chain.retain(|text| clean(text.as_bytes()));
    // A server names the signal, and the record keeps it.
    if let Some(SshExit::Signal(name)) = &mut exchange.evidence.exit
        && !clean(name.as_bytes())
    {
        *name = "OTHER".to_owned();
    }
    let Some(response) = &mut exchange.response else { return };
    if clean(&response.stdout) && clean(&response.stderr) {
        response.exit = exchange.evidence.exit.clone().unwrap_or(SshExit::Marker);
    } else {
        exchange.response = None;
        exchange.evidence.withheld = true;
    }
}
