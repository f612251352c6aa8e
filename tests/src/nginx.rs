//! Debian's nginx as a reverse proxy: somebody else's intermediary, which answers on its own when the
//! peer behind it does not.
//!
//! Its listening sockets are bound here and handed over, as nginx hands them to its own successor, so
//! that no port is looked for twice and connections can be made before it runs. It stands below a shell
//! that ends it as soon as the test lets go of the shell's input, also by dying.

use crate::peer::Ca;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Where Debian and others put it; a user's search path often lacks the first.
const PROGRAMS: [&str; 3] = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];

/// Runs the rest of its arguments with the sockets that it has as output and error output, gives up its
/// own hold on them, and ends the program when its input ends. The program gets them as 3 and 4, since
/// nginx puts its log in the place of 2.
const KEEPER: &str =
    r#"NGINX='3;4;' "$@" 3>&1 4>&2 >/dev/null 2>&1 & exec >&- 2>&-; read -r _; kill -TERM $!; wait"#;

/// A path that [`Nginx::start`] asks to see whether it runs.
const READY: &str = "/nginx-is-ready";

/// The longest that nginx may take for an answer of its own.
const PATIENCE: Duration = Duration::from_secs(20);

/// When a request that failed upstream is tried at the route's next upstream (`proxy_next_upstream`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retries {
    /// Never.
    Off,
    /// nginx's own default: on errors and timeouts, but no POST, LOCK or PATCH that was already sent.
    Default,
    /// On errors, timeouts and 503, whatever the method.
    Always,
}

/// What nginx does below a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Proxies. The first upstream is asked; the others only when it is tried again.
    Proxy {
        /// Where the requests go.
        upstreams: Vec<SocketAddr>,
        /// How long the upstream may be silent (`proxy_read_timeout`).
        read_timeout: Duration,
        /// Whether there is another try.
        retries: Retries,
    },
    /// Answers with this status itself.
    Status(u16),
}

impl Answer {
    /// Proxies to one upstream, with nginx's own timeout and no other try.
    #[must_use]
    pub fn proxy(upstream: SocketAddr) -> Self {
        Self::Proxy {
            upstreams: vec![upstream],
            read_timeout: Duration::from_secs(60),
            retries: Retries::Off,
        }
    }

    /// Proxies to an upstream that may be silent for this long, in whole milliseconds.
    #[must_use]
    pub fn impatient(upstream: SocketAddr, read_timeout: Duration) -> Self {
        Self::Proxy { upstreams: vec![upstream], read_timeout, retries: Retries::Off }
    }

    /// Proxies to the first upstream, and by this rule to the others.
    #[must_use]
    pub fn proxy_any(upstreams: impl Into<Vec<SocketAddr>>, retries: Retries) -> Self {
        Self::Proxy { upstreams: upstreams.into(), read_timeout: Duration::from_secs(60), retries }
    }
}

/// How its HTTPS listener does TLS.
#[derive(Clone, Copy)]
pub struct Tls<'a> {
    /// Who issues its certificate, for 127.0.0.1 and localhost.
    pub ca: &'a Ca,
    /// Whether it offers HTTP/2.
    pub http2: bool,
}

/// A running nginx; it ends when dropped.
pub struct Nginx {
    keeper: Child,
    http: SocketAddr,
    https: SocketAddr,
    folder: TempDir,
}

/// Why there is no nginx.
#[derive(Debug)]
pub enum StartError {
    /// It is not installed.
    NotSetUp,
    /// It ended at once; what it wrote to its log.
    Failed(String),
    /// Something failed on our side.
    Io(io::Error),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotSetUp => write!(f, "nginx is not set up ({} is missing): run make setup", PROGRAMS[0]),
            Self::Failed(said) => write!(f, "nginx did not start: {said}"),
            Self::Io(error) => write!(f, "nginx could not be run: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Nginx {
    /// A proxy on free ports of 127.0.0.1 that does this below these paths, ready for requests. Without
    /// `tls`, its HTTPS port closes what connects to it.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(routes: &[(&str, Answer)], tls: Option<Tls<'_>>) -> Result<Self, StartError> {
        let program =
            PROGRAMS.iter().map(Path::new).find(|path| path.exists()).ok_or(StartError::NotSetUp)?;
        let folder = tempfile::tempdir()?;
        let (http, https) = (listen()?, listen()?);
        let addresses = (http.local_addr()?, https.local_addr()?);
        let certificate = match tls {
            None => String::new(),
            Some(tls) => write_certificate(folder.path(), tls)?,
        };
        let config = folder.path().join("nginx.conf");
        std::fs::write(&config, configuration(routes, addresses, &certificate))?;
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .args([program, Path::new("-p"), folder.path(), Path::new("-c"), &config, Path::new("-e")])
            .arg(errors(folder.path()))
            .stdin(Stdio::piped())
            .stdout(OwnedFd::from(http))
            .stderr(OwnedFd::from(https))
            .spawn()?;
        // From here on dropping it ends the process.
        let nginx = Self { keeper, http: addresses.0, https: addresses.1, folder };
        match ask(nginx.http) {
            Ok(answer) if answer.starts_with("HTTP/1.1 204 ") => Ok(nginx),
            Ok(answer) => Err(StartError::Failed(format!("{answer}{}", nginx.errors()))),
            Err(error) => Err(StartError::Failed(format!("{error}: {}", nginx.errors()))),
        }
    }

    /// Where it listens for HTTP/1.1 over plain TCP.
    #[must_use]
    pub const fn http(&self) -> SocketAddr {
        self.http
    }

    /// Where it listens for TLS.
    #[must_use]
    pub const fn https(&self) -> SocketAddr {
        self.https
    }

    /// What it wrote to its error log until here.
    #[must_use]
    pub fn errors(&self) -> String {
        std::fs::read_to_string(errors(self.folder.path())).unwrap_or_default()
    }

    /// Ends it: its ports refuse connections afterwards.
    pub fn stop(&mut self) {
        // The shell reads the end of its input, ends nginx and then itself. Where it has ended, there is nothing to do.
        drop(self.keeper.stdin.take());
        self.keeper.wait().ok();
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.stop();
    }
}

fn listen() -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
}

fn errors(folder: &Path) -> PathBuf {
    folder.join("error.log")
}

/// Asks whether it runs. The socket listens already, so the connection waits for nginx and nobody for
/// the connection; if nginx ends instead, it is reset.
fn ask(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET {READY} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Writes certificate and key; what the configuration says about them.
fn write_certificate(folder: &Path, tls: Tls<'_>) -> io::Result<String> {
    let identity = tls.ca.server_identity(&["127.0.0.1", "localhost"]);
    let (chain, key) = (folder.join("chain.pem"), folder.join("key.pem"));
    std::fs::write(&chain, identity.chain)?;
    std::fs::write(&key, identity.key)?;
    let http2 = if tls.http2 { " http2" } else { "" };
    Ok(format!(
        " ssl{http2};\n    ssl_certificate {};\n    ssl_certificate_key {};\n",
        chain.display(),
        key.display()
    ))
}

/// The configuration. `certificate` continues the `listen` of the HTTPS port; without one, that is a
/// server of its own that closes.
fn configuration(
    routes: &[(&str, Answer)],
    addresses: (SocketAddr, SocketAddr),
    certificate: &str,
) -> String {
    let (http, https) = addresses;
    // The user only matters to root, whose folder its workers could not write otherwise.
    let mut text = String::from(
        "daemon off;\nuser root root;\nworker_processes 1;\npid nginx.pid;\nevents {}\nhttp {\n  access_log off;\n  \
         server_tokens off;\n",
    );
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        writeln!(text, "  {kind}_temp_path {kind};").ok();
    }
    let mut locations = format!("    location = {READY} {{ return 204; }}\n");
    for (index, (path, answer)) in routes.iter().enumerate() {
        match answer {
            Answer::Status(status) => writeln!(locations, "    location {path} {{ return {status}; }}").ok(),
            Answer::Proxy { upstreams, read_timeout, retries } => {
                writeln!(text, "  upstream u{index} {{").ok();
                for (place, upstream) in upstreams.iter().enumerate() {
                    let backup = if place == 0 { "" } else { " backup" };
                    // No upstream is ever left out because it failed before.
                    writeln!(text, "    server {upstream} max_fails=0{backup};").ok();
                }
                text.push_str("  }\n");
                let retries = match retries {
                    Retries::Off => "off",
                    Retries::Default => "error timeout",
                    Retries::Always => "error timeout http_503 non_idempotent",
                };
                let timeout = read_timeout.as_millis();
                writeln!(
                    locations,
                    "    location {path} {{\n      proxy_pass http://u{index};\n      \
                     proxy_http_version 1.1;\n      proxy_set_header Host $http_host;\n      \
                     proxy_read_timeout {timeout}ms;\n      proxy_next_upstream {retries};\n    }}"
                )
                .ok()
            }
        };
    }
    if certificate.is_empty() {
        write!(text, "  server {{ listen {https}; return 444; }}\n  server {{\n    listen {http};\n").ok();
    } else {
        write!(text, "  server {{\n    listen {http};\n    listen {https}{certificate}").ok();
    }
    text + &locations + "  }\n}\n"
}
