//! A reference is used once.

use super::{Remote, call, ran, response};
use proofport_sdk::SshExit;
use proofport_sdk::ssh::run_once::{Ending, Fate, Ran, Refusal, RunOnce};
use std::process::Command;

fn ended(fate: &Fate) -> Option<Ending> {
    match fate {
        Fate::Ended { ending, .. } => Some(*ending),
        Fate::Absent | Fate::Running | Fate::Lost => None,
    }
}

#[test]
fn a_second_run_is_refused_and_changes_nothing() {
    let remote = Remote::new();
    // Where nothing ever ran there may be a disk that is not mounted.
    assert!(remote.ask("pp1").is_err());
    assert_eq!(ran(&remote.run("pp0", &["true"]), "pp0"), Ran::Ended(0));
    assert_eq!(remote.status("pp1"), Fate::Absent);
    assert_eq!(ran(&remote.run("pp1", &["sh", "-c", "echo x >>ran; exit 7"]), "pp1"), Ran::Ended(7));
    let first = remote.status("pp1");
    for argv in [["sh", "-c", "echo x >>ran"], ["touch", "ran", "other"]] {
        let second = remote.run("pp1", &argv);
        assert_eq!(second.exit, SshExit::Status(121));
        assert_eq!(ran(&second, "pp1"), Ran::Refused(Refusal::Used));
        assert!(second.stdout.is_empty());
    }
    assert_eq!(remote.status("pp1"), first);
    assert_eq!(std::fs::read_to_string(remote.path("ran")).unwrap(), "x\n");
    assert!(!remote.path("other").exists());
    assert_eq!(remote.status("pp2"), Fate::Absent);
}

#[test]
fn a_second_run_is_refused_while_the_first_runs() {
    let remote = Remote::new();
    assert!(Command::new("mkfifo").arg(remote.path("gate")).status().unwrap().success());
    let first = remote.start("pp1", &["sh", "-c", "read line <gate; exit 5"]);
    remote.until("a start", |remote| remote.state("pp1").join("command").exists());
    assert_eq!(remote.status("pp1"), Fate::Running);
    assert_eq!(ran(&remote.run("pp1", &["touch", "other"]), "pp1"), Ran::Refused(Refusal::Used));
    assert_eq!(remote.status("pp1"), Fate::Running);
    std::fs::write(remote.path("gate"), "\n").unwrap();
    assert_eq!(ran(&response(first.wait_with_output().unwrap()), "pp1"), Ran::Ended(5));
    assert_eq!(ended(&remote.status("pp1")), Some(Ending::Exit(5)));
    assert!(!remote.path("other").exists());
}

#[test]
fn of_many_at_once_one_runs() {
    for round in 0..4 {
        let remote = Remote::new();
        let children: Vec<_> = (0..12).map(|_| remote.start("pp1", &["sh", "-c", "echo x >>ran"])).collect();
        let answers: Vec<_> = children
            .into_iter()
            .map(|child| ran(&response(child.wait_with_output().unwrap()), "pp1"))
            .collect();
        let of = |want: Ran| answers.iter().filter(|have| **have == want).count();
        assert_eq!((of(Ran::Ended(0)), of(Ran::Refused(Refusal::Used))), (1, 11), "{round}: {answers:?}");
        assert_eq!(std::fs::read_to_string(remote.path("ran")).unwrap(), "x\n");
        let left: Vec<_> = std::fs::read_dir(remote.state("")).unwrap().collect();
        assert_eq!(left.len(), 1, "only the one state is left: {left:?}");
    }
}

#[test]
fn nothing_runs_where_its_state_can_not_be_kept() {
    let check = |home: &dyn Fn(&Remote, &mut Command)| {
        let remote = Remote::new();
        let call = call("pp1");
        let mut command = remote.command(&RunOnce::of(&call).run(["touch", "ran"]));
        home(&remote, &mut command);
        let answer = response(command.output().unwrap());
        assert_eq!(ran(&answer, "pp1"), Ran::Refused(Refusal::State), "{answer:?}");
        assert!(!remote.path("ran").exists());
        // Nor is it said to be absent by one that can't look.
        let mut command = remote.command(&RunOnce::of(&call).status());
        home(&remote, &mut command);
        let answer = response(command.output().unwrap());
        assert!(answer.status() != Some(0) || answer.stdout == b"absent\n", "{answer:?}");
        answer.status()
    };
    // A file where the folder should be.
    check(&|remote, _| std::fs::write(remote.path(".local"), "").unwrap());
    assert_eq!(
        check(&|_, command| {
            command.env("HOME", "/nowhere");
        }),
        Some(122)
    );
    assert_eq!(
        check(&|_, command| {
            command.env("HOME", "relative");
        }),
        Some(122)
    );
    assert_eq!(
        check(&|_, command| {
            command.env_remove("HOME");
        }),
        Some(122)
    );
    assert_eq!(
        check(&|_, command| {
            command.env("XDG_STATE_HOME", "/nowhere");
        }),
        Some(122)
    );
    // A folder where no file can be made, whoever asks.
    check(&|_, command| {
        command.env("XDG_STATE_HOME", "/proc");
    });
}

#[test]
fn a_state_folder_of_the_admins_is_used() {
    let remote = Remote::new();
    let call = call("pp1");
    let folder = remote.path("a folder's");
    let at = RunOnce::of(&call).state(folder.to_str());
    let answer = |request| response(remote.command(&request).output().unwrap());
    // It has to be there, or one that is not mounted would be taken for an empty one.
    assert_eq!(ran(&answer(at.run(["true"])), "pp1"), Ran::Refused(Refusal::State));
    assert!(Fate::read(&answer(at.status())).is_err());
    std::fs::create_dir(&folder).unwrap();
    assert!(Fate::read(&answer(at.status())).is_err());
    assert_eq!(ran(&answer(at.run(["true"])), "pp1"), Ran::Ended(0));
    assert_eq!(ended(&Fate::read(&answer(at.status())).unwrap()), Some(Ending::Exit(0)));
    assert!(folder.join("proofport/pp1/result").exists());
    assert!(remote.ask("pp1").is_err());
}

/// A command that takes its own state away, or a cleaner that does, makes it none that never ran.
#[test]
fn a_state_that_is_gone_is_no_refusal() {
    for gone in ["pp1/command", "pp1", ""] {
        let remote = Remote::new();
        assert_eq!(ran(&remote.run("pp0", &["true"]), "pp0"), Ran::Ended(0));
        let script = format!("echo x >>ran; rm -rf '{}'", remote.state(gone).display());
        let answer = remote.run("pp1", &["sh", "-c", &script]);
        assert!(!matches!(ran(&answer, "pp1"), Ran::Refused(_)), "{gone}: {answer:?}");
        assert_eq!(std::fs::read_to_string(remote.path("ran")).unwrap(), "x\n");
        if gone == "pp1/command" {
            assert_eq!(ended(&remote.status("pp1")), Some(Ending::Exit(0)));
        }
    }
}

#[test]
fn what_is_no_reference_is_refused() {
    let remote = Remote::new();
    let check = |reference: &str| {
        let answer = remote.run(reference, &["touch", "ran"]);
        assert_eq!(ran(&answer, reference), Ran::Refused(Refusal::Usage), "{reference:?}");
        assert!(!remote.path("ran").exists());
    };
    for reference in ["", ".", "..", "../x", "a/b", "A", "a b", "a\nb", "-x", "é", "*", &"a".repeat(41)] {
        check(reference);
    }
}
