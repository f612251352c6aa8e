//! A content that is much larger than the memory that a host may take for it.

use crate::rig::{self, Rig, Wanted};
use proofport_broker::{NoProbe, SystemClock};
use proofport_core::origin::Origin;
use serde::Serialize;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Instant;

/// How long the content is.
const LENGTH: u64 = 1 << 30;
/// What the peer writes at a time, over and over: it never holds the content.
const PIECE: usize = 1 << 20;

/// What one large content came to.
#[derive(Debug, Serialize)]
pub struct Content {
    /// How long it was, in bytes.
    pub bytes: u64,
    /// Megabytes (10^6 bytes) a second, from the call to its settled answer.
    pub megabytes_per_second: f64,
    /// This much memory the host had with a content of ten bytes stored, in KiB.
    pub idle_resident_kib: u64,
    /// The most that it ever had, in KiB.
    pub peak_resident_kib: u64,
}

impl Content {
    /// The peak over idle, in MiB.
    #[must_use]
    pub fn peak_over_idle_mib(&self) -> f64 {
        self.peak_resident_kib.saturating_sub(self.idle_resident_kib) as f64 / 1024.0
    }
}

/// Has a process of its own fetch the content.
///
/// # Errors
/// When the peer or the process can't be started, or the call failed.
pub async fn measure() -> io::Result<Content> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let origin = Origin::parse(&format!("http://{}", listener.local_addr()?)).map_err(io::Error::other)?;
    // Ends with this process: a measurement has no use for its answer.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.and_then(answer);
        }
    });
    let wanted = Wanted::new("download", origin, "key");
    let rig = Rig::new(&wanted.limits("deadline_seconds = 600\nidle_seconds = 0")).await;
    let output = Command::new(std::env::current_exe()?).arg("content").arg(rig.home()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [bytes, micros, idle_resident_kib, peak_resident_kib] = numbers[..] else {
        return Err(io::Error::other(format!("the content was not stored: {output:?}")));
    };
    let megabytes_per_second = bytes as f64 / micros.max(1) as f64;
    Ok(Content { bytes, megabytes_per_second, idle_resident_kib, peak_resident_kib })
}

/// Answers one request: `/small` with ten bytes, everything else with very many.
fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut head = Vec::new();
    let mut part = [0; 4096];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let read = stream.read(&mut part)?;
        if read == 0 {
            return Ok(());
        }
        head.extend_from_slice(part.get(..read).unwrap_or_default());
    }
    let length = if head.starts_with(b"GET /small ") { 10 } else { LENGTH };
    write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n")?;
    // Bytes of every value, so that nothing is easy about them.
    let piece: Vec<u8> = (0..PIECE).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut left = length;
    while left > 0 {
        let next = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        stream.write_all(piece.get(..next).unwrap_or_default())?;
        left -= next as u64;
    }
    Ok(())
}

/// The process that fetches: a small content first, so that everything is there that a host has when it
/// is idle. Says the large one's bytes, its microseconds, and memory before and at the most, in KiB.
///
/// # Errors
/// When a call fails or `/proc` can't be read.
pub fn child(home: &str) -> io::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let [bytes, micros, idle, peak] = runtime.block_on(async {
        let open = rig::open(Path::new(home), Arc::new(SystemClock), Arc::new(NoProbe)).await;
        let small = open.call("fetch", r#"{"path":"/small"}"#).await;
        if !small.ok() {
            return Err(io::Error::other(format!("the small content: {small:?}")));
        }
        let idle = super::resident_kib()?;
        let start = Instant::now();
        let large = open.call("fetch", r#"{"path":"/large"}"#).await;
        let micros = super::micros(start.elapsed());
        let Some(facts) = large.content().filter(|facts| facts.bytes == LENGTH) else {
            return Err(io::Error::other(format!("the large content: {large:?}")));
        };
        let bytes = facts.bytes;
        open.close();
        Ok([bytes, micros, idle, super::status_kib("VmHWM:")?])
    })?;
    writeln!(io::stdout(), "{bytes} {micros} {idle} {peak}")?;
    Ok(ExitCode::SUCCESS)
}
