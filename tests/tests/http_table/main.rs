//! The table of design section 5 (HTTP) as data, run by a whole host against scripted peers. Each row has
//! a file of cases in `tests/cases/http`; a row without one does not build.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod case;
mod meaning;
mod proxy_status;
mod resets;
mod script;
mod site;

use proofport_core::row::Row;
use proofport_tests::peer::{Alpn, Ca};
use rustls::ServerConfig;
use std::sync::{Arc, LazyLock};

/// One authority and one server of each kind for all, since making keys is slow.
static CA: LazyLock<Ca> = LazyLock::new(Ca::new);
static TLS: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| CA.server(&["127.0.0.1"]));
static TLS_H2: LazyLock<Arc<ServerConfig>> =
    LazyLock::new(|| CA.server_offering(&["127.0.0.1"], Alpn::Http2));

/// A test for each row, and each row's file. The match has no wildcard.
macro_rules! rows {
    ($($row:ident => $file:ident),+ $(,)?) => {
        const fn file(row: Row) -> &'static str {
            match row {
                $(Row::$row => include_str!(concat!("../../cases/http/", stringify!($file), ".toml")),)+
            }
        }

        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $file() {
                assert_eq!(Row::$row.as_str(), stringify!($file));
                check(Row::$row).await;
            }
        )+
    };
}

rows! {
    Success => success,
    Accepted => accepted,
    SeeOther => see_other,
    Redirect => redirect,
    Unauthenticated => unauthenticated,
    Forbidden => forbidden,
    NotFound => not_found,
    Conflict => conflict,
    StillRunning => still_running,
    PreconditionFailed => precondition_failed,
    RequestTimeout => request_timeout,
    TryLater => try_later,
    ClientError => client_error,
    Gateway => gateway,
    Unavailable => unavailable,
    ServerError => server_error,
    BeforeWork => before_work,
    PerhapsRepeated => perhaps_repeated,
    ProxyAuthentication => proxy_authentication,
    NotForwarded => not_forwarded,
    RefusedStream => refused_stream,
    StreamReset => stream_reset,
    GoAway => go_away,
    BadFraming => bad_framing,
    NoResponse => no_response,
    Incomplete => incomplete,
    NotTaken => not_taken,
    Deadline => deadline,
    Local => local,
}

/// Runs every case of a row.
async fn check(row: Row) {
    let cases = case::parse(file(row)).unwrap_or_else(|problem| panic!("{row}: {problem}"));
    assert!(!cases.is_empty(), "{row} has no case");
    let wrong = site::carry_out(row, &site::runs(&cases)).await;
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Every file is a row's.
#[test]
fn every_file_belongs_to_a_row() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases/http");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let mut rows: Vec<&str> = Row::ALL.iter().map(|row| row.as_str()).collect();
    files.sort();
    rows.sort_unstable();
    assert_eq!(files, rows);
    for row in Row::ALL {
        let cases = case::parse(file(*row)).unwrap_or_else(|problem| panic!("{row}: {problem}"));
        assert!(cases.iter().any(|case| !site::runs(std::slice::from_ref(case)).is_empty()), "{row}");
    }
}
