//! OpenSSH's own server, started on loopback with keys of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const SSHD: &str = "/usr/sbin/sshd";
const KEYGEN: &str = "/usr/bin/ssh-keygen";

/// Files of one test: keys, certificates, the server's configuration.
pub(crate) struct Workshop(pub(crate) TempDir);

impl Workshop {
    pub(crate) fn new() -> Self {
        assert!(Path::new(SSHD).exists(), "{SSHD} is missing: install openssh-server");
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Runs `ssh-keygen` with these arguments in the workshop.
    pub(crate) fn keygen(&self, arguments: &[&str]) {
        let out = Command::new(KEYGEN).current_dir(self.0.path()).args(arguments).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }

    /// A key pair of this kind; gives the public line.
    pub(crate) fn key(&self, name: &str, kind: &[&str], passphrase: &str) -> String {
        let mut arguments = vec!["-q", "-N", passphrase, "-C", "test", "-f", name];
        arguments.extend_from_slice(kind);
        self.keygen(&arguments);
        self.read(&format!("{name}.pub"))
    }
}

/// A running server; stopped when dropped.
pub(crate) struct Sshd {
    pub(crate) port: u16,
    pub(crate) host_key: String,
    child: Child,
}

impl Sshd {
    /// Starts a server that admits these lines of `authorized_keys`, with more lines of configuration.
    pub(crate) fn start(shop: &Workshop, name: &str, authorized: &str, more: &str) -> Self {
        shop.key(&format!("{name}_host"), &["-t", "ed25519"], "");
        Self::with_host_key(shop, name, authorized, more)
    }

    /// The same, where the host's key is there already.
    pub(crate) fn with_host_key(shop: &Workshop, name: &str, authorized: &str, more: &str) -> Self {
        if rustix::process::getuid().is_root() {
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let host = format!("{name}_host");
        let host_key = shop.read(&format!("{host}.pub"));
        shop.write(&format!("{name}_authorized"), authorized);
        let at = |file: String| shop.path(&file).display().to_string();
        for _ in 0..10 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let lines = [
                format!("Port {port}"),
                "ListenAddress 127.0.0.1".to_owned(),
                format!("HostKey {}", at(host.clone())),
                format!("AuthorizedKeysFile {}", at(format!("{name}_authorized"))),
                "PidFile none".to_owned(),
                "UsePAM no".to_owned(),
                "StrictModes no".to_owned(),
                "PermitRootLogin yes".to_owned(),
                "PasswordAuthentication no".to_owned(),
                "KbdInteractiveAuthentication no".to_owned(),
                "AcceptEnv PROOF_*".to_owned(),
                "MaxStartups 100".to_owned(),
                "LogLevel INFO".to_owned(),
                more.to_owned(),
            ];
            let config = format!("{name}_config");
            shop.write(&config, &(lines.join("\n") + "\n"));
            let mut child = Command::new(SSHD)
                .args(["-D", "-e", "-f", &at(config)])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
            let mut said = Vec::new();
            let listens = log.by_ref().any(|line| {
                let listens = line.starts_with("Server listening");
                said.push(line);
                listens
            });
            if listens {
                std::thread::spawn(move || log.for_each(drop));
                return Self { port, host_key, child };
            }
            let _ = child.wait();
            assert!(said.iter().any(|line| line.contains("Address already in use")), "{said:?}");
        }
        panic!("no free port");
    }

    /// Kills the server and whoever serves its connections, and not what these run.
    pub(crate) fn kill(&self) {
        for pid in sshds_below(self.child.id()) {
            let _ = Command::new("/bin/kill").args(["-KILL", &pid.to_string()]).status();
        }
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// This process and those below it that are sshd, too.
fn sshds_below(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    if name.trim_end() == "sshd" {
        found.push(pid);
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let below = children.split_ascii_whitespace().filter_map(|child| child.parse().ok());
        found.extend(below.flat_map(sshds_below));
    }
    found
}
