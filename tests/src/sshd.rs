//! OpenSSH's own server, unprivileged on loopback, with keys of its own: whoever runs the tests logs in to
//! their own account, or root to one that exists for this server alone.

// A server that can't be started fails the test that wanted it.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const SSHD: &str = "/usr/sbin/sshd";
const KEYGEN: &str = "/usr/bin/ssh-keygen";

/// How often another port is tried.
const MOST_PORTS: usize = 10;

/// A server, its keys and a folder for the test's files; all of it ends with this.
pub struct Sshd {
    folder: TempDir,
    port: u16,
    child: Option<Child>,
    /// Whether the account is [`ACCOUNT`].
    apart: bool,
}

/// An account that only this server knows.
const ACCOUNT: &str = "proofport";

/// Its number.
const ACCOUNT_ID: u32 = 27_182;

impl Sshd {
    /// A server that admits the key [`user_key`](Self::user_key).
    ///
    /// # Panics
    /// When there is no OpenSSH, or it does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::start_in(false)
    }

    /// The same with an account that is not root's: to a command of root's, sshd passes no signal on. Root
    /// gets a server that sees another list of accounts; anybody else is such an account.
    ///
    /// # Panics
    /// When there is no OpenSSH, or it does not start.
    #[must_use]
    pub fn start_apart() -> Self {
        Self::start_in(rustix::process::getuid().is_root())
    }

    fn start_in(apart: bool) -> Self {
        assert!(Path::new(SSHD).exists(), "{SSHD} is missing: `make setup` installs openssh-server");
        if rustix::process::getuid().is_root() {
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let mut sshd = Self { folder: tempfile::tempdir().unwrap(), port: 0, child: None, apart };
        sshd.key("host", "");
        let admitted = sshd.key("user", "");
        fs::write(sshd.path("authorized"), admitted).unwrap();
        if apart {
            sshd.make_account();
        }
        for _ in 0..MOST_PORTS {
            sshd.port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            if sshd.listen() {
                return sshd;
            }
        }
        panic!("no free port for sshd");
    }

    /// Starts it again where it was, after [`kill`](Self::kill).
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&mut self) {
        assert!((0..MOST_PORTS).any(|_| self.listen()), "sshd did not come back");
    }

    /// Kills the server and whoever serves its connections, and nothing that these run.
    pub fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        for pid in below(child.id()) {
            let _ = Command::new("/bin/kill").args(["-KILL", &pid.to_string()]).status();
        }
        let _ = child.wait();
    }

    /// A file of the test's.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a file or folder the account's.
    ///
    /// # Panics
    /// When it can't be.
    pub fn give(&self, path: &Path) {
        if self.apart {
            std::os::unix::fs::chown(path, Some(ACCOUNT_ID), Some(ACCOUNT_ID)).unwrap();
        }
    }

    /// Where it listens.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The account, as a connection spells it.
    ///
    /// # Panics
    /// When this user has no name.
    #[must_use]
    pub fn account(&self) -> String {
        if self.apart {
            return format!("{ACCOUNT}@127.0.0.1:{}", self.port);
        }
        let id = Command::new("/usr/bin/id").arg("-un").output().unwrap();
        format!("{}@127.0.0.1:{}", String::from_utf8(id.stdout).unwrap().trim(), self.port)
    }

    /// Where a secret for it may go.
    #[must_use]
    pub fn destination(&self) -> String {
        format!("ssh://127.0.0.1:{}", self.port)
    }

    /// The line of its host key.
    ///
    /// # Panics
    /// When it can't be read.
    #[must_use]
    pub fn host_key(&self) -> String {
        fs::read_to_string(self.path("host.pub")).unwrap().trim().to_owned()
    }

    /// The private key that it admits.
    ///
    /// # Panics
    /// When it can't be read.
    #[must_use]
    pub fn user_key(&self) -> String {
        fs::read_to_string(self.path("user")).unwrap()
    }

    /// Makes a key pair; gives the public line. The private one is in the file of that name.
    ///
    /// # Panics
    /// When `ssh-keygen` fails.
    pub fn key(&self, name: &str, passphrase: &str) -> String {
        self.keygen(&["-q", "-t", "ed25519", "-N", passphrase, "-C", "test", "-f", name]);
        fs::read_to_string(self.path(&format!("{name}.pub"))).unwrap()
    }

    /// Runs `ssh-keygen` among the test's files.
    ///
    /// # Panics
    /// When it fails.
    pub fn keygen(&self, arguments: &[&str]) {
        let out = Command::new(KEYGEN).current_dir(self.folder.path()).args(arguments).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }

    /// The account's home is the test's folder, and everything in it that is not the server's is its own.
    fn make_account(&self) {
        let home = self.path("");
        let entry = format!("{ACCOUNT}:x:{ACCOUNT_ID}:{ACCOUNT_ID}::{}:/bin/sh\n", home.display());
        fs::write(self.path("passwd"), fs::read_to_string("/etc/passwd").unwrap() + &entry).unwrap();
        std::os::unix::fs::chown(&home, Some(ACCOUNT_ID), Some(ACCOUNT_ID)).unwrap();
    }

    fn listen(&mut self) -> bool {
        let at = |file: &str| self.path(file).display().to_string();
        let lines = [
            format!("Port {}", self.port),
            "ListenAddress 127.0.0.1".to_owned(),
            format!("HostKey {}", at("host")),
            format!("AuthorizedKeysFile {}", at("authorized")),
            "PidFile none".to_owned(),
            "UsePAM no".to_owned(),
            "StrictModes no".to_owned(),
            "PermitRootLogin yes".to_owned(),
            "PasswordAuthentication no".to_owned(),
            "KbdInteractiveAuthentication no".to_owned(),
            "MaxStartups 100".to_owned(),
            "LogLevel INFO".to_owned(),
        ];
        fs::write(self.path("config"), lines.join("\n") + "\n").unwrap();
        let mut command = Command::new(if self.apart { "/usr/bin/unshare" } else { SSHD });
        if self.apart {
            // Mounts of its own, so that nobody else ever sees the account.
            let script = "mount --bind \"$1\" /etc/passwd && exec \"$2\" -D -e -f \"$3\"";
            command.args(["--mount", "sh", "-c", script, "sh", &at("passwd"), SSHD]).arg(at("config"));
        } else {
            command.args(["-D", "-e", "-f", &at("config")]);
        }
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut said = Vec::new();
        let listens = log.by_ref().any(|line| {
            let listens = line.starts_with("Server listening");
            said.push(line);
            listens
        });
        if listens {
            std::thread::spawn(move || log.for_each(drop));
            self.child = Some(child);
        } else {
            let _ = child.wait();
            assert!(said.iter().any(|line| line.contains("Address already in use")), "{said:?}");
        }
        listens
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.kill();
    }
}

/// This process and those below it that are sshd, too.
fn below(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    if name.trim_end().starts_with("sshd") {
        found.push(pid);
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let children = children.split_ascii_whitespace().filter_map(|child| child.parse().ok());
        found.extend(children.flat_map(below));
    }
    found
}
