//! Mistakes on the command line: status 2, nothing on standard output, nothing taken on.

use crate::support::Home;

#[test]
fn mistakes_end_with_status_two() {
    let home = Home::new();
    let check = |args: &[&str], remark: &str| {
        let ran = home.run(args).exits(2).remarks(remark);
        assert_eq!(ran.stdout, "");
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    };
    check(&[], "Usage");
    check(&["frobnicate"], "--help");
    check(&["call"], "CONNECTION.OPERATION");
    check(&["call", "shop.pay"], "--input");
    check(&["call", "shop", "--input", "{}"], "not a name");
    check(&["call", "Shop.pay", "--input", "{}"], "not a name");
    check(&["call", "shop.pay.twice", "--input", "{}"], "not a name");
    check(&["call", "shop.pay", "--input", "@/no/such/file"], "/no/such/file");
    check(&["call", "shop.pay", "--input", "@/"], "could not read");
    check(&["call", "shop.pay", "--input", "{}", "hunter2"], "unexpected argument");
    for command in ["result", "reconcile", "inspect", "timeline"] {
        check(&[command], "ACT");
        check(&[command, "act_short"], "act_");
        check(&[command, "hunter2"], "act_");
        check(&[command, "act_AAAAAAAAAAAAAAAAAAAAAAAAAA"], "lower-case");
    }
    let log = home.command(&["vault", "status"]).env("PROOFPORT_LOG", "[{{").output().unwrap();
    assert_eq!(log.status.code(), Some(2));
}

#[test]
fn help_and_version_are_answers() {
    let home = Home::none_yet();
    home.run(&["--version"]).exits(0).says(env!("CARGO_PKG_VERSION"));
    home.run(&["--help"]).exits(0).says("proofport demo");
    home.run(&["call", "--help"]).exits(0).says("Exit status").says("--call-key");
    home.run(&["secret", "set", "--help"]).exits(0).says("standard input");
}
