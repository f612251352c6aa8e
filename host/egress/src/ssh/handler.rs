//! What russh asks and tells while a connection lives: is this the host, and why did it end. Channels
//! that the server opens are refused, all of them.

use super::host_keys::{HostKeys, HostRefusal};
use proofport_core::digest::Digest;
use proofport_core::ssh::SshHost;
use proofport_core::time::UnixMillis;
use russh::client::{ChannelOpenHandle, DisconnectReason, Handler, Msg, Session};
use russh::keys::PublicKeyOrCertificate;
use russh::{Channel, ChannelOpenFailure};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The most banners of one server, and the most bytes of them.
const MOST_BANNERS: u32 = 32;
const MOST_BANNER_BYTES: usize = 64 * 1024;

/// The most channels that a server may try to open before it is taken for hostile.
const MOST_CHANNELS: u32 = 1024;

/// What the handler learnt.
#[derive(Default)]
pub(super) struct Told {
    /// What became of the host's key, and when it was shown.
    pub(super) host: Option<(Result<Digest, HostRefusal>, Instant)>,
    /// The reason code of SSH_MSG_DISCONNECT.
    pub(super) disconnect: Option<u32>,
    /// The error that ended the connection.
    pub(super) error: Option<russh::Error>,
    /// How many channels of the server's were refused.
    pub(super) channels_refused: u32,
    banners: u32,
    banner_bytes: usize,
}

/// Shared between the handler and those who opened the connection.
#[derive(Clone, Default)]
pub(super) struct Report(Arc<Mutex<Told>>);

impl Report {
    pub(super) fn lock(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection's handler.
pub(super) struct Watcher {
    pub(super) host: SshHost,
    pub(super) keys: HostKeys,
    pub(super) now: UnixMillis,
    pub(super) report: Report,
}

impl Watcher {
    /// Refuses a channel.
    async fn refuse(&mut self, reply: ChannelOpenHandle) -> Result<(), russh::Error> {
        let count = {
            let mut told = self.report.lock();
            told.channels_refused = told.channels_refused.saturating_add(1);
            told.channels_refused
        };
        reply.reject(ChannelOpenFailure::AdministrativelyProhibited).await;
        if count > MOST_CHANNELS { Err(russh::Error::Inconsistent) } else { Ok(()) }
    }
}

impl Handler for Watcher {
    type Error = russh::Error;

    async fn auth_banner(&mut self, banner: &str, _: &mut Session) -> Result<(), Self::Error> {
        let mut told = self.report.lock();
        told.banners = told.banners.saturating_add(1);
        told.banner_bytes = told.banner_bytes.saturating_add(banner.len());
        let flood = told.banners > MOST_BANNERS || told.banner_bytes > MOST_BANNER_BYTES;
        if flood { Err(russh::Error::Inconsistent) } else { Ok(()) }
    }

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, Self::Error> {
        let verdict = self.keys.check(&self.host, shown, self.now);
        let accepted = verdict.is_ok();
        self.report.lock().host = Some((verdict, Instant::now()));
        Ok(accepted)
    }

    async fn disconnected(&mut self, reason: DisconnectReason<Self::Error>) -> Result<(), Self::Error> {
        let mut told = self.report.lock();
        match reason {
            DisconnectReason::ReceivedDisconnect(info) => told.disconnect = Some(info.reason_code as u32),
            DisconnectReason::Error(error) => told.error = Some(error),
        }
        Ok(())
    }

    async fn server_channel_open_forwarded_tcpip(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        _: u32,
        _: &str,
        _: u32,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        self.refuse(reply).await
    }

    async fn server_channel_open_forwarded_streamlocal(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        self.refuse(reply).await
    }

    async fn server_channel_open_agent_forward(
        &mut self,
        _: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        self.refuse(reply).await
    }

    async fn server_channel_open_session(
        &mut self,
        _: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        self.refuse(reply).await
    }

    async fn server_channel_open_direct_tcpip(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        _: u32,
        _: &str,
        _: u32,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        self.refuse(reply).await
    }

    async fn server_channel_open_direct_streamlocal(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        self.refuse(reply).await
    }

    async fn server_channel_open_x11(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        _: u32,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        self.refuse(reply).await
    }
}
