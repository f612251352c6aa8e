//! Debian's squid as a forward proxy: somebody else's implementation of CONNECT and of absolute-form
//! requests, which answers on its own when the origin behind it does not.
//!
//! It takes no listening socket from outside, so a free port is looked for and another one tried where
//! somebody was quicker; its own log tells whose it is. It stands below a shell that ends it
//! as soon as the test lets go of the shell's input, also by dying.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Where Debian and others put it; a user's search path often lacks the first.
const PROGRAMS: [&str; 3] = ["/usr/sbin/squid", "/usr/local/sbin/squid", "/usr/bin/squid"];

/// By which it names itself in `Via` and elsewhere.
pub const NAME: &str = "proofport-squid";

/// Runs its arguments, and ends them when its input ends. squid keeps nothing, and takes two seconds to
/// go when it is asked to. Only squid is left with the error output, so that its end is seen.
const KEEPER: &str = r#""$@" >/dev/null & exec 2>&-; read -r _; kill -KILL $!; wait"#;

/// Knows one login, which stands in the file that it is called with. squid depends on Perl.
const LOGIN: &str = r#"use strict; $| = 1;
open my $file, '<', $ARGV[0] or die; chomp(my @wanted = <$file>);
while (<STDIN>) {
  chomp; my @given = map { s/%([0-9A-Fa-f]{2})/chr hex $1/ger } split / /, $_, 2;
  print "@given" eq "@wanted" ? "OK\n" : "ERR\n";
}
"#;

/// What squid says when it has its port.
const BOUND: &str = "Accepting HTTP Socket connections at";

/// What it says when somebody else does.
const TAKEN: &str = "Address already in use";

/// The longest that squid may take to listen.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often another port is tried.
const MOST_PORTS: usize = 10;

/// What is special about a squid. The default carries everything to everywhere for everybody.
#[derive(Clone, Debug, Default)]
pub struct SquidOptions {
    /// The user and the password that it wants (Basic authentication), without line breaks.
    pub auth: Option<(String, String)>,
    /// Ports of origins that it answers 403 for.
    pub denied_ports: Vec<u16>,
    /// Names that it knows, beside localhost, for 127.0.0.1. It asks no name server.
    pub names: Vec<String>,
}

/// The name of the squid at this address among all that run.
fn service(address: SocketAddr) -> String {
    format!("proofport{}", address.port())
}

/// A running squid; it ends when dropped.
pub struct Squid {
    keeper: Child,
    address: SocketAddr,
    /// Holds its configuration.
    _folder: TempDir,
}

/// Why there is no squid.
#[derive(Debug)]
pub enum StartError {
    /// It is not installed.
    NotSetUp,
    /// It ended, or did not listen in time; what it said.
    Failed(String),
    /// Something failed on our side.
    Io(io::Error),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotSetUp => write!(f, "squid is not set up ({} is missing): run make setup", PROGRAMS[0]),
            Self::Failed(said) => write!(f, "squid did not start: {said}"),
            Self::Io(error) => write!(f, "squid could not be run: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Squid {
    /// A proxy on a free port of 127.0.0.1, ready for requests. It caches nothing.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(options: SquidOptions) -> Result<Self, StartError> {
        let program =
            PROGRAMS.iter().map(Path::new).find(|path| path.exists()).ok_or(StartError::NotSetUp)?;
        let mut said = String::new();
        for _ in 0..MOST_PORTS {
            let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
            said = match Self::start_at(program, address, &options)? {
                Ok(squid) => return Ok(squid),
                Err(said) if said.contains(TAKEN) => said,
                Err(said) => return Err(StartError::Failed(said)),
            };
        }
        Err(StartError::Failed(said))
    }

    /// Starts it at this address; otherwise what it said.
    fn start_at(
        program: &Path,
        address: SocketAddr,
        options: &SquidOptions,
    ) -> io::Result<Result<Self, String>> {
        let folder = tempfile::tempdir()?;
        // Started by root, it becomes a user of its own before it reads most of this.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755))?;
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text)?;
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).map(|()| path)
        };
        write("hosts", &format!("127.0.0.1 localhost {}\n", options.names.join(" ")))?;
        if let Some((user, password)) = &options.auth {
            write("login", &format!("{user}\n{password}\n"))?;
            write("login.pl", LOGIN)?;
        }
        let config = write("squid.conf", &configuration(folder.path(), address, options))?;
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .args([program, Path::new("-N"), Path::new("-d"), Path::new("1"), Path::new("-f"), &config])
            // Its shared memory is named by this, and two of one name get in each other's way.
            .args(["-n", &service(address)])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let log = keeper.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
        // From here on dropping it ends the process.
        let squid = Self { keeper, address, _folder: folder };
        Ok(has_bound(log).and_then(|()| squid.listens()).map(|()| squid))
    }

    /// Waits until it takes connections. It says that it does an instant before that is so; the port is
    /// its own by then, so nobody else answers there.
    fn listens(&self) -> Result<(), String> {
        let since = Instant::now();
        loop {
            match TcpStream::connect(self.address) {
                Ok(_) => return Ok(()),
                Err(error) if since.elapsed() > PATIENCE => return Err(error.to_string()),
                Err(_) => thread::yield_now(),
            }
        }
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it: its port refuses connections afterwards, and what was open is closed.
    pub fn stop(&mut self) {
        // The shell reads the end of its input, ends squid and then itself. Where it has ended, there is nothing to do.
        drop(self.keeper.stdin.take());
        self.keeper.wait().ok();
        // Ended as it is, it leaves its shared memory behind.
        let ours = format!("{}-", service(self.address));
        let left = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        for entry in left.filter(|entry| entry.file_name().to_string_lossy().starts_with(&ours)) {
            std::fs::remove_file(entry.path()).ok();
        }
    }
}

impl Drop for Squid {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Waits until the squid that writes this log has its port; otherwise what it wrote. Its log is read until it
/// ends, since it would wait for its reader.
fn has_bound(log: ChildStderr) -> Result<(), String> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || follow(log, &tell));
    match told.recv_timeout(PATIENCE) {
        Ok(bound) => bound,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            Err(format!("it has no port after {PATIENCE:?}"))
        }
    }
}

fn follow(log: ChildStderr, tell: &Sender<Result<(), String>>) {
    let mut said = String::new();
    for line in BufReader::new(log).lines() {
        let Ok(line) = line else { break };
        said.push_str(&line);
        said.push('\n');
        if line.contains(BOUND) {
            // Nobody listens any more after the first.
            let _ = tell.send(Ok(()));
            said.clear();
        }
    }
    let _ = tell.send(Err(said));
}

fn configuration(folder: &Path, address: SocketAddr, options: &SquidOptions) -> String {
    let folder = folder.display();
    // The name server is none: what is not among the names is not found.
    let mut text = format!(
        "http_port {address}\nvisible_hostname {NAME}\npid_filename none\ncoredump_dir {folder}\n\
         cache deny all\ncache_log /dev/null\ncache_store_log none\naccess_log none\nlogfile_rotate 0\n\
         netdb_filename none\npinger_enable off\nhosts_file {folder}/hosts\ndns_nameservers 127.0.0.1\n\
         dns_timeout 1 second\n"
    );
    for port in &options.denied_ports {
        writeln!(text, "acl denied port {port}\nhttp_access deny denied").ok();
    }
    if options.auth.is_some() {
        writeln!(
            text,
            "auth_param basic program /usr/bin/perl {folder}/login.pl {folder}/login\n\
             auth_param basic children 1 startup=1\nauth_param basic realm proofport\n\
             acl known proxy_auth REQUIRED\nhttp_access deny !known"
        )
        .ok();
    }
    text + "http_access allow all\n"
}
