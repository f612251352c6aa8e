//! What reaches the remote's shell: arguments as they were, variables that the server takes, and a text for
//! the shell only where the admin permits one.

use crate::world::{Terms, head, home, published, record};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Stage};
use proofport_core::evidence::Cause;
use proofport_core::ssh::LONGEST_COMMAND;
use proofport_tests::sshd::{Place, Sshd};
use serde_json::{Value, json};
use std::path::Path;

/// What a call comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It ran.
    Ran,
    /// Nothing was attempted.
    Not(Code, Option<(Stage, Cause)>),
}

/// Runs this on a server that takes variables whose names begin with `PROOF_`. It makes the file `made` when
/// it runs.
async fn check(sshd: &Sshd, input: Value, ssh: &str, expected: End) {
    check_as("exec", sshd, input, ssh, expected).await;
}

async fn check_as(operation: &str, sshd: &Sshd, input: Value, ssh: &str, expected: End) {
    let made = sshd.path("made");
    let _ = std::fs::remove_file(&made);
    let usual = Terms::of(sshd);
    let terms = Terms { host_keys: format!("{}\n{ssh}", usual.host_keys), ..usual };
    let rig = home("execs", sshd, &terms, &head(sshd, &terms)).await;
    let open = rig.open().await;
    let envelope = open.call(operation, &input.to_string()).await;
    let claim = (envelope.outcome(), envelope.code());
    match expected {
        End::Ran => assert!(envelope.ok() && made.exists(), "{input}: {envelope:?}"),
        End::Not(code, setup) => {
            assert_eq!(claim, (Some(Outcome::NotAttempted), Some(code)), "{input}: {envelope:?}");
            assert!(!made.exists(), "{input}: it ran all the same");
            let state = record(&open, &envelope);
            assert!(state.attempts.is_empty(), "{input}: {state:?}");
            let seen: Vec<_> = state.setup.iter().map(|attempt| (attempt.stage, attempt.cause)).collect();
            let expected: Vec<_> = setup.into_iter().map(|(stage, cause)| (stage, Some(cause))).collect();
            assert_eq!(seen, expected, "{input}");
            assert_eq!(published(&envelope)["evidence"]["dispatch_started"], false, "{input}");
        }
    }
    open.close();
}

/// A program that writes down its arguments, each with a NUL behind it.
fn writer(sshd: &Sshd) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let (program, made) = (sshd.path("writer"), sshd.path("made"));
    std::fs::write(&program, format!("#!/bin/sh\nprintf '%s\\0' \"$@\" >'{}'\n", made.display())).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program.display().to_string()
}

fn nul_separated(path: &Path) -> Vec<String> {
    let text = String::from_utf8(std::fs::read(path).unwrap()).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_arrive_as_they_were() {
    let sshd = Sshd::start();
    let program = writer(&sshd);
    let broken = sshd.path("broken").display().to_string();
    // Each would make the file `broken`, or be another argument, were it read by a shell.
    let breaking = [
        "$(touch BROKEN)",
        "`touch BROKEN`",
        "; touch BROKEN",
        "& touch BROKEN",
        "| touch BROKEN",
        "> BROKEN",
        "' ; touch BROKEN ; '",
        "\" ; touch BROKEN ; \"",
        "'\\'' ; touch BROKEN",
        "\\'; touch BROKEN; \\'",
        "\n touch BROKEN \n",
        "\r\ntouch BROKEN",
        "${IFS}touch${IFS}BROKEN",
        "<(touch BROKEN)",
        "!touch BROKEN",
    ];
    let plain = [
        "",
        " ",
        "a b",
        "'",
        "''",
        "\"",
        "\\",
        "\\\\",
        "\n",
        "\t",
        "-rf",
        "--",
        "-",
        "{}",
        "{a,b}",
        "*",
        "?",
        "[a-z]",
        "~",
        "$HOME",
        "$$",
        "$1",
        "%s",
        "#no comment",
        "a=b",
        "!!",
        "\u{1b}[31m",
        "\u{7f}",
        "é",
        "日本",
        "\u{202e}",
        "👩‍👩‍👧",
        "/etc/passwd",
    ];
    let mut arguments: Vec<String> = breaking.map(|text| text.replace("BROKEN", &broken)).to_vec();
    arguments.extend(plain.map(str::to_owned));
    arguments.push("long ".repeat(5_000));
    let argv: Vec<&str> = [&program].into_iter().chain(&arguments).map(String::as_str).collect();
    check(&sshd, json!({ "argv": argv }), "", End::Ran).await;
    assert_eq!(nul_separated(&sshd.path("made")), arguments);
    // Each by itself, last, where nothing behind it could make up for it.
    for argument in arguments.iter().filter(|argument| argument.len() < 1000) {
        check(&sshd, json!({ "argv": [program, argument] }), "", End::Ran).await;
        assert_eq!(nul_separated(&sshd.path("made")), std::slice::from_ref(argument));
    }
    assert!(!sshd.path("broken").exists());
    // What no argument can hold is refused, and not cut.
    let fault = End::Not(Code::ConnectorFault, None);
    check(&sshd, json!({ "argv": [program, "a\0b"] }), "", fault).await;
    check(&sshd, json!({ "argv": [format!("{program}\0"), "a"] }), "", fault).await;
    check(&sshd, json!({ "argv": [program, "x".repeat(LONGEST_COMMAND)] }), "", fault).await;
    check(&sshd, json!({ "argv": [] }), "", fault).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variable_arrives_or_nothing_runs() {
    let sshd = Sshd::at(Place::HERE, "AcceptEnv PROOF_*");
    let made = sshd.path("made").display().to_string();
    let input = |variables: Value| {
        let script = "printf '%s' \"$PROOF_A|$PROOF_B\" >\"$1\"";
        json!({ "argv": ["sh", "-c", script, "sh", made], "environment": variables })
    };
    let refused = End::Not(Code::LoginFailed, Some((Stage::Env, Cause::EnvironmentRefused)));
    let fault = End::Not(Code::ConnectorFault, None);
    let value = "a b'\"$(id)`id`;\n\\ é";
    check(&sshd, input(json!([["PROOF_A", value], ["PROOF_B", ""]])), "", End::Ran).await;
    assert_eq!(std::fs::read_to_string(&made).unwrap(), format!("{value}|"));
    check(&sshd, input(json!([["OTHER", "x"]])), "", refused).await;
    // One that is taken does not make up for one that is not.
    check(&sshd, input(json!([["PROOF_A", "x"], ["OTHER", "x"]])), "", refused).await;
    check(&sshd, input(json!([["OTHER", "x"], ["PROOF_A", "x"]])), "", refused).await;
    for odd in [json!([["PROOF_A", "x\0y"]]), json!([["PROOF_A=B", "x"]]), json!([["", "x"]])] {
        check(&sshd, input(odd), "", fault).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_for_the_shell_takes_the_admins_word_and_the_authors() {
    let sshd = Sshd::start();
    let made = sshd.path("made").display().to_string();
    let raw = json!({ "raw": format!("echo a | tr a b >'{made}'") });
    let refused = || End::Not(Code::ConnectorFault, None);
    check_as("raw", &sshd, raw.clone(), "", refused()).await;
    check_as("raw", &sshd, raw.clone(), "raw_commands = false", refused()).await;
    check_as("exec", &sshd, raw.clone(), "raw_commands = true", refused()).await;
    check_as("raw", &sshd, raw, "raw_commands = true", End::Ran).await;
    assert_eq!(std::fs::read_to_string(&made).unwrap(), "b\n");
}
