//! Connections, processes and disks that end before the command does.

use super::{Remote, ran, response, signal};
use proofport_sdk::ssh::run_once::{Ending, Fate, Ran, Refusal};
use std::path::Path;
use std::process::Command;

fn gate(remote: &Remote) {
    assert!(Command::new("mkfifo").arg(remote.path("gate")).status().unwrap().success());
}

fn open(remote: &Remote) {
    std::fs::write(remote.path("gate"), "\n").unwrap();
}

fn started(remote: &Remote) {
    remote.until("a start", |remote| remote.state("pp1").join("command").exists());
}

fn over(remote: &Remote) -> Fate {
    remote.until("an end", |remote| remote.status("pp1") != Fate::Running);
    remote.status("pp1")
}

/// The number of the process that a file of the state names.
fn process(remote: &Remote, file: &str) -> String {
    let text = std::fs::read_to_string(remote.state("pp1").join(file)).unwrap();
    text.split(' ').next().unwrap().to_owned()
}

#[test]
fn a_command_outlives_its_connection() {
    // What a server does to the group of a connection that is gone, if anything. SIGTERM asks it to stop.
    for sent in [None, Some("HUP"), Some("INT"), Some("PIPE")] {
        let remote = Remote::new();
        gate(&remote);
        let mut child = remote
            .start("pp1", &["sh", "-c", "echo one; read line <gate; echo two; echo three >&2; exit 23"]);
        started(&remote);
        drop((child.stdout.take(), child.stderr.take()));
        if let Some(sent) = sent {
            signal(&format!("-{}", child.id()), sent);
        }
        open(&remote);
        let fate = over(&remote);
        let Fate::Ended { ending, bytes, sha256 } = fate else { panic!("{sent:?}: {fate:?}") };
        assert_eq!((ending, bytes), (Ending::Exit(23), Some(8)), "{sent:?}");
        assert!(sha256.is_some());
        child.wait().unwrap();
    }
}

#[test]
fn a_run_whose_script_died_is_lost_when_its_command_ended() {
    let remote = Remote::new();
    gate(&remote);
    let mut child = remote.start("pp1", &["sh", "-c", "read line <gate; touch ran"]);
    started(&remote);
    signal(&format!("-{}", child.id()), "KILL");
    child.wait().unwrap();
    assert_eq!(remote.status("pp1"), Fate::Running, "the command has a session of its own");
    open(&remote);
    assert_eq!(over(&remote), Fate::Lost);
    assert!(remote.path("ran").exists());
    assert_eq!(ran(&remote.run("pp1", &["touch", "other"]), "pp1"), Ran::Refused(Refusal::Used));
}

#[test]
fn a_claim_without_a_living_process_is_lost() {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let me = std::process::id();
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let born = stat.rsplit(") ").next().unwrap().split(' ').nth(19).unwrap();
    let check = |runner: &str, expected: Fate| {
        let remote = Remote::new();
        std::fs::create_dir_all(remote.state("pp1")).unwrap();
        std::fs::write(remote.state("pp1").join("runner"), runner).unwrap();
        assert_eq!(remote.status("pp1"), expected, "{runner:?}");
        assert_eq!(ran(&remote.run("pp1", &["true"]), "pp1"), Ran::Refused(Refusal::Used));
    };
    check(&format!("{me} {born} {boot}"), Fate::Running);
    // The number was given to another process, or the machine was started again since.
    check(&format!("{me} 1 {boot}"), Fate::Lost);
    check(&format!("{me} {born} 00000000-0000-0000-0000-000000000000\n"), Fate::Lost);
    check(&format!("4194305 {born} {boot}"), Fate::Lost);
    check("", Fate::Lost);
    check("x y z\n", Fate::Lost);
    // Where no start times are to be had, a process of that number may be it.
    check(&format!("{me} - -\n"), Fate::Running);
    check("4194305 - -\n", Fate::Lost);
}

#[test]
fn a_process_that_ended_and_was_not_waited_for_is_not_alive() {
    let remote = Remote::new();
    let mut child = Command::new("true").spawn().unwrap();
    let stat = format!("/proc/{}/stat", child.id());
    let read = || std::fs::read_to_string(&stat).unwrap();
    remote.until("its end", |_| read().contains(") Z "));
    let born = read().rsplit(") ").next().unwrap().split(' ').nth(19).unwrap().to_owned();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    std::fs::create_dir_all(remote.state("pp1")).unwrap();
    std::fs::write(remote.state("pp1").join("runner"), format!("{} {born} {boot}", child.id())).unwrap();
    assert_eq!(remote.status("pp1"), Fate::Lost);
    child.wait().unwrap();
}

#[test]
fn a_result_that_can_not_be_stored_is_still_told() {
    let remote = Remote::new();
    let full = "rm \"$1/result.new\"; ln -s /dev/full \"$1/result.new\"; echo done; exit 9";
    let state = remote.state("pp1");
    let answer = remote.run("pp1", &["sh", "-c", full, "sh", state.to_str().unwrap()]);
    assert_eq!((ran(&answer, "pp1"), answer.text()), (Ran::Ended(9), Ok("done\n")));
    assert_eq!(remote.status("pp1"), Fate::Lost, "nothing is made up");
    assert_eq!(ran(&remote.run("pp1", &["true"]), "pp1"), Ran::Refused(Refusal::Used));
}

#[test]
fn room_for_the_result_is_taken_before_the_start() {
    let remote = Remote::new();
    let state = remote.state("pp1").join("result.new");
    let answer = remote.run("pp1", &["stat", "-c", "%s", state.to_str().unwrap()]);
    let room: usize = answer.text().unwrap().trim().parse().unwrap();
    // The longest that can be stored: `signalled 64`, 20 digits, a digest.
    assert!(room > "signalled 64 18446744073709551615 ".len() + 64, "{room}");
}

#[test]
fn stop_ends_the_whole_group_and_nothing_else() {
    let remote = Remote::new();
    gate(&remote);
    let child =
        remote.start("pp1", &["sh", "-c", "sh -c 'echo $$ >inner; read line <gate' & read line <gate"]);
    remote.until("the inner one", |remote| {
        std::fs::read_to_string(remote.path("inner")).is_ok_and(|text| text.ends_with('\n'))
    });
    let fate = remote.stop("pp1");
    assert!(matches!(fate, Fate::Ended { ending: Ending::Signal(15), .. }), "{fate:?}");
    let inner = std::fs::read_to_string(remote.path("inner")).unwrap();
    // Its new parent may be slow to take its status.
    remote.until("the inner one's end", |_| {
        let stat = std::fs::read_to_string(Path::new("/proc").join(inner.trim()).join("stat"));
        stat.map_or(true, |stat| stat.contains(") Z "))
    });
    // The script is there to tell.
    assert_eq!(ran(&response(child.wait_with_output().unwrap()), "pp1"), Ran::Ended(143));
    assert_eq!(remote.stop("pp1"), fate, "and again");
    assert_eq!(remote.stop("pp2"), Fate::Absent);
}

#[test]
fn stop_insists() {
    let remote = Remote::new();
    gate(&remote);
    let child = remote.start("pp1", &["sh", "-c", "trap '' TERM; echo >deaf; read line <gate"]);
    remote.until("its deafness", |remote| remote.path("deaf").exists());
    let fate = remote.stop("pp1");
    assert!(matches!(fate, Fate::Ended { ending: Ending::Signal(9), .. }), "{fate:?}");
    drop(child.wait_with_output());
}

/// As a server passes a client's signal on: to the group of the run, and the command is in another.
#[test]
fn a_signal_to_the_run_stops_its_command() {
    let check = |argv: &[&str], expected: Ending| {
        let remote = Remote::new();
        gate(&remote);
        let child = remote.start("pp1", argv);
        remote.until("its start", |remote| remote.path("up").exists());
        let listener = children(child.id());
        let group = format!("-{}", child.id());
        assert!(Command::new("/bin/kill").args(["-TERM", "--", &group]).status().unwrap().success());
        let answer = response(child.wait_with_output().unwrap());
        let (Ending::Exit(said) | Ending::Signal(said)) = expected;
        let told = if matches!(expected, Ending::Signal(_)) { said + 128 } else { said };
        assert_eq!(ran(&answer, "pp1"), Ran::Ended(told), "{answer:?}");
        let fate = remote.status("pp1");
        assert!(matches!(fate, Fate::Ended { ending, .. } if ending == expected), "{fate:?}");
        remote.until("nobody of it is left", |_| listener.iter().all(|pid| !alive(*pid)));
    };
    let read = "read line <gate";
    check(&["sh", "-c", &format!("echo >up; {read}")], Ending::Signal(15));
    check(&["sh", "-c", &format!("trap 'exit 7' TERM; echo >up; {read}")], Ending::Exit(7));
    check(&["sh", "-c", &format!("trap '' TERM; echo >up; {read}")], Ending::Signal(9));
}

/// Nobody asked its command to stop.
#[test]
fn a_run_that_is_killed_takes_nothing_with_it() {
    let remote = Remote::new();
    gate(&remote);
    let mut child = remote.start("pp1", &["sh", "-c", "echo >up; read line <gate; echo >done"]);
    remote.until("its start", |remote| remote.path("up").exists());
    let all = children(child.id());
    let runner: u32 = process(&remote, "runner").parse().unwrap();
    signal(&runner.to_string(), "KILL");
    // The pauses end, so that whoever waits looks again.
    for pid in &all {
        let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if comm.trim() == "sleep" {
            signal(&pid.to_string(), "KILL");
        }
    }
    let listener = |pid: &&u32| {
        let text = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        let stat = String::from_utf8_lossy(&text).into_owned();
        let session =
            |stat: &str| stat.rsplit(") ").next().map(|rest| rest.split(' ').nth(3).map(str::to_owned));
        let own = std::fs::read_to_string(format!("/proc/{}/stat", std::process::id())).unwrap();
        session(&stat) == session(&own)
    };
    let waiting: Vec<u32> = all.iter().filter(listener).copied().collect();
    assert!(!waiting.is_empty());
    open(&remote);
    remote.until("its end", |remote| remote.path("done").exists());
    let _ = child.wait();
}

/// Whoever waits for a signal is gone with the run.
#[test]
fn a_run_leaves_nobody_behind() {
    let remote = Remote::new();
    gate(&remote);
    let child = remote.start("pp1", &["sh", "-c", "echo >up; read line <gate"]);
    remote.until("its start", |remote| remote.path("up").exists());
    let all = children(child.id());
    assert!(all.len() > 3, "{all:?}");
    std::fs::write(remote.path("gate"), "go\n").unwrap();
    assert_eq!(ran(&response(child.wait_with_output().unwrap()), "pp1"), Ran::Ended(0));
    remote.until("nobody of it is left", |_| all.iter().all(|pid| !alive(*pid)));
}

/// The processes below this one.
fn children(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let own: Vec<u32> = list.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    own.iter().flat_map(|pid| std::iter::once(*pid).chain(children(*pid))).collect()
}

fn alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn stop_leaves_a_process_that_took_the_number_alone() {
    let remote = Remote::new();
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    std::fs::create_dir_all(remote.state("pp1")).unwrap();
    for file in ["runner", "command"] {
        std::fs::write(remote.state("pp1").join(file), format!("{} 1 {boot}", other.id())).unwrap();
    }
    assert_eq!(remote.stop("pp1"), Fate::Lost);
    assert!(other.try_wait().unwrap().is_none(), "it is alive");
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(process(&remote, "runner"), other.id().to_string());
}
