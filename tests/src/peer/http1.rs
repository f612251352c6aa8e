//! Carrying out a script in HTTP/1.1.

use super::script::{Act, Script};
use super::wire::Wire;
use std::io;

pub(super) fn run(mut wire: Wire<'_>, script: Script) -> io::Result<()> {
    // How much content the request has whose head was read last.
    let mut content = 0;
    for act in script.0 {
        match act {
            Act::Http1Only => {
                // No method of HTTP/1.1 begins like this, so four bytes are enough.
                if wire.peek(4)? == b"PRI " || wire.is_http2_agreed() {
                    return wire.reset();
                }
            }
            Act::ReadRequest => {
                content = read_head(&mut wire)?;
                read_body(&mut wire, &mut content)?;
            }
            Act::ReadHead => content = read_head(&mut wire)?,
            Act::ReadBody => read_body(&mut wire, &mut content)?,
            Act::Read(bytes) => drop(wire.take(bytes)?),
            Act::Effect => wire.log.change(|state| state.effects += 1),
            Act::Signal => wire.log.change(|state| state.signals += 1),
            Act::Hold => wire.log.hold(),
            Act::Step => wire.log.take_step(),
            Act::Send(bytes) => wire.send(&bytes)?,
            Act::Fin => wire.fin()?,
            Act::Close => break,
            Act::Cut => {
                wire.cut()?;
                return read_to_end(wire);
            }
            Act::Reset => return wire.reset(),
            Act::Leave => return Ok(()),
        }
    }
    wire.fin()?;
    read_to_end(wire)
}

/// Reads a head; how much content follows.
fn read_head(wire: &mut Wire<'_>) -> io::Result<usize> {
    loop {
        let have = wire.unconsumed();
        if let Some(end) = have.windows(4).position(|four| four == b"\r\n\r\n") {
            wire.take(end + 4)?;
            return Ok(content_length(&have[..end]));
        }
        wire.read(4096)?;
    }
}

fn read_body(wire: &mut Wire<'_>, content: &mut usize) -> io::Result<()> {
    wire.take(std::mem::take(content))?;
    wire.request_read();
    Ok(())
}

/// Reads until the client ends its direction, so that what it sends meets no RST.
fn read_to_end(mut wire: Wire<'_>) -> io::Result<()> {
    loop {
        match wire.read(4096) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    assert!(!head.contains("transfer-encoding"), "the peer reads no request with a transfer coding");
    let field = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    field.map_or(0, |value| value.trim().parse().unwrap())
}
