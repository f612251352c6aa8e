//! The words of the file: what an unknown one was probably meant to be, and which are refused with a
//! reason.

/// Whether somebody tries to have requests repeated. No setting can do that: a key of this kind is
/// refused with the reason and not merely called unknown.
pub(crate) fn asks_for_repeating(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["retr", "resend", "repeat", "idempot", "backoff", "hedg", "reattempt"]
        .iter()
        .any(|word| key.contains(word))
}

/// The known word nearest to an unknown one, if it is near enough to be a typing mistake.
pub(crate) fn nearest<'k>(key: &str, known: &[&'k str]) -> Option<&'k str> {
    let key = key.to_ascii_lowercase().replace('-', "_");
    if key.len() > 64 {
        return None;
    }
    known
        .iter()
        .map(|word| (distance(key.as_bytes(), word.as_bytes()), *word))
        .filter(|(distance, word)| *distance <= 1.max(word.len() / 3))
        .min()
        .map(|(_, word)| word)
}

/// How many bytes must be inserted, removed or replaced.
fn distance(from: &[u8], to: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, b) in row.iter_mut().skip(1).zip(to) {
            let new = (diagonal + usize::from(a != b)).min(left + 1).min(*cell + 1);
            diagonal = *cell;
            left = new;
            *cell = new;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(from.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_mistakes_are_recognised() {
        let known = ["connector", "origins", "addresses", "ca_file", "repeat"];
        let check = |key: &str, expected: Option<&str>| assert_eq!(nearest(key, &known), expected, "{key}");
        check("origin", Some("origins"));
        check("Origins", Some("origins"));
        check("orgins", Some("origins"));
        check("ca-file", Some("ca_file"));
        check("cafile", Some("ca_file"));
        check("adresses", Some("addresses"));
        check("conector", Some("connector"));
        check("proxy", None);
        check("x", None);
        check("", None);
        check(&"a".repeat(1000), None);
    }

    #[test]
    fn distances() {
        let check = |a: &str, b: &str, expected: usize| {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), expected, "{a} {b}");
            assert_eq!(distance(b.as_bytes(), a.as_bytes()), expected, "{b} {a}");
        };
        check("", "", 0);
        check("", "abc", 3);
        check("kitten", "sitting", 3);
        check("flaw", "lawn", 2);
        check("same", "same", 0);
    }
}
