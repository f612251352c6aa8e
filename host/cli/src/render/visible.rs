//! Text of strangers on a terminal.

use std::fmt::Write as _;

/// Whether a character moves the cursor, reorders what is shown, or is not seen at all.
fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// A text on one line, with such characters escaped.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hides(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// JSON text with such characters written as JSON escapes: the same value, safe to look at, and on
/// one line for every reader. Line breaks of a pretty-printed text stay.
pub(crate) fn json(text: String) -> String {
    let kept = |c: char| c == '\n' || !hides(c);
    if text.chars().all(kept) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 32);
    for c in text.chars() {
        if kept(c) {
            out.push(c);
        } else {
            // Outside of strings JSON has no such characters, so an escape is allowed here.
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_hides_is_escaped() {
        let check = |input: &str, expected: &str| assert_eq!(text(input), expected);
        check("plain – ü 漢", "plain – ü 漢");
        check("a\u{1b}[2Jb", "a\\u{1b}[2Jb");
        check("a\nb\rc", "a\\u{a}b\\u{d}c");
        check("\u{202e}gnp.exe", "\\u{202e}gnp.exe");
        check("a\u{9b}31m", "a\\u{9b}31m");
    }

    #[test]
    fn json_keeps_its_value() {
        let check = |value: Value| {
            for written in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                let shown = json(written);
                assert!(shown.chars().all(|c| c == '\n' || !hides(c)), "{shown}");
                assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
            }
        };
        check(
            json!({ "a": "x\u{9b}y\u{202e}z\u{2028}", "b\u{e0041}": ["\u{1b}[2J", "\n", 1, null, "ü漢🦀"] }),
        );
        check(json!("\u{7f}\u{feff}"));
    }
}
