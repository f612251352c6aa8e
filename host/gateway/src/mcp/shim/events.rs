//! Server-sent events (the WHATWG's event stream), as far as this protocol uses them: the data of each.

use std::mem::take;

/// Puts a stream's bytes together again.
#[derive(Default)]
pub(super) struct Events {
    /// What has come of the line that is not over.
    line: Vec<u8>,
    /// The data of the event that is not over.
    data: Vec<u8>,
    has_data: bool,
}

impl Events {
    /// Takes bytes as they come, and gives the data of each event that they complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut whole = Vec::new();
        for &byte in bytes {
            match byte {
                b'\n' => whole.extend(self.end_of_line()),
                byte => self.line.push(byte),
            }
        }
        whole
    }

    fn end_of_line(&mut self) -> Option<Vec<u8>> {
        let line = take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if line.is_empty() {
            let data = take(&mut self.data);
            // An event without data says nothing.
            return (take(&mut self.has_data) && !data.is_empty()).then_some(data);
        }
        if let Some(more) = line.strip_prefix(b"data:") {
            if take(&mut self.has_data) {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(more.strip_prefix(b" ").unwrap_or(more));
            self.has_data = true;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_whole_however_they_are_cut() {
        let check = |stream: &str, expected: &[&str]| {
            for size in 1..=stream.len() {
                let mut events = Events::default();
                let got: Vec<Vec<u8>> =
                    stream.as_bytes().chunks(size).flat_map(|chunk| events.take(chunk)).collect();
                assert_eq!(got, expected.iter().map(|data| data.as_bytes().to_vec()).collect::<Vec<_>>());
            }
        };
        check("data: {}\n\n", &["{}"]);
        check(": alive\n\ndata:a\r\nid: 7\r\ndata: b\r\n\r\n", &["a\nb"]);
        check("id: 0\nretry: 3000\ndata:\n\ndata: 1\n\n", &["1"]);
        check("data: cut off", &[]);
        check("data: cut off\n", &[]);
    }
}
