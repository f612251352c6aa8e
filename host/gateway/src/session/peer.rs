//! The process at the other end of a Unix socket.

use super::proc;
use nix::sys::socket::{getsockopt, sockopt};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The process that made a connection. It is this very process as long as this value lives: its number may
/// be another's later, its descriptor never.
#[derive(Debug)]
pub struct Peer {
    uid: u32,
    pid: u32,
    started: u64,
    /// None on a kernel without such descriptors: then number and start time stand for it.
    pidfd: Option<OwnedFd>,
}

impl Peer {
    /// Who made this connection, as the kernel recorded it then.
    ///
    /// # Errors
    /// When the kernel doesn't say, the process is not visible from here, or it is gone already.
    pub fn of(socket: &impl AsFd) -> io::Result<Self> {
        let made_by = getsockopt(socket, sockopt::PeerCredentials)?;
        let pid = u32::try_from(made_by.pid()).ok().filter(|pid| *pid != 0);
        let pid = pid.ok_or_else(|| io::Error::other("the process is in another namespace"))?;
        let pidfd = match getsockopt(socket, sockopt::PeerPidfd) {
            Ok(pidfd) => Some(pidfd),
            // From Linux 6.5 on. Before, the number is what there is.
            Err(nix::errno::Errno::ENOPROTOOPT | nix::errno::Errno::EINVAL) => opened(pid)?,
            Err(error) => return Err(error.into()),
        };
        let peer = Self { uid: made_by.uid(), pid, started: proc::started(pid)?, pidfd };
        // Only now is the start time known to be this process's and not its number's next owner's.
        if peer.has_exited() { Err(io::ErrorKind::NotFound.into()) } else { Ok(peer) }
    }

    /// The user at the other end alone, also where its process can't be looked at.
    ///
    /// # Errors
    /// When the kernel doesn't say.
    pub fn uid_of(socket: &impl AsFd) -> io::Result<u32> {
        Ok(getsockopt(socket, sockopt::PeerCredentials)?.uid())
    }

    /// The user that it connected as.
    #[must_use]
    pub const fn uid(&self) -> u32 {
        self.uid
    }

    /// Its number.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// When it started, in clock ticks since boot.
    #[must_use]
    pub const fn started(&self) -> u64 {
        self.started
    }

    /// Whether both are the same process of the same user.
    #[must_use]
    pub fn is_same_process(&self, other: &Self) -> bool {
        let Self { uid, pid, started, pidfd: _ } = self;
        (uid, pid, started) == (&other.uid, &other.pid, &other.started)
    }

    /// Whether the process has ended.
    #[must_use]
    pub fn has_exited(&self) -> bool {
        match &self.pidfd {
            // It becomes readable when the process ends.
            Some(pidfd) => {
                let mut fds = [PollFd::new(pidfd, PollFlags::IN)];
                let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
                !matches!(poll(&mut fds, Some(&at_once)), Ok(0))
            }
            None => !proc::is_running(self.pid, self.started),
        }
    }
}

fn opened(pid: u32) -> io::Result<Option<OwnedFd>> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => Ok(Some(pidfd)),
        Err(rustix::io::Errno::NOSYS) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
