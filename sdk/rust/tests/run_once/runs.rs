//! What passes through a run, and what is stored of it.

use super::{Remote, ran};
use proofport_sdk::SshExit;
use proofport_sdk::ssh::run_once::{Ending, Fate, Ran};
use std::process::{Command, Stdio};

/// The SHA-256 of nothing.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn digest(bytes: &[u8]) -> String {
    use std::io::Write;
    let mut child = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = child.wait_with_output().unwrap().stdout;
    String::from_utf8(output).unwrap().split(' ').next().unwrap().to_owned()
}

#[test]
fn every_end_is_passed_on_and_stored() {
    let remote = Remote::new();
    let mut n = 0;
    let mut check = |script: &str, code: u8, ending: Ending| {
        n += 1;
        let reference = format!("pp{n}");
        let response = remote.run(&reference, &["sh", "-c", script]);
        assert_eq!(response.exit, SshExit::Status(code.into()), "{script}");
        assert_eq!(ran(&response, &reference), Ran::Ended(code), "{script}");
        let stored = Fate::Ended { ending, bytes: Some(0), sha256: Some(EMPTY.to_owned()) };
        assert_eq!(remote.status(&reference), stored, "{script}");
    };
    for code in [0, 1, 2, 3, 4, 5, 6, 23, 120, 121, 122, 126, 127, 128, 129, 130, 137, 141, 143, 255] {
        check(&format!("exit {code}"), code, Ending::Exit(code));
    }
    check("kill -s KILL $$", 137, Ending::Signal(9));
    check("kill -s TERM $$", 143, Ending::Signal(15));
    check("kill -s SEGV $$", 139, Ending::Signal(11));
    // Shells say nothing of these two.
    check("kill -s INT $$", 130, Ending::Exit(130));
    check("kill -s PIPE $$", 141, Ending::Exit(141));
    // It does not hear a hangup.
    check("kill -s HUP $$; exit 4", 4, Ending::Exit(4));
    check("exec /nowhere", 127, Ending::Exit(127));
}

#[test]
fn a_program_that_is_not_there_is_an_end_like_any_other() {
    let remote = Remote::new();
    assert_eq!(ran(&remote.run("pp1", &["nowhere"]), "pp1"), Ran::Ended(127));
    assert_eq!(ran(&remote.run("pp2", &["/"]), "pp2"), Ran::Ended(126));
}

#[test]
fn the_streams_pass_through_whole() {
    let remote = Remote::new();
    let check = |reference: &str, input: Vec<u8>| {
        let expected = input.clone();
        let file = remote.path(reference);
        std::fs::write(&file, &input).unwrap();
        let script = format!("tee /dev/stderr <'{}'", file.display());
        let response = remote.run(reference, &["sh", "-c", &script]);
        assert!(response.stdout == expected, "{reference}: standard output");
        let mut stderr = expected.clone();
        stderr.extend_from_slice(format!("proofport-finished:{reference} 0\n").as_bytes());
        assert!(response.stderr == stderr, "{reference}: standard error");
        let sha256 = Some(digest(&expected));
        let bytes = Some(expected.len() as u64);
        assert_eq!(remote.status(reference), Fate::Ended { ending: Ending::Exit(0), bytes, sha256 });
    };
    check("ppnone", Vec::new());
    check("ppnoline", b"no line".to_vec());
    check("ppbytes", (0..=255).collect());
    check(
        "pplarge",
        (0..3_000_000_u32).map(|n| u8::try_from(n.wrapping_mul(2_654_435_761) >> 24).unwrap()).collect(),
    );
}

/// A connection that ends may cut its input, and nothing would tell the command. So it gets none.
#[test]
fn a_command_gets_no_input() {
    let remote = Remote::new();
    let response = remote.run_with_input("pp1", &["cat"], b"a part".to_vec());
    assert_eq!((response.stdout.as_slice(), ran(&response, "pp1")), (b"".as_slice(), Ran::Ended(0)));
}

#[test]
fn a_command_finds_what_it_would_find_without_the_script() {
    let remote = Remote::new();
    let look = "umask; pwd; env | LC_ALL=C sort | grep -v ^_=; ls -l /proc/self/fd | wc -l; grep SigIgn /proc/self/status | cut -c1-23";
    let outside = |command: &mut Command| {
        command.env_clear().env("HOME", remote.path("")).env("PATH", "/usr/bin:/bin");
        command.env("code", "theirs").env("n", "theirs").env("status", "theirs").env("IFS", "x");
        command.output().unwrap().stdout
    };
    let call = super::call("pp1");
    let argv = ["sh", "-c", look].map(str::to_owned);
    let request = super::RunOnce::of(&call).run(argv.clone());
    let under = String::from_utf8(outside(&mut remote.command(&request))).unwrap();
    let plain =
        String::from_utf8(outside(&mut remote.command(&super::SshRequest::argv(argv.to_vec())))).unwrap();
    assert_eq!(under, plain);
    assert!(plain.contains("code=theirs"), "{plain}");
}

#[test]
fn a_run_is_over_when_nobody_holds_its_output() {
    let remote = Remote::new();
    let child = remote.start("pp1", &["sh", "-c", "(read line <gate; echo late) & echo early; exit 3"]);
    let made = Command::new("mkfifo").arg(remote.path("gate")).status().unwrap();
    assert!(made.success());
    remote.until("the command's own end", |remote| remote.state("pp1").join("command").exists());
    assert_eq!(remote.status("pp1"), Fate::Running);
    std::fs::write(remote.path("gate"), "\n").unwrap();
    let output = super::response(child.wait_with_output().unwrap());
    assert_eq!((ran(&output, "pp1"), output.text()), (Ran::Ended(3), Ok("early\nlate\n")));
}
