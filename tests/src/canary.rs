//! Looking for a secret in whatever was written, in every shape in which it could have been.

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL, HEXLOWER, HEXUPPER};
use memchr::memmem;
use std::fmt::Write as _;
use std::path::Path;

/// The shapes in which a secret may turn up, with a name for each.
#[must_use]
pub fn shapes(secret: &str) -> Vec<(&'static str, Vec<u8>)> {
    let bytes = secret.as_bytes();
    let percent = |upper: bool, all: bool| {
        let mut out = String::new();
        for byte in bytes {
            let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
            // Writing to a `String` can't fail.
            let _ = match (all || !plain, upper) {
                (false, _) => write!(out, "{}", char::from(*byte)),
                (true, true) => write!(out, "%{byte:02X}"),
                (true, false) => write!(out, "%{byte:02x}"),
            };
        }
        out.into_bytes()
    };
    let middle = |encoded: String| encoded.as_bytes()[4..encoded.len() - 4].to_vec();
    let shifted = |n: usize| middle(BASE64.encode(&[&vec![b'x'; n][..], bytes].concat()));
    let half = bytes.len() / 2;
    vec![
        ("exact", bytes.to_vec()),
        ("lower case", secret.to_ascii_lowercase().into_bytes()),
        ("upper case", secret.to_ascii_uppercase().into_bytes()),
        ("first half", bytes[..half.max(8)].to_vec()),
        ("second half", bytes[half.min(bytes.len() - 8)..].to_vec()),
        ("percent-encoded", percent(true, false)),
        ("percent-encoded, lower", percent(false, false)),
        ("percent-encoded throughout", percent(true, true)),
        ("hexadecimal", HEXLOWER.encode(bytes).into_bytes()),
        ("hexadecimal, upper", HEXUPPER.encode(bytes).into_bytes()),
        ("base64", BASE64_NOPAD.encode(bytes).into_bytes()),
        ("base64, shifted by one", shifted(1)),
        ("base64, shifted by two", shifted(2)),
        ("base64url", middle(BASE64URL.encode(bytes))),
        ("debug of bytes", format!("{bytes:?}").trim_matches(['[', ']']).as_bytes().to_vec()),
    ]
}

/// Panics when the secret is in these bytes in any shape.
///
/// # Panics
/// See above; the shape is named.
pub fn assert_absent(secret: &str, place: &str, bytes: &[u8]) {
    for (shape, needle) in shapes(secret) {
        assert!(memmem::find(bytes, &needle).is_none(), "the secret is in {place}: {shape}");
    }
}

/// The same for every file below a folder.
///
/// # Panics
/// See above.
pub fn assert_absent_below(secret: &str, folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_absent_below(secret, &path);
        } else {
            assert_absent(secret, &path.display().to_string(), &std::fs::read(&path).unwrap());
        }
    }
}
