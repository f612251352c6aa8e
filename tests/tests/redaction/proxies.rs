//! Everything that a proxy with a password of its own can do to a call on its way to somebody else.

use crate::case::{Case, Recorded, Told, told};
use crate::host::{Door, Host};
use crate::secret::{CANARY, ORDERS, PROXY_PASSWORD, nowhere_below, nowhere_in};
use crate::site::{BEARER, Connection, home};
use memchr::memmem;
use proofport_tests::peer::{Act, Peer, Script, Scripts};

const NOT_IN: Told = told("LOGIN_FAILED", "stop_and_report", "not_attempted");
/// It carried the request, so that this is an answer to it.
const DISPATCHED: Told = told("REMOTE_REJECTED", "stop_and_report", "rejected");
const NO_WAY: Told = told("CONNECT_FAILED", "retry_after_delay", "not_attempted");
const UNKNOWN: Told = told("OUTCOME_UNKNOWN", "inspect_outcome", "unknown");
const REJECTED: Told = told("REMOTE_REJECTED", "repair_input", "rejected");
const WITHHELD: Told = told("RESULT_UNAVAILABLE", "stop_and_report", "committed");

/// Which way it goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By a tunnel to an origin over TLS.
    Tunnel,
    /// The proxy carries the request itself.
    Forward,
}

struct Row {
    what: &'static str,
    way: Way,
    says: Script,
    told: Told,
    recorded: Recorded,
}

fn row(
    what: &'static str,
    way: Way,
    says: Script,
    told: Told,
    because: &'static str,
    reached: &'static str,
) -> Row {
    Row { what, way, says, told, recorded: Recorded { because, reached } }
}

/// The pair as it is on the wire.
fn pair() -> String {
    data_encoding::BASE64.encode(format!("mailer:{PROXY_PASSWORD}").as_bytes())
}

/// An answer that says back what it was told, in its fields and its content.
fn reflecting(status: &str, body: &str) -> Script {
    let (pair, password) = (pair(), PROXY_PASSWORD);
    let fields = format!(
        "proxy-AUTHENTICATE: Basic realm=\"{password}\"\r\nx-seen: {pair}\r\nX-SEEN: {password}\r\n\
         proxy-status: \"{password}\"; error=http_request_denied; details=\"{pair} {ORDERS}\"\r\n"
    );
    Script::answer(format!("HTTP/1.1 {status}\r\n{fields}content-length: {}\r\n\r\n{body}", body.len()))
}

fn rows() -> Vec<Row> {
    use Way::{Forward, Tunnel};
    let prose = format!("{{\"said\":\"{ORDERS}\",\"who\":\"{}\",\"by\":\"{PROXY_PASSWORD}\"}}", pair());
    let half = format!("{{\"seen\":\"{}\"}}", &PROXY_PASSWORD[..PROXY_PASSWORD.len() / 2]);
    let reset = Script(vec![Act::ReadRequest, Act::Reset]);
    let no_http = Script::answer(format!("{PROXY_PASSWORD} {ORDERS}\r\n\r\n"));
    let too_much = Script(vec![
        Act::ReadRequest,
        Act::Send("HTTP/1.1 200 Connected\r\n\r\n".into()),
        Act::Send(format!("{PROXY_PASSWORD} {ORDERS}").into_bytes()),
        Act::Close,
    ]);
    vec![
        row(
            "the password is refused",
            Tunnel,
            reflecting("407 Who", &prose),
            NOT_IN,
            "407",
            "connection_started",
        ),
        row("no way from there", Tunnel, reflecting("502 Bad", &prose), NO_WAY, "502", "connection_started"),
        row("forbidden there", Tunnel, reflecting("403 No", &prose), NO_WAY, "403", "connection_started"),
        row(
            "it goes away",
            Tunnel,
            reset,
            NO_WAY,
            "connection_reset|connection_closed",
            "connection_started",
        ),
        row("no HTTP", Tunnel, no_http, NO_WAY, "protocol_error", "connection_started"),
        row(
            "more than it should say",
            Tunnel,
            too_much,
            NO_WAY,
            "tls_failed|protocol_error",
            "connection_started",
        ),
        row(
            "it refuses the password",
            Forward,
            reflecting("407 Who", &prose),
            DISPATCHED,
            "407",
            "result_stored",
        ),
        row("a 400", Forward, reflecting("400 No", &prose), REJECTED, "400", "result_stored"),
        row("a 502", Forward, reflecting("502 Bad", &prose), UNKNOWN, "502", "response_complete"),
        row("a success", Forward, reflecting("200 OK", &prose), WITHHELD, "withheld", "result_stored"),
        row("half of it", Forward, reflecting("200 OK", &half), WITHHELD, "withheld", "result_stored"),
    ]
}

#[test]
fn the_password_of_a_proxy_turns_up_nowhere() {
    let rows = rows();
    let proxies: Vec<Peer> = rows
        .iter()
        .map(|row| Peer::http(Scripts { each: Default::default(), default: Some(row.says.clone()) }))
        .collect();
    let mut connections = Vec::new();
    for (n, (row, proxy)) in rows.iter().zip(&proxies).enumerate() {
        // Nobody listens there: all that is met is the proxy.
        let (origin, resolve) = match row.way {
            Way::Tunnel => ("https://127.0.0.1:9", "host"),
            Way::Forward => ("http://127.0.0.1:9", "proxy"),
        };
        let plain = Connection::new(format!("c{n}"), "courier", origin.to_owned(), BEARER);
        connections.push(plain.through(&proxy.origin().to_string(), resolve));
    }
    let mut host = Host::start(home(&connections));
    for (n, (row, proxy)) in rows.into_iter().zip(&proxies).enumerate() {
        let what = format!("through a proxy, {}", row.what);
        let private = vec![format!(":{}", proxy.port()), "x-seen".to_owned(), "p-c".to_owned()];
        let secrets = &[PROXY_PASSWORD, CANARY];
        let case = Case { what, told: row.told, recorded: Some(row.recorded), secrets, private };
        for door in Door::ALL {
            let answer = host.call(door, &format!("c{n}.act"), r#"{"a":1}"#);
            case.check(&mut host, &answer);
        }
        let came = proxy.received().iter().any(|bytes| memmem::find(bytes, pair().as_bytes()).is_some());
        assert!(came, "{}: the proxy had it, so that there was something to look for", case.what);
    }
    let (home, said) = host.stop();
    for secret in [PROXY_PASSWORD, CANARY] {
        nowhere_in(secret, "what the host and its operators' commands said", &said);
        nowhere_below(secret, &home.path());
    }
}
