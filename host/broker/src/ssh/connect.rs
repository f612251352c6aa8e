//! A verified SSH connection with an exec loaded on it.

use crate::connection::Connection;
use crate::exchange::Ready;
use crate::prepare::{Connected, over_limit};
use crate::refuse;
use crate::run::Run;
use proofport_core::decide::Input;
use proofport_core::exchange::{Request, Send, SshCommand, SshRequest};
use proofport_core::ssh::SshHost;
use proofport_egress::ssh::{SshDeadlines, SshOutgoing, SshTarget};
use std::time::Instant;

/// How many questions for a sign of life may stay unanswered.
const KEEPALIVE_MAX: u32 = 3;

impl Run {
    /// Everything up to the exec: the host verified, logged in, the channel open, its environment set.
    pub(crate) async fn connect_ssh(
        &mut self,
        connection: &Connection,
        send: &Send,
        exec: &SshRequest,
        first: u32,
    ) -> Result<Connected, Vec<Input>> {
        let named = exec.host.as_deref().and_then(|name| SshHost::parse(name).ok());
        let bound = connection.ssh.as_ref().zip(named).filter(|(ssh, host)| ssh.hosts.contains(host));
        let Some((ssh, host)) = bound else {
            return Err(vec![refuse::breach("an SSH exec on a connection without that host")]);
        };
        if let Some(refused) = over_limit(connection, &send.request) {
            return Err(vec![refused]);
        }
        self.describe_exec(&host, exec, &send.summary);
        let credential = self.login_for(connection, &send.request).await.map_err(|input| vec![*input])?;
        self.guard_against(credential.guard());
        let outgoing = SshOutgoing::prepare(exec, credential)
            .map_err(|unsendable| vec![refuse::breach(&unsendable.to_string())])?;
        let limits = connection.limits;
        let target = SshTarget {
            host_keys: ssh.keys_of(&host),
            host,
            addresses: connection.addresses.clone(),
            jump: self.jump(connection).await.map_err(|input| vec![*input])?,
            deadlines: SshDeadlines {
                dns: limits.connect,
                tcp_connect: limits.connect,
                transport: limits.connect,
                user_auth: limits.connect,
                channel: limits.connect,
                overall: limits.deadline,
            },
            setup_attempts: limits.setup_attempts,
            keepalive: ssh.keepalive,
            keepalive_max: KEEPALIVE_MAX,
        };
        let since = Instant::now();
        let setup = self.inner.ssh_egress.connect(&target, outgoing, self.inner.now(), first).await;
        self.scratch.setup_took = since.elapsed();
        let mut inputs = vec![Input::Connected(setup.attempts)];
        match setup.result {
            Ok(loaded) => {
                let peer = loaded.peer().clone();
                let request = Request::Ssh(exec.clone());
                Ok(Connected { ready: Ready::Ssh(Box::new(loaded)), peer, request, inputs })
            }
            Err(failure) => {
                self.scratch.protected.cause_chain = vec![failure.detail.clone()];
                inputs.push(refuse::setup(&failure));
                Err(inputs)
            }
        }
    }

    /// What operators get to see of an exec: the program, and never its arguments.
    fn describe_exec(&mut self, host: &SshHost, exec: &SshRequest, summary: &str) {
        let protected = &mut self.scratch.protected;
        protected.destination = Some(format!("ssh://{host}"));
        protected.command = match &exec.command {
            SshCommand::Argv(arguments) => arguments.first().cloned(),
            SshCommand::Raw(_) => None,
        };
        protected.summary = Some(summary.to_owned());
    }
}
