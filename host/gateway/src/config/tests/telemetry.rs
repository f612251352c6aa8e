//! Where traces go.

use super::*;

fn collector(lines: &str) -> Option<(String, String, u16)> {
    let otlp = parse(&format!("[telemetry]\n{lines}\n")).unwrap().telemetry.otlp;
    otlp.map(|collector| {
        let (host, port) = collector.address();
        (collector.to_string(), host, port)
    })
}

#[test]
fn nothing_is_exported_unless_a_collector_is_named() {
    assert_eq!(parse("").unwrap().telemetry, TelemetryConfig::default());
    let check = |lines: &str, expected: Option<(&str, &str, u16)>| {
        let expected = expected.map(|(shown, host, port)| (shown.to_owned(), host.to_owned(), port));
        assert_eq!(collector(lines), expected, "{lines}");
    };
    check("", None);
    check("otlp_anywhere = true", None);
    check("otlp = \"http://127.0.0.1:4318\"", Some(("127.0.0.1:4318", "127.0.0.1", 4318)));
    check("otlp = \"http://[::1]:1/\"", Some(("[::1]:1", "::1", 1)));
    check("otlp = \"http://localhost\"", Some(("localhost:80", "localhost", 80)));
    let elsewhere = "otlp = \"http://Otel.internal:4318\"\notlp_anywhere = true";
    check(elsewhere, Some(("otel.internal:4318", "otel.internal", 4318)));
}

#[test]
fn every_mistake_is_named_with_its_field() {
    let not_one = "2:8 telemetry.otlp: is not the URL of a collector";
    let more = "2:8 telemetry.otlp: is more than a host and a port";
    let credentials = "2:8 telemetry.otlp: holds credentials, which have no place in this file";
    let cases = [
        ("otlp = \"127.0.0.1:4318\"", not_one),
        ("otlp = \"\"", not_one),
        ("otlp = \"unix:/run/otel.sock\"", not_one),
        ("otlp = \"grpc://127.0.0.1:4317\"", not_one),
        ("otlp = \"https://127.0.0.1:4318\"", "2:8 telemetry.otlp: is encrypted, which is not spoken here"),
        ("otlp = \"http://127.0.0.1:4318/v1/traces\"", more),
        ("otlp = \"http://127.0.0.1:4318/?a=b\"", more),
        ("otlp = \"http://127.0.0.1:4318/#a\"", more),
        ("otlp = \"http://a:b@127.0.0.1:4318\"", credentials),
        ("otlp = \"http://a@127.0.0.1:4318\"", credentials),
        (
            "otlp = \"http://10.0.0.1:4318\"",
            "2:8 telemetry.otlp: is another machine, and what goes there is not encrypted",
        ),
        ("otlp = 4318", "2:8 telemetry.otlp: is of type integer"),
        ("otlp_anywhere = 1", "2:17 telemetry.otlp_anywhere: is of type integer"),
        ("otpl = \"\"", "2:1 telemetry.otpl: is not a known key"),
    ];
    for (line, expected) in cases {
        check(&format!("[telemetry]\n{line}\n"), &[expected]);
    }
}
