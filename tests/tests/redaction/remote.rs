//! Everything that a remote over HTTP can do to a call, with the secret in each place that a request has
//! for one.

use crate::case::{Case, DONE, Recorded, Told, told};
use crate::host::{Door, Host};
use crate::secret::{CANARY, ORDERS, nowhere_below, nowhere_in};
use crate::site::{BASIC, BEARER, CHARGES, Connection, HEADER, Place, QUERY, home};
use memchr::memmem;
use proofport_tests::canary::shapes;
use proofport_tests::peer::{Act, Ca, Peer, Script, Scripts};
use std::net::TcpListener;
use tokio::net::TcpSocket;

/// What is at the other end.
enum Remote {
    /// Every connection gets this.
    Says(Script),
    /// Its certificate is of an authority that nobody knows.
    Stranger,
    /// It takes connections and never says a word of TLS.
    Mute,
    /// Nobody listens.
    Nobody,
    /// There is no such name.
    NoSuchName,
    /// It may not be dialled.
    NotAllowed,
}

use Remote::{Mute, NoSuchName, Nobody, NotAllowed, Says, Stranger};

/// One thing that goes wrong.
struct Row {
    what: String,
    remote: Remote,
    guest: &'static str,
    told: Told,
    recorded: Recorded,
}

const CHARGE: &str = r#"{"amount":1000,"currency":"eur"}"#;

const REJECTED: Told = told("REMOTE_REJECTED", "repair_input", "rejected");
const REFUSED: Told = told("AUTH_FAILED", "stop_and_report", "rejected");
const UNKNOWN: Told = told("OUTCOME_UNKNOWN", "inspect_outcome", "unknown");
const BROKEN_OFF: Told = told("REMOTE_RESULT_INCOMPLETE", "inspect_outcome", "unknown");
const WITHHELD: Told = told("RESULT_UNAVAILABLE", "stop_and_report", "committed");
const UNREADABLE: Told = told("RESULT_UNREADABLE", "inspect_outcome", "committed");
const NO_WAY: Told = told("CONNECT_FAILED", "retry_after_delay", "not_attempted");

const fn recorded(because: &'static str, reached: &'static str) -> Recorded {
    Recorded { because, reached }
}

fn row(what: &str, remote: Remote, told: Told, because: &'static str, reached: &'static str) -> Row {
    Row { what: what.to_owned(), remote, guest: "courier", told, recorded: recorded(because, reached) }
}

/// An answer of this status with these header fields, each with its CRLF.
fn answer(status: &str, fields: &str, body: &[u8]) -> Remote {
    let head = format!("HTTP/1.1 {status}\r\n{fields}content-length: {}\r\n\r\n", body.len());
    Says(Script::answer([head.as_bytes(), body].concat()))
}

/// What every remote may do, to whatever credential.
fn rows(place: Place) -> Vec<Row> {
    let wire = (place.on_wire)();
    let prose = format!("{{\"error\":{{\"message\":\"{ORDERS}\",\"key\":\"{CANARY}\"}}}}");
    let page = prose.as_bytes();
    let twice = format!("X-Seen: {wire}\r\nx-sEEN: {CANARY}\r\nset-cookie: session={CANARY}\r\n");
    let nested = format!("{{\"a\":[{{\"b\":{{\"headers\":{{\"X-KEY\":[\"{wire}\",\"{CANARY}\"]}}}}}}]}}");
    let location = format!("location: https://{CANARY}:x@elsewhere.example/?sig={CANARY}#{CANARY}\r\n");
    let cut = |bytes: usize| {
        let whole = format!("HTTP/1.1 200 OK\r\nx-seen: {CANARY}\r\ncontent-length: 900\r\n\r\n{prose}");
        Says(Script(vec![
            Act::ReadRequest,
            Act::Effect,
            Act::Send(whole.as_bytes()[..bytes].into()),
            Act::Close,
        ]))
    };
    let line = |line: String| Says(Script::answer(format!("{line}\r\n{twice}content-length: 0\r\n\r\n")));
    let over = "result_stored";
    let mut rows = vec![
        row("401", answer("401 Unauthorized", &twice, page), REJECTED, "401", over),
        row("403", answer("403 Forbidden", &twice, page), REJECTED, "403", over),
        row(
            "500",
            answer("500 Oops", &twice, page),
            told("REMOTE_FAILED", "stop_and_report", "committed"),
            "500",
            over,
        ),
        row("502", answer("502 Bad Gateway", &twice, page), UNKNOWN, "502", "response_complete"),
        row("a redirect", answer("302 Found", &location, page), UNKNOWN, "302", "response_complete"),
        row("nested JSON", answer("401 X", "", nested.as_bytes()), REJECTED, "401", over),
        row("a success with prose", answer("200 OK", &twice, page), DONE, "200", over),
        row("the reason of a status", line(format!("HTTP/1.1 401 {wire} {CANARY}")), REJECTED, "401", over),
        row(
            "no status line at all",
            line(format!("{CANARY} {ORDERS}")),
            BROKEN_OFF,
            "protocol_error",
            "response_started",
        ),
        row("a head cut off", cut(40), BROKEN_OFF, "truncated", "response_started"),
        row("a body cut off", cut(120), BROKEN_OFF, "truncated", "response_started"),
        row("silence", Says(Script::silent()), UNKNOWN, "deadline_passed", "request_sent"),
        row(
            "a reset",
            Says(Script(vec![Act::ReadRequest, Act::Effect, Act::Reset])),
            UNKNOWN,
            "connection_reset",
            "request_sent",
        ),
        row(
            "too much",
            answer("200 OK", "", CANARY.repeat(4000).as_bytes()),
            BROKEN_OFF,
            "too_large",
            "response_started",
        ),
        row(
            "a stranger",
            Stranger,
            told("PEER_UNVERIFIED", "stop_and_report", "not_attempted"),
            "certificate_invalid",
            "connection_started",
        ),
        row("no handshake", Mute, NO_WAY, "deadline_passed", "connection_started"),
        row("nobody", Nobody, NO_WAY, "connection_refused", "connection_started"),
        row("no such name", NoSuchName, NO_WAY, "name_not_found", "connection_started"),
        row(
            "not allowed",
            NotAllowed,
            told("EGRESS_DENIED", "stop_and_report", "not_attempted"),
            "address_denied",
            "connection_started",
        ),
    ];
    let reflected = |body: &str| answer("200 OK", "", format!("{{\"seen\":\"{body}\"}}").as_bytes());
    rows.push(row("a success that reflects it", reflected(CANARY), DONE, "200", over));
    let half = &CANARY[..CANARY.len() / 2];
    rows.push(row("a success that reflects half of it", reflected(half), WITHHELD, "withheld", over));
    // Where its body is withheld, nobody reads the answer, and its status alone decides.
    let cut = format!("{{\"error\":\"{half}\"}}");
    rows.push(row("a 401 with half of it", answer("401 X", "", cut.as_bytes()), REFUSED, "401", over));
    rows.extend(reflecting("502 Bad Gateway", UNKNOWN, "502", "response_complete"));
    rows
}

/// Answers of this status whose body has the secret in it, in every shape there is.
fn reflecting(
    status: &'static str,
    told: Told,
    because: &'static str,
    reached: &'static str,
) -> impl Iterator<Item = Row> {
    shapes(CANARY).into_iter().map(move |(shape, bytes)| {
        let body = [b"{\"error\":\"bad key ".as_slice(), &bytes, b"\"}"].concat();
        row(&format!("it reflects the secret: {shape}"), answer(status, "", &body), told, because, reached)
    })
}

/// What a connector has to read to make something of it.
fn read_rows() -> Vec<Row> {
    let prose = format!("{{\"id\":\"ch_1\",\"note\":\"{ORDERS}\",\"key\":\"{CANARY}");
    let page = prose.as_bytes();
    let once = "Retry-aFTER: 7\r\nx-seen: 1\r\n";
    // Of two the host believes neither.
    let twice = "Retry-After: 7\r\nRetry-aFTER: 7\r\n";
    let html = "content-type: text/html\r\n";
    let over = "result_stored";
    let later = told("RATE_LIMITED", "retry_after_delay", "rejected");
    let never = told("RATE_LIMITED", "stop_and_report", "rejected");
    let forbidden = told("REMOTE_REJECTED", "stop_and_report", "rejected");
    let mut rows = vec![
        row("malformed JSON", answer("201 Created", "", page), UNREADABLE, "201", over),
        row("JSON that is none of its own", answer("201 Created", "", b"[1]"), UNREADABLE, "201", over),
        row("a page for people", answer("201 Created", html, ORDERS.as_bytes()), UNREADABLE, "201", over),
        row("too often", answer("429 Slow", once, page), later, "429", over),
        row("too often, said twice", answer("429 Slow", twice, page), never, "429", over),
        row("forbidden", answer("403 Forbidden", once, page), forbidden, "403", over),
    ];
    rows.extend(reflecting("401 Unauthorized", REFUSED, "401", over));
    rows.into_iter().map(|row| Row { guest: CHARGES, ..row }).collect()
}

/// A remote that was started, and where it is.
struct Site {
    peer: Option<Peer>,
    origin: String,
    /// Ends with the site.
    _listener: Option<TcpListener>,
    /// A port that nobody listens at, and that nobody else gets meanwhile.
    _held: Option<TcpSocket>,
}

impl Site {
    fn of(remote: &Remote) -> Self {
        let loopback = || TcpListener::bind("127.0.0.1:0").unwrap();
        let at = |listener: &TcpListener| listener.local_addr().unwrap();
        match remote {
            Says(script) => {
                let peer = Peer::http(Scripts { each: Default::default(), default: Some(script.clone()) });
                Self { origin: peer.origin().to_string(), peer: Some(peer), _listener: None, _held: None }
            }
            Stranger => {
                // It would answer, were it believed.
                let scripts = Scripts { each: Default::default(), default: Some(Script::silent()) };
                let peer = Peer::https(scripts, &Ca::new());
                Self { origin: peer.origin().to_string(), peer: Some(peer), _listener: None, _held: None }
            }
            Mute => {
                let listener = loopback();
                let origin = format!("https://{}", at(&listener));
                Self { peer: None, origin, _listener: Some(listener), _held: None }
            }
            // An address that is written out is refused with the configuration.
            NotAllowed => {
                let listener = loopback();
                let origin = format!("https://localhost:{}", at(&listener).port());
                Self { peer: None, origin, _listener: Some(listener), _held: None }
            }
            Nobody => {
                let held = TcpSocket::new_v4().unwrap();
                held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
                let origin = format!("http://{}", held.local_addr().unwrap());
                Self { peer: None, origin, _listener: None, _held: Some(held) }
            }
            NoSuchName => {
                Self { peer: None, origin: "https://name.invalid".to_owned(), _listener: None, _held: None }
            }
        }
    }
}

fn check(place: Place, rows: Vec<Row>) {
    let sites: Vec<Site> = rows.iter().map(|row| Site::of(&row.remote)).collect();
    let mut connections = Vec::new();
    for (n, (row, site)) in rows.iter().zip(&sites).enumerate() {
        let mut connection = Connection::new(format!("c{n}"), row.guest, site.origin.clone(), place);
        if matches!(row.remote, NotAllowed) {
            connection.more = String::new();
        }
        connections.push(connection);
    }
    let mut host = Host::start(home(&connections));
    for (n, (row, site)) in rows.into_iter().zip(&sites).enumerate() {
        let host_and_port = site.origin.split_once("//").unwrap().1;
        let port = host_and_port.rsplit_once(':').map(|(_, port)| format!(":{port}"));
        let mut private = vec![host_and_port.to_owned(), "x-seen".to_owned(), "elsewhere".to_owned()];
        private.extend(port);
        let case = Case {
            what: format!("{}, {}", place.mode, row.what),
            told: row.told,
            recorded: Some(row.recorded),
            secrets: &[CANARY],
            private,
        };
        let (operation, input) =
            if row.guest == CHARGES { ("create_charge", CHARGE) } else { ("act", r#"{"a":1}"#) };
        for door in Door::ALL {
            let answer = host.call(door, &format!("c{n}.{operation}"), input);
            case.check(&mut host, &answer);
        }
        if let (Some(peer), Says(_)) = (&site.peer, &row.remote) {
            let wire = (place.on_wire)();
            let came = peer.received().iter().any(|bytes| memmem::find(bytes, wire.as_bytes()).is_some());
            assert!(came, "{}: the remote had it, so that there was something to look for", case.what);
        }
    }
    let (home, said) = host.stop();
    assert!(String::from_utf8_lossy(&said).contains("agents: unix:"), "what it says is kept");
    nowhere_in(CANARY, "what the host and its operators' commands said", &said);
    nowhere_below(CANARY, &home.path());
}

#[test]
fn a_bearer_token_turns_up_nowhere() {
    check(BEARER, rows(BEARER));
}

#[test]
fn a_password_turns_up_nowhere() {
    check(BASIC, rows(BASIC));
}

#[test]
fn a_secret_header_turns_up_nowhere() {
    check(HEADER, rows(HEADER));
}

#[test]
fn a_secret_parameter_turns_up_nowhere() {
    check(QUERY, rows(QUERY));
}

#[test]
fn what_a_connector_reads_turns_up_nowhere() {
    check(BEARER, read_rows());
}
