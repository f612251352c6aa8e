//! Arguments arrive as they are: nothing in them is ever text of a shell.

use super::{Remote, ran};
use proofport_sdk::ssh::run_once::Ran;
use proptest::collection::vec;
use proptest::prelude::*;

/// Prints each argument and a NUL behind it.
const PRINT: [&str; 2] = ["printf", "%s\\0"];

fn check(arguments: &[String]) {
    let remote = Remote::new();
    let mut argv = PRINT.to_vec();
    argv.extend(arguments.iter().map(String::as_str));
    let answer = remote.run("pp1", &argv);
    let mut expected = Vec::new();
    for argument in arguments {
        expected.extend_from_slice(argument.as_bytes());
        expected.push(0);
    }
    assert_eq!(ran(&answer, "pp1"), Ran::Ended(0));
    assert!(answer.stdout == expected, "{arguments:?}");
    let left: Vec<_> =
        std::fs::read_dir(remote.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [".local"], "nothing else was made");
}

#[test]
fn what_would_break_out_is_inert() {
    let texts = [
        "",
        "'",
        "''",
        "'; touch out; '",
        "\"; touch out; \"",
        "$(touch out)",
        "`touch out`",
        "${HOME}",
        "$$",
        "a\nb\n\n",
        "\n",
        ";touch out",
        "| touch out",
        "&",
        ">out",
        "#",
        "~",
        "*",
        "\\",
        "\\'",
        "-n",
        "--",
        "-c",
        "{}",
        "!!",
        "END",
        "\nEND\n",
        "status 0",
        "\u{1b}[2J",
        "é\u{202e}日本 🦀",
        "\r\n",
        "\u{7f}\u{1}",
    ];
    check(&texts.map(str::to_owned));
    check(&["x".repeat(64 << 10)]);
    // All in one place, and last, where a trailing newline would be lost by a substitution.
    check(&[texts.concat(), "\n\n".to_owned()]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_arguments_arrive(
        arguments in vec(prop_oneof![
            // What means something to a shell, thickly.
            "[ '\"$`\\\\;&|<>(){}*?\\[\\]!#~=%\n\t-]{0,24}",
            "[^\0]{0,40}",
        ], 1..8)
    ) {
        check(&arguments);
    }
}
