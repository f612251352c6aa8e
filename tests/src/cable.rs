//! A network of a test's own: its process at one end of a cable, a server at the other, and nothing else.
//!
//! The test runs in a process that has a network namespace to itself, so that it changes nothing of the
//! machine's network, and what it made ends with it. Root may have that; others where they may have user
//! namespaces.

// What can't be set up fails the test that wanted it.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::sshd::Place;
use std::io::{BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Set for the process that has a network of its own.
const INSIDE: &str = "PROOFPORT_TEST_OWN_NETWORK";

/// The address at the far end.
const FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

/// Whether this process has a network to itself. If not, it has run the test of this name, which must be
/// the calling one, in a process that has.
///
/// # Panics
/// When that test failed, or such a process can't be had.
#[must_use]
pub fn is_alone(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut unshare = Command::new("/usr/bin/unshare");
    unshare.arg("--net");
    if !rustix::process::getuid().is_root() {
        unshare.args(["--user", "--map-current-user", "--keep-caps"]);
    }
    unshare.arg("--").arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]);
    let output = unshare.env(INSIDE, "1").output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "in its own network: {out}\n{err}");
    false
}

/// The cable, and a process that keeps the network at its far end.
pub struct Cable {
    keeper: Child,
}

impl Cable {
    /// Lays it. Only for a process that [`is_alone`].
    ///
    /// # Panics
    /// When that is not possible.
    #[must_use]
    pub fn lay() -> Self {
        assert!(std::env::var_os(INSIDE).is_some(), "this would be the machine's own network");
        // It ends when this process does: its input is then at its end.
        let mut keeper = Command::new("/usr/bin/unshare")
            .args(["--net", "--", "/bin/sh", "-c", "echo there; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut word = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut word).unwrap();
        assert_eq!(word, "there\n");
        let cable = Self { keeper };
        let far_end = cable.keeper.id().to_string();
        ip(&["link", "set", "lo", "up"]);
        ip(&["link", "add", "near", "type", "veth", "peer", "name", "far", "netns", &far_end]);
        ip(&["address", "add", "10.77.0.1/24", "dev", "near"]);
        ip(&["link", "set", "near", "up"]);
        cable.far(&["address", "add", &format!("{FAR}/24"), "dev", "far"]);
        cable.mend();
        cable
    }

    /// The far end.
    #[must_use]
    pub fn far_end(&self) -> Place {
        Place { address: FAR, network: Some(self.keeper.id()) }
    }

    /// Nothing gets through any more, and neither end is told.
    ///
    /// # Panics
    /// When that is not possible.
    pub fn cut(&self) {
        self.far(&["link", "set", "far", "down"]);
    }

    /// Everything gets through again.
    ///
    /// # Panics
    /// When that is not possible.
    pub fn mend(&self) {
        self.far(&["link", "set", "far", "up"]);
    }

    fn far(&self, arguments: &[&str]) {
        let target = self.keeper.id().to_string();
        let mut enter = Command::new("/usr/bin/nsenter");
        run(enter.args(["--net", "--target", &target, "--", program()]).args(arguments));
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

fn program() -> &'static str {
    let places = ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"];
    let found = places.into_iter().find(|place| Path::new(place).exists());
    found.unwrap_or_else(|| panic!("ip is missing: `make setup` installs iproute2"))
}

fn ip(arguments: &[&str]) {
    run(Command::new(program()).args(arguments));
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
