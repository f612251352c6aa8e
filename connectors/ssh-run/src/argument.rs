//! What a caller may give for a place in a command.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// What may stand in a place.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Kind {
    /// One of these texts.
    OneOf {
        /// The texts.
        values: Vec<String>,
    },
    /// A whole number between these, both included.
    Integer {
        /// The least.
        minimum: i64,
        /// The most.
        maximum: i64,
    },
    /// A word: a letter, digit or `_`, then also `.`, `-`, `:`, `@` and `+`, all ASCII. It is neither
    /// an option nor a path.
    Word {
        /// How many characters at most.
        longest: usize,
    },
}

/// What a caller gives.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Value {
    /// A number.
    Integer(i64),
    /// A text.
    Text(String),
    /// Anything else, which no place takes.
    Other(IgnoredAny),
}

impl Kind {
    /// The text of a value that may stand here; none where it may not.
    pub(crate) fn text(&self, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::OneOf { values }, Value::Text(text)) if values.contains(text) => Some(text.clone()),
            (Self::Integer { minimum, maximum }, Value::Integer(number))
                if (minimum..=maximum).contains(&number) =>
            {
                Some(number.to_string())
            }
            (Self::Word { longest }, Value::Text(text)) if text.len() <= *longest && is_word(text) => {
                Some(text.clone())
            }
            (
                Self::OneOf { .. } | Self::Integer { .. } | Self::Word { .. },
                Value::Integer(_) | Value::Text(_) | Value::Other(_),
            ) => None,
        }
    }
}

fn is_word(text: &str) -> bool {
    let starts = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes().next().is_some_and(starts)
        && text.bytes().all(|byte| starts(byte) || b".-:@+".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::{Kind, Value};

    fn check(kind: &Kind, value: Value, expected: Option<&str>) {
        assert_eq!(kind.text(&value).as_deref(), expected);
    }

    #[test]
    fn a_place_takes_what_it_declares_and_nothing_else() {
        let text = |text: &str| Value::Text(text.to_owned());
        let one = Kind::OneOf { values: vec!["start".to_owned(), "a b; c".to_owned()] };
        check(&one, text("start"), Some("start"));
        check(&one, text("a b; c"), Some("a b; c"));
        for other in ["", "star", "start ", "START"] {
            check(&one, text(other), None);
        }
        check(&one, Value::Integer(1), None);
        let number = Kind::Integer { minimum: -1, maximum: 3 };
        for (value, expected) in [(-1, Some("-1")), (3, Some("3")), (-2, None), (4, None)] {
            check(&number, Value::Integer(value), expected);
        }
        check(&number, text("1"), None);
        let word = Kind::Word { longest: 8 };
        for good in ["a", "A9_", "0.-:@+", "12345678", "_x"] {
            check(&word, text(good), Some(good));
        }
        for bad in ["", "-a", ".", "..", ".a", "a/b", "a b", "a\n", "a;b", "$a", "é", "123456789", "a\u{0}"]
        {
            check(&word, text(bad), None);
        }
    }
}
