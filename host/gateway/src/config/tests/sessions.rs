//! Who is let in without a word.

use super::*;
use proofport_core::digest::Digest;

#[test]
fn digests_are_listed_and_nothing_else_is() {
    let one = Digest::of_bytes(b"one");
    let parsed = |text: &str| {
        let listed = parse(text).unwrap().sessions.allow;
        listed.into_iter().map(|at| at.value).collect::<Vec<_>>()
    };
    assert_eq!(parsed(""), []);
    assert_eq!(parsed("[sessions]\n"), []);
    assert_eq!(parsed(&format!("[sessions]\nallow = [\"{one}\"]\n")), [one]);
    check("[sessions]\nallow = \"sha256:aa\"\n", &["2:9 sessions.allow: is of type string"]);
    check(
        "[sessions]\nallow = [\"/usr/bin/agent\"]\n",
        &["2:10 sessions.allow[0]: not a digest: it is `sha256:` and 64 lower-case hexadecimal digits"],
    );
    check(
        &format!("[sessions]\nallow = [\"{one}\", \"{one}\"]\n"),
        &["2:85 sessions.allow[1]: is listed already"],
    );
    check("[sessions]\ndeny = []\n", &["2:1 sessions.deny: is not a known key"]);
}
