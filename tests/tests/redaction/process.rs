//! What the process itself could leave behind.

use crate::host::{Door, Host};
use crate::secret::{CANARY, nowhere_below, nowhere_in};
use crate::site::{BEARER, Connection, home};
use proofport_tests::peer::{Peer, Script, Scripts};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;

/// A host that is aborted while the secret is in its memory and on its way.
#[test]
fn a_crash_leaves_no_memory_behind() {
    let peer = Peer::http(Scripts { each: Default::default(), default: Some(Script::silent()) });
    let connection = Connection::new("plain", "courier", peer.origin().to_string(), BEARER);
    let host = Host::start(home(&[connection]));
    // Nothing of it may be written out, whatever its parent permits.
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", host.pid())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    let numbers: Vec<&str> = core.split_ascii_whitespace().skip(4).take(2).collect();
    assert_eq!(numbers, ["0", "0"], "{core}");
    // What is not dumpable is root's under /proc (proc(5)). Where root runs the tests, everything is.
    let owner = std::fs::metadata(format!("/proc/{}/environ", host.pid())).unwrap().uid();
    assert_eq!(owner, 0);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                host.call(Door::Http, "plain.act", r#"{"a":1}"#).bytes
            }))
        });
        peer.wait_effects(1);
        let pid = rustix::process::Pid::from_raw(host.pid().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::ABORT).unwrap();
        if let Ok(bytes) = call.join().unwrap() {
            nowhere_in(CANARY, "what an agent got of it", &bytes);
        }
    });
    let (home, status, said) = host.end(rustix::process::Signal::ABORT);
    assert_eq!(status.signal(), Some(6), "{status}");
    assert!(!status.core_dumped(), "{status}");
    nowhere_in(CANARY, "what a host that crashed said", &said);
    nowhere_below(CANARY, &home.path());
}
