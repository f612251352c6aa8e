//! A client's lines, one message each, of bounded length.

use std::io;
use std::mem::take;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Reads lines.
pub(super) struct Lines<R> {
    from: BufReader<R>,
    most: usize,
    line: Vec<u8>,
    /// Whether the line that is being read is too long already.
    over: bool,
}

/// What was read.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// A line that was longer than is taken, and is gone.
    TooLong,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(from: R, most: usize) -> Self {
        Self { from: BufReader::new(from), most, line: Vec::new(), over: false }
    }

    /// The next line; none at the end, where what has no end is no line. It can be dropped and called again
    /// without losing anything.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let bytes = self.from.fill_buf().await?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            self.over |= self.line.len() + part.len() > self.most;
            if self.over {
                self.line.clear();
            } else {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.from.consume(used);
            if end.is_some() {
                let line = take(&mut self.line);
                return Ok(Some(if take(&mut self.over) { Line::TooLong } else { Line::Whole(line) }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_costs_no_other() {
        let mut lines = Lines::new(&b"ab\n\nabcdef\nabc\ncut"[..], 3);
        let mut got = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            got.push(line);
        }
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(got, [whole("ab"), whole(""), Line::TooLong, whole("abc")]);
    }
}
