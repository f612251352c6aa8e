//! An agent's process, for tests: `knock SOCKET`. It does what standard input says, a line each:
//!
//! - `knock` opens the socket and prints the line that comes;
//! - `post SOCKET PATH CREDENTIAL BODY` asks over HTTP there and prints the status and the body;
//! - `exec PROGRAM` becomes that program in the same process, on the same socket.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let Some(socket) = std::env::args().nth(1) else { return ExitCode::from(2) };
    // Byte by byte, so that nothing is read ahead that belongs to the program after an exec.
    while let Some(line) = line() {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        let said = match words.as_slice() {
            ["knock"] => knock(&socket),
            ["post", to, path, credential, body] => ask(to, path, credential, body),
            ["exec", program] => Err(Command::new(program).arg(&socket).exec()),
            _ => return ExitCode::from(2),
        };
        let said = said.unwrap_or_else(|error| format!("failed {error}"));
        let mut out = io::stdout().lock();
        if writeln!(out, "{}", said.trim()).and_then(|()| out.flush()).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn line() -> Option<String> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    // Through the library's buffer a line after an `exec` could be lost.
    let mut input = std::fs::File::open("/dev/stdin").ok()?;
    while input.read(&mut byte).ok()? == 1 {
        if byte == [b'\n'] {
            return String::from_utf8(line).ok();
        }
        line.extend_from_slice(&byte);
    }
    None
}

fn knock(socket: &str) -> io::Result<String> {
    let mut said = String::new();
    BufReader::new(UnixStream::connect(socket)?).read_line(&mut said)?;
    Ok(said)
}

fn ask(socket: &str, path: &str, credential: &str, body: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    let length = body.len();
    let credential = match credential {
        "-" => String::new(),
        credential => format!("authorization: Bearer {credential}\r\n"),
    };
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: operator\r\nconnection: close\r\ncontent-type: application/json\r\n\
         {credential}content-length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(format!("{} {body}", head.split(' ').nth(1).unwrap_or_default()))
}
