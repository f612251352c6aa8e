mod approvals;
mod failures;
mod fields;
mod network;
mod retries;
mod serve;
mod sessions;
mod ssh;
mod telemetry;

use super::*;
use proofport_core::contract::InjectionMode;

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn parse(text: &str) -> Result<Config, Vec<Problem>> {
    Config::parse(&text.replace("DIGEST", DIGEST), Path::new("/home/x/proofport.toml"))
}

/// Each expected line is `line:column field: what`.
fn check(text: &str, expected: &[&str]) {
    let problems = parse(text).err().unwrap_or_default();
    let got: Vec<String> = problems
        .iter()
        .map(|problem| {
            let place = problem.place.expect("a place");
            assert!(!problem.todo.is_empty());
            format!("{}:{} {}: {}", place.line, place.column, problem.field, problem.what)
        })
        .collect();
    assert_eq!(got, expected, "\n{text}\n{problems:#?}");
}

/// A connection that is right but for these lines, which begin at line 4.
fn check_in_connection(lines: &str, expected: &[&str]) {
    let text = format!(
        "[connections.shop]\nconnector = \"DIGEST\"\norigins = [\"https://api.example.com\"]\n{lines}"
    );
    check(&text, expected);
}

/// A credential with these lines, which begin at line 5.
fn check_credential(lines: &str, expected: &[&str]) {
    check_in_connection(&format!("[connections.shop.credentials.api_key]\n{lines}"), expected);
}

const WHOLE: &str = r#"
[connections.shop]
connector = "DIGEST"
origins = ["https://api.example.com", "http://127.0.0.1:8080"]
addresses = ["127.0.0.1", "10.1.0.0/16", "fd00::/8"]
ca_file = "ca.pem"
repeat = "none"
[connections.shop.config]
account = "acct_1"
level = 0x10
ratio = 0.5
on = true
list = [1, { a = 2 }]
[connections.shop.credentials.api_key]
secret = "shop-key"
mode = "http_header"
header = "X-Api-Key"
[connections.shop.credentials.other]
secret = "other"
mode = "http_basic"
user = ""
[connections.shop.limits]
response_bytes = 1_000
deadline_seconds = 5

[connections.plain]
connector = "DIGEST"
origins = ["https://[2001:db8::1]"]
credentials = { q = { secret = "s", mode = "http_query", query = "api_key" }, b = { secret = "s", mode = "http_bearer" } }
"#;

#[test]
fn a_whole_file_is_read() {
    let config = parse(WHOLE).unwrap();
    assert_eq!(config.digest, Digest::of_bytes(WHOLE.replace("DIGEST", DIGEST).as_bytes()));
    assert_eq!(config.connections.len(), 2);
    let name = |text: &str| Name::parse(text).unwrap();
    let shop = &config.connections[&name("shop")];
    assert_eq!(shop.place, Place { line: 2, column: 14 });
    assert_eq!(
        shop.connector,
        At { value: Digest::parse(DIGEST).unwrap(), place: Place { line: 3, column: 13 } }
    );
    let origins: Vec<String> = shop.origins().iter().map(ToString::to_string).collect();
    assert_eq!(origins, ["https://api.example.com", "http://127.0.0.1:8080"]);
    assert_eq!(shop.origins[1].place, Place { line: 4, column: 39 });
    let addresses: Vec<String> = shop.addresses.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["127.0.0.1/32", "10.1.0.0/16", "fd00::/8"]);
    assert_eq!(shop.ca_file.as_ref().unwrap().value, Path::new("/home/x/ca.pem"));
    assert!(shop.repeat_none);
    assert_eq!(
        shop.settings.canonical(),
        r#"{"account":"acct_1","level":16,"list":[1,{"a":2}],"on":true,"ratio":0.5}"#
    );
    assert_eq!(shop.settings.place("/list/1/a").line, 13);
    assert_eq!(shop.settings.place("/absent"), Place { line: 8, column: 19 });
    let key = &shop.credentials[&name("api_key")];
    assert_eq!((key.secret.value.as_str(), key.secret.place.line), ("shop-key", 15));
    assert_eq!(key.placement.value, Placement::HttpHeader { header: "x-api-key".to_owned() });
    let other = &shop.credentials[&name("other")];
    assert_eq!(other.placement.value, Placement::HttpBasic { user: String::new() });
    assert_eq!(shop.limits.response_bytes, 1000);
    assert_eq!(shop.limits.deadline().as_secs(), 5);
    assert_eq!(shop.limits.setup_attempts, Limits::default().setup_attempts);
    let plain = &config.connections[&name("plain")];
    assert_eq!(plain.credentials[&name("q")].placement.value.mode(), InjectionMode::HttpQuery);
    assert_eq!(plain.credentials[&name("b")].placement.value.mode(), InjectionMode::HttpBearer);
    assert_eq!((plain.repeat_none, plain.limits), (false, Limits::default()));
    assert_eq!(plain.settings.canonical(), "{}");
}

#[test]
fn many_mistakes_are_told_at_once() {
    check(
        r#"
shops = 1
[connections.shop]
conector = "DIGEST"
origins = ["https://api.example.com/", 7, "https://ok.example"]
addresses = ["10.0.0.1/8"]
[connections.shop.credentials.api_key]
secret = "Sk Live"
mode = "bearer"
[connections.shop.limits]
deadline_seconds = 0

[connections.Bad]
[connections.bare]
"#,
        &[
            "2:1 shops: is not a known key",
            "3:14 connections.shop.connector: is missing",
            "4:1 connections.shop.conector: is not a known key",
            "5:12 connections.shop.origins[0]: an origin ends after host and port: no path, query, fragment or backslash",
            "5:40 connections.shop.origins[1]: is of type integer",
            "6:14 connections.shop.addresses[0]: has bits set behind its prefix",
            "8:10 connections.shop.credentials.api_key.secret: is not the name of a secret",
            "9:8 connections.shop.credentials.api_key.mode: is not an injection mode",
            "11:20 connections.shop.limits.deadline_seconds: is out of bounds",
            "13:14 connections.?: not a name: 1 to 64 lower-case letters, digits, `-` and `_`, beginning with a letter",
            "14:14 connections.bare.connector: is missing",
            "14:14 connections.bare.origins: is missing",
        ],
    );
}

#[test]
fn a_connection_without_origins_is_refused() {
    check(
        "[connections.a]\nconnector = \"DIGEST\"\norigins = []\n[connections.b]\nconnector = \"DIGEST\"\n",
        &[
            "3:11 connections.a.origins: is empty, so nothing may be reached",
            "4:14 connections.b.origins: is missing",
        ],
    );
    check(
        "[connections.a]\nconnector = \"DIGEST\"\norigins = \"https://a.example\"\n",
        &["3:11 connections.a.origins: is of type string"],
    );
}

#[test]
fn nothing_in_the_file_makes_requests_repeat() {
    for key in ["retry", "retry_on", "max_retries", "idempotent", "repeat_on_status", "backoff", "Retry-On"] {
        let field = if key.starts_with('R') { "?" } else { key };
        let what = format!("connections.shop.{field}: no setting makes a request repeatable");
        check_in_connection(&format!("{key} = [500, 502]\n"), &[&format!("4:1 {what}")]);
    }
    check(
        "retry = true\n[connections]\n[connections.a]\nconnector = \"DIGEST\"\norigins = [\"https://a.example\"]\n\
         [connections.a.limits]\nretries = 3\n[connections.a.credentials.k]\nsecret = \"s\"\nmode = \"http_bearer\"\n\
         retry_on = [401]\n",
        &[
            "1:1 retry: no setting makes a request repeatable",
            "7:1 connections.a.limits.retries: no setting makes a request repeatable",
            "11:1 connections.a.credentials.k.retry_on: no setting makes a request repeatable",
        ],
    );
    for value in ["\"idempotent\"", "\"keyed\"", "\"None\"", "true", "{ kind = \"idempotent\" }"] {
        check_in_connection(
            &format!("repeat = {value}\n"),
            &["4:10 connections.shop.repeat: can only be \"none\""],
        );
    }
}

#[test]
fn what_is_no_toml_is_told_with_the_rest() {
    check(
        "[connections.shop]\nconnector = sha256\norigins = [\"ftp://a\"]\n[connections.shop.limits\nmisplaced = 1\n",
        &[
            "2:13 : not TOML: string values must be quoted, expected literal string",
            "3:12 connections.shop.origins[0]: an origin begins with `https://` or `http://`, in lower case",
            "4:25 : not TOML: unclosed table, expected `]`",
        ],
    );
    check("[connections.a]\nx = 1\nx = 2\n", &["3:1 : not TOML: duplicate key"]);
    check("x = \n", &["1:5 : not TOML: string values must be quoted, expected literal string"]);
    check("x = \"open\ny = 1\n", &["1:10 : not TOML: invalid basic string, expected `\"`"]);
}

#[test]
fn places_count_lines_and_characters() {
    check(
        "\u{feff}# é\r\n\r\nré = 1\r\n",
        &["3:2 : not TOML: invalid unquoted key, expected letters, numbers, `-`, `_`"],
    );
    check(
        "connections = { \"é\" = 1, a = 2 }",
        &[
            "1:17 connections.?: not a name: 1 to 64 lower-case letters, digits, `-` and `_`, beginning with a letter",
            "1:30 connections.a: is of type integer",
        ],
    );
}

#[test]
fn no_value_is_ever_repeated() {
    let canary = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";
    for place in [
        "CANARY",
        "CANARY = 1",
        "[CANARY]",
        "[connections.\"CANARY\"]",
        "[connections.a]\nconnector = \"CANARY\"\norigins = \"CANARY\"",
        "[connections.a]\norigins = [\"https://CANARY@x.example\", \"CANARY\"]\naddresses = [\"CANARY\"]",
        "[connections.a]\nca_file = 1\nrepeat = \"CANARY\"\nCANARY = 2\nconnector = CANARY",
        "[connections.a.credentials.k]\nsecret = \"CANARY\"\nmode = \"CANARY\"",
        "[connections.a.credentials.k]\nsecret = \"s\"\nmode = \"http_header\"\nheader = \"X: CANARY\"",
        "[connections.a.credentials.k]\nsecret = \"s\"\nmode = \"http_basic\"\nuser = \"u:CANARY\"",
        "[connections.a.credentials.k]\nsecret = \"s\"\nmode = \"http_query\"\nquery = \"q=CANARY\"",
        "[connections.a.credentials.\"CANARY\"]\nsecret = \"s\"",
        "[connections.a]\npins = [\"CANARY\"]\nredirect_origins = [\"CANARY\", \"https://u:CANARY@x.example\"]",
        "[connections.a]\ntrusted_hops = [\"CANARY\\u00e9\"]\nfresh_connections = \"CANARY\"\nrepeating_hops = \"CANARY\"",
        "[connections.a.proxy]\nurl = \"http://u:CANARY@proxy.example:3128\"\nresolve = \"CANARY\"",
        "[connections.a.proxy]\nurl = \"CANARY\"\nsecret = \"CANARY\"\nuser = \"u:CANARY\"\naddresses = [\"CANARY\"]",
        "[connections.a.config]\nCANARY = 2024-01-01",
        "x = \"CANARY\n",
    ] {
        let problems = parse(&place.replace("CANARY", canary)).unwrap_err();
        let told = format!("{problems:?} {}", serde_json::to_string(&problems).unwrap());
        assert!(!told.contains("4eC39"), "{place}: {told}");
    }
}

#[test]
fn advice_names_the_nearest_key() {
    let problems =
        parse("[connections.shop]\nconnector = \"DIGEST\"\norigin = [\"https://a.example\"]\n").unwrap_err();
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "/home/x/proofport.toml:1:14: connections.shop.origins: is missing — list every origin that requests may go \
             to: `origins = [\"https://api.example.com\"]`; SSH hosts stand in a table `ssh`",
            "/home/x/proofport.toml:3:1: connections.shop.origin: is not a known key — write `origins` if that was \
             meant, or remove it",
        ]
    );
}

#[test]
fn a_file_that_can_not_be_read_is_told_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proofport.toml");
    let check = |what: &str| {
        let problems = Config::load(&path).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert!(problems[0].to_string().contains(what), "{}", problems[0]);
        assert_eq!(problems[0].place, None);
    };
    check("there is no such file");
    assert_eq!(Config::load_or_empty(&path).unwrap().connections.len(), 0);
    std::fs::write(&path, b"a = \"\xff\"").unwrap();
    check("not UTF-8");
    assert!(Config::load_or_empty(&path).is_err());
    std::fs::write(&path, vec![b'\n'; 1024 * 1024 + 1]).unwrap();
    check("larger than 1024 KiB");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    check("can't be read");
}
