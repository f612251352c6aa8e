//! How the host serves.

use super::*;

/// A file with these lines in `[serve]`; they begin at line 2.
fn check_serve(lines: &str, expected: &[&str]) {
    check(&format!("[serve]\n{lines}\n"), expected);
}

#[test]
fn nothing_is_served_over_tcp_unless_an_address_is_set() {
    let parsed = |lines: &str| parse(&format!("[serve]\n{lines}\n")).unwrap().serve;
    assert_eq!(parse("").unwrap().serve, ServeConfig::default());
    assert_eq!(parsed(""), ServeConfig::default());
    for address in ["127.0.0.1:7433", "[::1]:0", "127.8.9.1:1", "[::ffff:127.0.0.1]:7"] {
        assert_eq!(parsed(&format!("http = \"{address}\"")).http, Some(address.parse().unwrap()));
    }
    let all = parsed(
        "http = \"0.0.0.0:80\"\nhttp_anywhere = true\nhosts = [\"Agents.Internal\", \"[fd00::1]\"]\n\
         origins = [\"https://Console.example:8443\", \"app://ui\"]\nagent_socket = \"run/a.sock\"\n\
         agent_socket_mode = \"0660\"\nrequest_bytes = 1024\nrequest_seconds = 1\nwait_seconds = 3600\n\
         connections = 7",
    );
    let expected = ServeConfig {
        http: Some("0.0.0.0:80".parse().unwrap()),
        hosts: vec!["agents.internal".to_owned(), "[fd00::1]".to_owned()],
        origins: vec!["https://console.example:8443".to_owned(), "app://ui".to_owned()],
        agent_socket: Some(PathBuf::from("/home/x/run/a.sock")),
        agent_socket_mode: 0o660,
        request_bytes: 1024,
        request_seconds: 1,
        wait_seconds: 3600,
        connections: 7,
    };
    assert_eq!(all, expected);
}

#[test]
fn what_others_could_reach_is_asked_for_by_name() {
    check_serve(
        "http = \"0.0.0.0:80\"",
        &["2:8 serve.http: can be reached from other machines, and what comes in is not encrypted"],
    );
    check_serve(
        "http = \"10.0.0.1:80\"\nhttp_anywhere = true",
        &["2:8 serve.http: is reached under names that are not listed"],
    );
    check_serve("http_anywhere = 1", &["2:17 serve.http_anywhere: is of type integer"]);
    for no_address in ["localhost:7433", "127.0.0.1", "7433", ""] {
        check_serve(&format!("http = \"{no_address}\""), &["2:8 serve.http: is not an address with a port"]);
    }
}

#[test]
fn every_mistake_has_its_place() {
    check_serve("htttp = \"127.0.0.1:1\"", &["2:1 serve.htttp: is not a known key"]);
    check("serve = 1\n", &["1:9 serve: is of type integer"]);
    check_serve(
        "hosts = [\"a:1\", \"b/c\", \"\", \"x\", \"X\"]",
        &[
            "2:10 serve.hosts[0]: is not the name of a host",
            "2:17 serve.hosts[1]: is not the name of a host",
            "2:24 serve.hosts[2]: is not the name of a host",
            "2:33 serve.hosts[4]: is listed already",
        ],
    );
    check_serve(
        "origins = [\"console.example\", \"https://a/b\", \"*\", \"null\"]",
        &[
            "2:12 serve.origins[0]: is not an origin",
            "2:31 serve.origins[1]: is not an origin",
            "2:46 serve.origins[2]: is not an origin",
            "2:51 serve.origins[3]: is not an origin",
        ],
    );
    check_serve("agent_socket = \"\"", &["2:16 serve.agent_socket: is not a path"]);
    for mode in ["0777", "600", "0640"] {
        check_serve(
            &format!("agent_socket_mode = \"{mode}\""),
            &["2:21 serve.agent_socket_mode: are no permission bits of a socket"],
        );
    }
    check_serve("agent_socket_mode = 384", &["2:21 serve.agent_socket_mode: is of type integer"]);
    check_serve(
        "request_bytes = 1023\nrequest_seconds = 0\nwait_seconds = 3601\nconnections = 0",
        &[
            "2:17 serve.request_bytes: is out of bounds",
            "3:19 serve.request_seconds: is out of bounds",
            "4:16 serve.wait_seconds: is out of bounds",
            "5:15 serve.connections: is out of bounds",
        ],
    );
}
