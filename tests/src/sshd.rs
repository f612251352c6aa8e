//! OpenSSH's own server, unprivileged on loopback, with keys of its own: whoever runs the tests logs in to
//! their own account, or root to one that exists for this server alone.

// A server that can't be started fails the test that wanted it.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

const SSHD: &str = "/usr/sbin/sshd";
const KEYGEN: &str = "/usr/bin/ssh-keygen";

/// How often another port is tried.
const MOST_PORTS: usize = 10;

/// A server, its keys and a folder for the test's files; all of it ends with this.
pub struct Sshd {
    folder: TempDir,
    place: Place,
    /// More lines of its configuration.
    more: String,
    port: u16,
    child: Option<Child>,
    /// Whether the account is [`ACCOUNT`].
    apart: bool,
    log: Arc<Mutex<Vec<String>>>,
}

/// Where a server listens.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its address.
    pub address: Ipv4Addr,
    /// A process whose network it is in; none: this one's.
    pub network: Option<u32>,
}

impl Place {
    /// Loopback.
    pub const HERE: Self = Self { address: Ipv4Addr::LOCALHOST, network: None };
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
        Self::at(Place::HERE, "")
    }

    /// The same with an account that is not root's: to a command of root's, sshd passes no signal on. Root
    /// gets a server that sees another list of accounts; anybody else is such an account.
    ///
    /// # Panics
    /// When there is no OpenSSH, or it does not start.
    #[must_use]
    pub fn start_apart() -> Self {
        Self::start_in(Place::HERE, "", rustix::process::getuid().is_root())
    }

    /// The same somewhere, with more lines of configuration. Of two lines about one thing, sshd takes
    /// these (sshd_config(5)).
    ///
    /// # Panics
    /// When there is no OpenSSH, or it does not start.
    #[must_use]
    pub fn at(place: Place, more: &str) -> Self {
        Self::start_in(place, more, false)
    }

    fn start_in(place: Place, more: &str, apart: bool) -> Self {
        assert!(Path::new(SSHD).exists(), "{SSHD} is missing: `make setup` installs openssh-server");
        if rustix::process::getuid().is_root() {
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let (more, log) = (more.to_owned(), Arc::default());
        let mut sshd = Self { folder, place, more, port: 0, child: None, apart, log };
        sshd.key("host", "");
        let admitted = sshd.key("user", "");
        sshd.admit(&admitted);
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

    /// Admits what these lines of `authorized_keys` say, from the next login on.
    ///
    /// # Panics
    /// When they can't be written.
    pub fn admit(&self, lines: &str) {
        fs::write(self.path("authorized"), lines).unwrap();
    }

    /// Starts it again with these lines of configuration in place of those that it had.
    ///
    /// # Panics
    /// When it does not start.
    pub fn reconfigure(&mut self, more: &str) {
        self.kill();
        more.clone_into(&mut self.more);
        self.restart();
    }

    /// Starts it again with another host key.
    ///
    /// # Panics
    /// When it does not start.
    pub fn change_host_key(&mut self) {
        self.kill();
        for file in ["host", "host.pub"] {
            fs::remove_file(self.path(file)).unwrap();
        }
        self.key("host", "");
        self.restart();
    }

    /// How many lines of its log have this in them. The log of what has just happened may be on its way.
    ///
    /// # Panics
    /// When a reader of the log panicked.
    #[must_use]
    pub fn logged(&self, part: &str) -> usize {
        self.log.lock().unwrap().iter().filter(|line| line.contains(part)).count()
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

    /// Whether it serves any connection.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.child.as_ref().is_some_and(|child| !children(child.id()).is_empty())
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
        format!("{}@{}", String::from_utf8(id.stdout).unwrap().trim(), self.socket())
    }

    /// Where a secret for it may go.
    #[must_use]
    pub fn destination(&self) -> String {
        format!("ssh://{}", self.socket())
    }

    /// Address and port.
    #[must_use]
    pub fn socket(&self) -> String {
        format!("{}:{}", self.place.address, self.port)
    }

    /// Its address.
    #[must_use]
    pub const fn address(&self) -> Ipv4Addr {
        self.place.address
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
            self.more.clone(),
            format!("Port {}", self.port),
            format!("ListenAddress {}", self.place.address),
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
        let mut command = match self.place.network {
            // Mounts of its own, so that nobody else ever sees the account.
            None if self.apart => {
                let mut apart = Command::new("/usr/bin/unshare");
                let script = "mount --bind \"$1\" /etc/passwd && shift && exec \"$@\"";
                apart.args(["--mount", "sh", "-c", script, "sh", &at("passwd"), SSHD]);
                apart
            }
            None => Command::new(SSHD),
            Some(process) => {
                let mut enter = Command::new("/usr/bin/nsenter");
                enter.args(["--net", "--target", &process.to_string(), "--", SSHD]);
                enter
            }
        };
        let mut child = command
            .args(["-D", "-e", "-f", &at("config")])
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
            let kept = Arc::clone(&self.log);
            std::thread::spawn(move || log.for_each(|line| kept.lock().unwrap().push(line)));
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
        found.extend(children(pid).into_iter().flat_map(below));
    }
    found
}

fn children(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children.split_ascii_whitespace().filter_map(|child| child.parse().ok()).collect()
}
