//! Much output, much input, and what of it is kept.

use crate::world::{World, exec, options, sh};
use proofport_core::digest::Digest;
use proofport_core::evidence::Cause;
use proofport_core::exchange::SshExit;
use proofport_core::ssh::SshRow;
use proofport_egress::ContentSink;
use std::io;
use std::sync::{Arc, Mutex};

/// Memory is measured of the whole process: those who need much of it take turns.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

const MEBIBYTE: u64 = 1024 * 1024;

/// Counts what it takes, and looks at the first and the last byte.
#[derive(Default)]
struct Counter(Mutex<(u64, usize, bool)>);

impl ContentSink for Counter {
    fn push(&self, bytes: &[u8]) -> io::Result<()> {
        let mut seen = self.0.lock().unwrap();
        seen.0 += bytes.len() as u64;
        seen.1 = seen.1.max(bytes.len());
        seen.2 |= bytes.iter().any(|byte| *byte != 0);
        Ok(())
    }

    fn finish(&self) -> io::Result<(u64, Digest)> {
        Ok((self.0.lock().unwrap().0, Digest::of_bytes(b"of the sink")))
    }
}

/// The most memory that this process ever had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn large_output_is_stored_or_dropped_and_the_status_stands() {
    let _alone = ALONE.lock().await;
    let world = World::new();
    let script = "head -c 209715200 /dev/zero; echo end >&2; exit 0";
    let before = peak();
    let sink = Arc::new(Counter::default());
    let kept: Arc<dyn ContentSink> = Arc::clone(&sink) as Arc<dyn ContentSink>;
    let ran = exec(&world.target, sh(script), Arc::clone(&world.credential), &options(), Some(kept)).await;
    let exchange = ran.exchange();
    assert_eq!(SshRow::of(&exchange.evidence), SshRow::Success, "{:?}", exchange.evidence);
    assert_eq!(exchange.response.as_ref().unwrap().stored.map(|stored| stored.bytes), Some(200 * MEBIBYTE));
    assert_eq!(exchange.evidence.stdout.bytes, 200 * MEBIBYTE);
    assert_eq!(exchange.response.as_ref().unwrap().stderr, b"end\n");
    let (length, largest, dirty) = *sink.0.lock().unwrap();
    assert_eq!((length, dirty), (200 * MEBIBYTE, false));
    assert!(largest as u64 <= 2 * MEBIBYTE, "{largest}");

    // Without a place to store it: dropped, counted, and the status is evidence all the same.
    let ran = exec(&world.target, sh(script), Arc::clone(&world.credential), &options(), None).await;
    let exchange = ran.exchange();
    assert_eq!(SshRow::of(&exchange.evidence), SshRow::OutputNotTaken, "{:?}", exchange.evidence);
    assert_eq!(exchange.evidence.cause, Some(Cause::TooLarge));
    assert_eq!(exchange.evidence.exit, Some(SshExit::Status(0)));
    assert_eq!(exchange.evidence.stdout.bytes, 200 * MEBIBYTE);
    assert!(exchange.response.is_none());
    assert!(peak() - before < 64 * MEBIBYTE, "{} more", peak() - before);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_input_arrives_whole_while_output_flows() {
    let _alone = ALONE.lock().await;
    let world = World::new();
    let input: Vec<u8> = (0..50 * MEBIBYTE).map(|n| (n % 251) as u8).collect();
    let expected = Digest::of_bytes(&input);
    let mut request = sh("sha256sum | cut -c1-64");
    request.stdin = Some(input);
    let ran = world.run(request).await;
    let exchange = ran.exchange();
    let response = exchange.response.as_ref().unwrap();
    assert_eq!(response.stdout, format!("{}\n", expected.hex()).as_bytes());
    assert_eq!((exchange.evidence.stdin_bytes, exchange.evidence.stdin_complete), (50 * MEBIBYTE, true));

    // Both directions at once: neither may wait for the other.
    let mut request = sh("cat");
    request.stdin = Some(vec![b'x'; 16 * MEBIBYTE as usize]);
    let ran = world.run(request).await;
    assert_eq!(ran.exchange().evidence.stdout.bytes, 16 * MEBIBYTE);

    // A command that reads nothing ends all the same.
    let mut request = sh("exit 4");
    request.stdin = Some(vec![b'x'; 16 * MEBIBYTE as usize]);
    let ran = world.run(request).await;
    assert_eq!(ran.exchange().evidence.exit, Some(SshExit::Status(4)));
    assert!(!ran.exchange().evidence.stdin_complete);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_marker_is_a_line_of_output() {
    let world = World::new();
    let mut marked = options();
    marked.marker = Some("finished act_7".to_owned());
    for (script, seen) in [
        ("echo before; echo finished act_7", true),
        ("printf 'finished '; echo act_7", true),
        ("echo finished act_77", false),
        ("echo finished act_7 >&2", true),
        ("printf 'finished '; echo act_7 >&2", false),
    ] {
        let ran = exec(&world.target, sh(script), Arc::clone(&world.credential), &marked, None).await;
        let evidence = &ran.exchange().evidence;
        assert_eq!(evidence.marker_seen, seen, "{script}");
        assert_eq!(evidence.exit, Some(SshExit::Status(0)), "the status speaks first: {script}");
    }
}
