//! Commands killed at random points: a fixed seed, so that a failure can be looked at.

use super::{Host, archive, claims, first, next, reconcile, start};
use proofport_sdk::{Outcome, Reason};
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

/// Numbers by xorshift: enough to spread cuts over a run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn the_current_release_is_whole_wherever_a_run_is_cut() {
    let host = Host::new();
    let mut dice = Dice(0x5eed_0001);
    let mut before = None;
    for n in 0..50 {
        let archive = archive(&format!("v{n}"));
        let call = host.release(&format!("r{n}"), &archive);
        let send = first(&call);
        let mut child = start(&send, None);
        std::thread::sleep(Duration::from_micros(dice.below(25_000)));
        // The whole group: the shell and what it runs.
        let group = format!("-{}", child.id());
        drop(
            Command::new("/bin/kill")
                .args(["-s", "KILL", "--", &group])
                .stderr(std::process::Stdio::null())
                .status(),
        );
        child.wait().unwrap();
        let now = host.version();
        assert!(now == before || now == Some(format!("v{n}")), "{n}: {now:?}");
        // What the shell had started may die a little later, and holds the lock until then.
        let verdict = loop {
            let verdict = reconcile(&call);
            if verdict.reason != Reason::StillRunning {
                break verdict;
            }
        };
        let (outcome, success, _) = claims(&verdict);
        // What is found agrees with what is there.
        assert_eq!(success, now == Some(format!("v{n}")), "{n}: {verdict:?}");
        assert!(outcome != Outcome::Unknown, "{n}: {verdict:?}");
        let verdict = next(&call, None);
        assert_eq!(claims(&verdict), (Outcome::Committed, true, Reason::Done), "{n}: {verdict:?}");
        before = Some(format!("v{n}"));
        assert_eq!(host.version(), before);
        assert!(!host.path(".proofport/new").exists(), "nothing half-made is left");
    }
    assert_eq!(std::fs::read_dir(host.path("releases")).unwrap().count(), 50);
}

#[test]
fn a_switch_that_was_cut_is_never_made_twice() {
    let (one, two) = (archive("one"), archive("two"));
    let mut dice = Dice(0x5eed_0002);
    let host = Host::new();
    for (id, archive) in [("r1", &one), ("r2", &two)] {
        assert_eq!(claims(&next(&host.release(id, archive), None)).0, Outcome::Committed);
    }
    for n in 0..30 {
        let back = host.rollback("r1", &format!("ppback{n}"));
        let send = first(&back);
        let mut child = start(&send, None);
        std::thread::sleep(Duration::from_micros(dice.below(15_000)));
        let group = format!("-{}", child.id());
        drop(
            Command::new("/bin/kill")
                .args(["-s", "KILL", "--", &group])
                .stderr(std::process::Stdio::null())
                .status(),
        );
        child.wait().unwrap();
        let happened = host.version().as_deref() == Some("one");
        // Somebody switches on, and back to where it was. Then the cut one comes again.
        assert!(next(&host.rollback("r2", &format!("ppon{n}")), None).success);
        assert_eq!(host.version().as_deref(), Some("two"));
        assert!(next(&back, None).success);
        let expected = if happened { "two" } else { "one" };
        assert_eq!(host.version().as_deref(), Some(expected), "{n}");
        assert!(next(&host.rollback("r2", &format!("ppend{n}")), None).success);
    }
}

/// The programs that the script starts. Each is replaced by one that dies at its turn, with the shell.
const PROGRAMS: [&str; 9] = ["cat", "flock", "ln", "mkdir", "mv", "readlink", "rm", "sync", "tar"];

/// Kills whoever started it before the program is run, or after it, when its turn has come.
const DYING: &str = "#!/bin/sh
n=$(/bin/cat \"$TURNS/n\"); n=$((n + 1)); echo $n >\"$TURNS/n\"
if [ \"$n $WHEN\" = \"$TURN before\" ]; then kill -s KILL -- -$(/bin/cat \"$TURNS/group\"); fi
PATH=/usr/bin:/bin \"${0##*/}\" \"$@\"
status=$?
if [ \"$n $WHEN\" = \"$TURN after\" ]; then kill -s KILL -- -$(/bin/cat \"$TURNS/group\"); fi
exit $status
";

#[test]
fn a_release_survives_a_death_at_every_step() {
    use std::os::unix::fs::PermissionsExt;
    let tools = tempfile::TempDir::new().unwrap();
    for program in PROGRAMS {
        let path = tools.path().join(program);
        std::fs::write(&path, DYING).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let (old, new) = (archive("old"), archive("new"));
    let mut seen = BTreeSet::new();
    for turn in 1..60 {
        for when in ["before", "after"] {
            let host = Host::new();
            assert!(next(&host.release("r0", &old), None).success);
            let call = host.release("r1", &new);
            std::fs::write(tools.path().join("n"), "0").unwrap();
            let environment = [
                ("PATH", format!("{}:/usr/bin:/bin", tools.path().display())),
                ("TURNS", tools.path().display().to_string()),
                ("TURN", turn.to_string()),
                ("WHEN", when.to_owned()),
            ];
            let died = super::dying(&first(&call), &environment, &tools.path().join("group"));
            if !died {
                assert!(turn > 15, "a release takes more steps than {turn}");
                assert!(seen.contains("Reason::Absent") && seen.contains("Reason::Present"), "{seen:?}");
                assert!(seen.contains("Reason::RemoteFailed"), "{seen:?}");
                return;
            }
            let now = host.version().unwrap();
            let verdict = loop {
                let verdict = reconcile(&call);
                if verdict.reason != Reason::StillRunning {
                    break verdict;
                }
            };
            seen.insert(format!("{:?}", verdict.reason));
            assert_eq!(verdict.success, now == "new", "{turn} {when}: {verdict:?}");
            assert!(next(&call, None).success, "{turn} {when}");
            assert_eq!(host.version().as_deref(), Some("new"), "{turn} {when}");
        }
    }
    panic!("it never ends");
}

#[test]
fn an_announced_switch_is_settled_by_the_link() {
    let check = |announced: &str, again: &str| {
        let host = Host::new();
        for id in ["r1", "r2"] {
            assert!(next(&host.release(id, &archive(if id == "r1" { "one" } else { "two" })), None).success);
        }
        // As a death leaves it behind the announcement: the link is at r2.
        std::fs::write(host.path(".proofport/pending"), format!("rollback-ppdied {announced}\n")).unwrap();
        let died = host.rollback(announced, "ppdied");
        assert_eq!(reconcile(&died).success, announced == "r2");
        // Others switch on before it comes again.
        assert!(next(&host.rollback("r1", "ppa"), None).success);
        assert!(next(&host.rollback(if announced == "r1" { "r2" } else { "r1" }, "ppb"), None).success);
        assert!(next(&died, None).success);
        assert_eq!(host.version().as_deref(), Some(again), "{announced}");
    };
    // It had happened, so that it does not happen again.
    check("r2", "one");
    // It had not, and it does now.
    check("r1", "one");
}
