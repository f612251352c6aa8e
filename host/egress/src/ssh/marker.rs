//! The completion marker: a line of standard output or standard error that contains the contract's text followed by the
//! invocation's reference. Lines are found across borders of pieces, with bounded memory.

/// The longest line that is looked at, in bytes. What is longer is no marker's line.
const LONGEST_LINE: usize = 16 * 1024;

/// Looks for the marker.
pub(super) struct MarkerSearch {
    wanted: Vec<u8>,
    line: Vec<u8>,
    too_long: bool,
    seen: bool,
}

impl MarkerSearch {
    /// A search for this text; an empty one is never found.
    pub(super) fn new(wanted: &str) -> Self {
        Self { wanted: wanted.as_bytes().to_vec(), line: Vec::new(), too_long: false, seen: false }
    }

    /// Takes the next piece.
    pub(super) fn push(&mut self, mut piece: &[u8]) {
        if self.seen || self.wanted.is_empty() {
            return;
        }
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            let (rest_of_line, rest) = piece.split_at(end);
            self.gather(rest_of_line);
            self.end_line();
            piece = rest.get(1..).unwrap_or_default();
        }
        self.gather(piece);
    }

    /// Whether a whole line had it. A line without its end is not whole: the rest of it may say more.
    pub(super) const fn seen(&self) -> bool {
        self.seen
    }

    fn gather(&mut self, bytes: &[u8]) {
        if self.too_long || self.line.len() + bytes.len() > LONGEST_LINE {
            self.too_long = true;
            self.line.clear();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) {
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        self.seen |= !self.too_long && has_word(line, &self.wanted);
        self.line.clear();
        self.too_long = false;
    }
}

/// Whether the line has this text and no longer reference that merely begins like it.
fn has_word(line: &[u8], wanted: &[u8]) -> bool {
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (0..line.len()).any(|at| {
        let rest = line.get(at..).unwrap_or_default();
        rest.starts_with(wanted) && !rest.get(wanted.len()).is_some_and(goes_on)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_line_has_the_text_and_the_reference() {
        let check = |output: &str, expected: bool| {
            for size in 1..=output.len().max(1) {
                let mut search = MarkerSearch::new("done act_1f");
                output.as_bytes().chunks(size).for_each(|piece| search.push(piece));
                assert_eq!(search.seen(), expected, "{output:?} in pieces of {size}");
            }
        };
        check("done act_1f\n", true);
        check("a\nb: done act_1f 0\r\nmore", true);
        check("done act_1f\r\n", true);
        check("", false);
        check("done act_1f", false);
        check("done act_1", false);
        check("done act_1f2\n", false);
        check("done act_2\ndone act_1f_x\n", false);
        check("done act_1f2 done act_1f\n", true);
        check("done\nact_1f\n", false);
        let mut search = MarkerSearch::new("");
        search.push(b"\n\n");
        assert!(!search.seen());
        let mut search = MarkerSearch::new("done");
        search.push(&vec![b'x'; LONGEST_LINE]);
        search.push(b" done\ndone\n");
        assert!(search.seen());
    }
}
