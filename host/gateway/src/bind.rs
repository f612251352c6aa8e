//! From a declared connection to one that can be called.

use crate::config::{ConnectionConfig, HostKeyError, Placement, Resolve, SshConfig, TrustError};
use crate::registry::{Registry, RegistryError};
use proofport_broker::{
    BadSchema, Binding, Connection, Declaration, Limits, Place, ProxyBinding, SshBinding, SshJumpBinding,
};
use proofport_core::ssh::SshHost;
use proofport_sandbox::{Fault, LoadError, Sandbox};
use std::io;
use std::sync::Arc;

/// A declared connection can't be made ready.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The module is not approved or can't be read.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The module can't be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The file of authorities can't be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The keys of an SSH host can't be used.
    #[error("the keys of an SSH host {0}")]
    HostKeys(#[from] HostKeyError),
    /// The file of a user certificate can't be read.
    #[error("the user certificate can't be read: {0}")]
    Certificate(io::Error),
    /// The connector can't say what it is under this config.
    #[error("the connector can't say what it is under this config: {0}")]
    Describe(#[from] Fault),
    /// Under this config it declares something else than what was approved.
    #[error(
        "under this config the connector declares something else than what was approved; names, contracts and slots may not depend on it"
    )]
    OtherManifest,
    /// A schema can't be used.
    #[error(transparent)]
    Schema(#[from] BadSchema),
}

/// Loads the connector, compiling it if no compiled code is kept, and compiles its schemas. Takes up
/// to seconds of processor time.
///
/// # Errors
/// See [`BindError`]. [`check`](crate::check) names the same mistakes with their lines.
pub async fn bind(
    declared: &ConnectionConfig,
    registry: &Registry,
    sandbox: &Sandbox,
) -> Result<Connection, BindError> {
    let digest = &declared.connector.value;
    let module = registry.module(digest)?;
    let approved = registry.find(digest).ok_or(RegistryError::NotApproved { digest: *digest })?;
    let connector = sandbox.load(&module)?;
    let config = declared.settings.canonical();
    if connector.describe(&config).await?.value != approved.manifest {
        return Err(BindError::OtherManifest);
    }
    let credentials = declared
        .credentials
        .iter()
        .map(|(slot, bound)| {
            let place = place(&bound.placement.value)?;
            Ok((slot.clone(), Binding { secret: bound.secret.value.clone(), place }))
        })
        .collect::<Result<_, BindError>>()?;
    let limits = Limits {
        request_bytes: declared.limits.request_bytes,
        response_bytes: declared.limits.response_bytes,
        connect: declared.limits.connect(),
        deadline: declared.limits.deadline(),
        setup_attempts: declared.limits.setup_attempts,
        connections_per_origin: usize::try_from(declared.limits.connections_per_origin).unwrap_or(1),
        idle: declared.limits.idle(),
        content_bytes: declared.limits.content_bytes,
        key_window_seconds: declared.limits.key_window_seconds,
        clock_margin_seconds: declared.limits.clock_margin_seconds,
    };
    let proxy = declared.proxy.as_ref().map(|proxy| ProxyBinding {
        origin: proxy.origin.value.clone(),
        addresses: proxy.address_policy(),
        resolves: match proxy.resolve {
            Resolve::Host => false,
            Resolve::Proxy => true,
        },
        login: proxy.credential.as_ref().map(|login| (login.user.clone(), login.secret.value.clone())),
    });
    Ok(Connection::new(Declaration {
        name: declared.name.clone(),
        connector,
        manifest: Arc::new(approved.manifest.clone()),
        config,
        origins: declared.origins(),
        ssh: declared.ssh.as_ref().map(ssh).transpose()?,
        redirect_origins: declared.redirect_origins(),
        trust: declared.trust()?,
        pins: declared.pins().into_iter().collect(),
        addresses: declared.address_policy(),
        proxy,
        trusted_hops: declared.trusted_hops(),
        no_repeating_hops: declared.no_repeating_hops,
        fresh: declared.fresh_connections,
        credentials,
        repeat_none: declared.repeat_none,
        approvals: declared.approvals.policy.clone(),
        limits,
        retries: declared.retries.as_ref().map(|retries| retries.value),
        failures: declared.failures,
        reconciliations: declared.reconciliations,
        following: declared.following.as_ref().map(|following| following.value),
    })?)
}

fn ssh(declared: &SshConfig) -> Result<SshBinding, BindError> {
    let keys = |host| Ok::<_, BindError>((SshHost::clone(host), declared.keys.of(host)?));
    let jump = declared.jump.as_ref().map(|jump| {
        Ok::<_, BindError>(SshJumpBinding {
            host: jump.host.value.clone(),
            host_keys: jump.keys.of(&jump.host.value)?,
            addresses: jump.address_policy(),
            secret: jump.credential.secret.value.clone(),
            place: place(&jump.credential.placement.value)?,
            resolves: jump.resolves,
        })
    });
    Ok(SshBinding {
        hosts: declared.hosts(),
        host_keys: declared.hosts().iter().map(keys).collect::<Result<_, _>>()?,
        jump: jump.transpose()?,
        raw_commands: declared.raw_commands,
        keepalive: declared.keepalive(),
    })
}

fn place(placement: &Placement) -> Result<Place, BindError> {
    Ok(match placement {
        Placement::HttpBearer => Place::Bearer,
        Placement::HttpBasic { user } => Place::Basic { user: user.clone() },
        Placement::HttpHeader { header } => Place::Header { name: header.clone() },
        Placement::HttpQuery { query } => Place::Query { name: query.clone() },
        Placement::AwsSigv4 { access_key_id, region, service } => Place::SigV4 {
            access_key_id: access_key_id.clone(),
            region: region.clone(),
            service: service.clone(),
        },
        Placement::TlsClientCertificate => Place::ClientCertificate,
        Placement::SshKey { passphrase, certificate } => Place::SshKey {
            passphrase: passphrase.clone(),
            certificate: certificate
                .as_ref()
                .map(|file| std::fs::read_to_string(file).map_err(BindError::Certificate))
                .transpose()?,
        },
        Placement::SshPassword => Place::SshPassword,
        Placement::SshKeyboardInteractive => Place::SshKeyboardInteractive,
    })
}
