//! What the kernel says of processes, under `/proc`.

use proofport_core::digest::Digest;
use std::fs;
use std::io;
use std::path::PathBuf;

/// A process's parent and start time.
struct Stat {
    parent: u32,
    started: u64,
}

/// When the process with this number started, in clock ticks since boot.
pub(crate) fn started(pid: u32) -> io::Result<u64> {
    Ok(stat(pid)?.started)
}

/// The process that started it.
pub(crate) fn parent(pid: u32) -> io::Result<u32> {
    Ok(stat(pid)?.parent)
}

/// Whether the process that had this number and started then still has it.
pub(crate) fn is_running(pid: u32, started: u64) -> bool {
    stat(pid).is_ok_and(|stat| stat.started == started)
}

/// A digest of this run of the machine.
pub(crate) fn boot() -> io::Result<Digest> {
    fs::read("/proc/sys/kernel/random/boot_id").map(|id| Digest::of_bytes(id.trim_ascii()))
}

/// The executable of a process. To open it gives the file that runs, whatever has its name by now.
pub(crate) fn executable(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/exe"))
}

fn stat(pid: u32) -> io::Result<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat"))?;
    parse(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The name stands in parentheses and may hold any character, so fields are counted from its end.
fn parse(text: &[u8]) -> Option<Stat> {
    let end = text.iter().rposition(|b| *b == b')')?;
    let rest = std::str::from_utf8(text.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    // The first of these is the third of the line.
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    // A zombie runs nothing any more.
    (state != "Z" && state != "X").then_some(Stat { parent, started })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_read_whatever_the_name_is() {
        let check = |name: &str, state: &str, expected: Option<(u32, u64)>| {
            let line = format!(
                "42 ({name}) {state} 7 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 8123 100 200 18446744073709551615\n"
            );
            let got = parse(line.as_bytes()).map(|stat| (stat.parent, stat.started));
            assert_eq!(got, expected, "{name} {state}");
        };
        check("agent", "S", Some((7, 8123)));
        check("a) R 1 (b", "S", Some((7, 8123)));
        check("", "R", Some((7, 8123)));
        check("agent", "Z", None);
        for broken in ["", "42 agent S 7", "42 (agent) S", "42 (agent) S x 1"] {
            assert!(parse(broken.as_bytes()).is_none(), "{broken}");
        }
    }

    #[test]
    fn this_process_runs_and_another_start_is_another_process() {
        let pid = std::process::id();
        let since = started(pid).unwrap();
        assert!(is_running(pid, since));
        assert!(!is_running(pid, since + 1));
        assert!(parent(pid).unwrap() > 0);
    }
}
