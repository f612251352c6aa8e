use super::*;

const TOKEN: &str = "sk/live+4eC39H qLyj\"WD\\arjtT1é";

#[derive(Debug, PartialEq)]
enum Seen {
    Nothing,
    Masked(u32),
    Withheld,
}

fn seen(secret: &str, text: &[u8]) -> Seen {
    let guard = Guard::new(&[&Secret::new(secret.as_bytes().to_vec())]).unwrap();
    let scan = guard.scan(text.to_vec());
    match scan.bytes {
        None => Seen::Withheld,
        Some(bytes) => {
            assert!(guard.is_clean(&bytes));
            assert_eq!(scan.hits == 0, bytes == text);
            if scan.hits == 0 { Seen::Nothing } else { Seen::Masked(scan.hits) }
        }
    }
}

fn check(text: impl AsRef<[u8]>, expected: &Seen) {
    let text = text.as_ref();
    assert_eq!(seen(TOKEN, text), *expected, "{}", String::from_utf8_lossy(text));
    // Nothing depends on where in a text it stands.
    let inside = [b"{\"error\":\"<", text, b">\"}"].concat();
    assert_eq!(seen(TOKEN, &inside), *expected, "{}", String::from_utf8_lossy(&inside));
}

fn percent_all(text: &str) -> String {
    text.bytes().map(|b| format!("%{b:02X}")).collect()
}

#[test]
fn exact_hits_are_masked_and_counted() {
    check(TOKEN, &Seen::Masked(1));
    check(format!("{TOKEN}{TOKEN}, {TOKEN}"), &Seen::Masked(3));
    let guard = Guard::new(&[&Secret::new(b"canary-canary".to_vec())]).unwrap();
    let scan = guard.scan(b"a canary-canary b".to_vec());
    assert_eq!(scan.bytes.unwrap(), format!("a {MARKER} b").into_bytes());
}

#[test]
fn every_other_shape_withholds() {
    let base64 = |encoding: &data_encoding::Encoding, before: &str, after: &str| {
        encoding.encode(format!("{before}{TOKEN}{after}").as_bytes())
    };
    let mut shapes = vec![
        "sk%2Flive%2B4eC39H%20qLyj%22WD%5CarjtT1%C3%A9".to_owned(),
        "sk%2flive%2b4eC39H%20qLyj%22WD%5carjtT1%c3%a9".to_owned(),
        "sk%2Flive%2B4eC39H+qLyj%22WD%5CarjtT1%C3%A9".to_owned(),
        percent_all(TOKEN),
        percent_all(TOKEN).to_lowercase(),
        // Some characters encoded that need not be, some left that should be.
        "s%6B/live+4eC39H qLyj\"WD\\arjtT1é".to_owned(),
        // Twice.
        percent_all(TOKEN).replace('%', "%25"),
        r#"sk/live+4eC39H qLyj\"WD\\arjtT1é"#.to_owned(),
        r#"sk\/live+4eC39H qLyj\"WD\\arjtT1\u00e9"#.to_owned(),
        r#"sk\u002flive\u002B4eC39H qLyj\u0022WD\u005CarjtT1\u00E9"#.to_owned(),
        TOKEN.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect(),
        TOKEN.bytes().map(|b| format!("\\x{b:02x}")).collect(),
        "sk/live+4eC39H qLyj&quot;WD\\arjtT1&#xe9;".to_owned(),
        "sk&#47;live&#x2B;4eC39H qLyj&#34;WD\\arjtT1é".to_owned(),
        data_encoding::HEXLOWER.encode(TOKEN.as_bytes()),
        data_encoding::HEXUPPER.encode(TOKEN.as_bytes()),
        TOKEN.to_ascii_uppercase(),
        TOKEN.to_ascii_lowercase(),
    ];
    for encoding in [
        &data_encoding::BASE64,
        &data_encoding::BASE64_NOPAD,
        &data_encoding::BASE64URL,
        &data_encoding::BASE64URL_NOPAD,
    ] {
        for before in ["", "x", "xy", "xyz", "user:"] {
            for after in ["", "\u{7f}", "~~", "~~~"] {
                shapes.push(base64(encoding, before, after));
            }
        }
    }
    let wrapped = base64(&data_encoding::BASE64, "", "");
    shapes.push(
        wrapped
            .as_bytes()
            .chunks(8)
            .map(|line| std::str::from_utf8(line).unwrap())
            .collect::<Vec<_>>()
            .join("\r\n"),
    );
    for shape in shapes {
        check(shape, &Seen::Withheld);
    }
}

#[test]
fn long_pieces_withhold_and_short_ones_pass() {
    let half = TOKEN.len().div_ceil(2);
    for length in 1..TOKEN.len() {
        for piece in [&TOKEN.as_bytes()[..length], &TOKEN.as_bytes()[TOKEN.len() - length..]] {
            check(piece, if length >= half { &Seen::Withheld } else { &Seen::Nothing });
        }
    }
    // A short secret's pieces are shorter than 8 bytes and mean nothing.
    assert_eq!(seen("password", b"passwor"), Seen::Nothing);
    assert_eq!(seen("password", b"a password b"), Seen::Masked(1));
    assert_eq!(seen("password", b"a Password b"), Seen::Withheld);
    // One byte beside a masked hit is no piece.
    assert_eq!(seen("0123456789abcdef", b"0123456789abcdef0"), Seen::Masked(1));
    assert_eq!(seen("0123456789abcdef", b"0123456789abcdef01234567"), Seen::Withheld);
}

#[test]
fn what_only_looks_like_a_key_passes() {
    for text in [
        "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
        "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.e30.ZRrHA1JJJW8opsbCGfG_HACGpVUMN_a9IV7pAx_Zmeo",
        "%zz \\u12 \\x &#; &#x; &bogus; \\ud800 %",
        "",
    ] {
        check(text, &Seen::Nothing);
    }
}

#[test]
fn without_a_credential_everything_passes() {
    let guard = Guard::none();
    let scan = guard.scan(TOKEN.as_bytes().to_vec());
    assert_eq!(scan.bytes.unwrap(), TOKEN.as_bytes());
    assert!(!guard.is_armed() && !Guard::new(&[&Secret::new(Vec::new())]).unwrap().is_armed());
}

#[test]
fn secrets_of_any_bytes_are_recognised() {
    for secret in [&b"\x00\x01\x02\x03\x04\x05\x06\x07"[..], &[0xff; 9], b"aaaaaaaaaaaaaaaaaaaaaaaa"] {
        let guard = Guard::new(&[&Secret::new(secret.to_vec())]).unwrap();
        let scan = guard.scan(secret.to_vec());
        assert_eq!(scan.bytes.unwrap(), MARKER.as_bytes());
        assert!(guard.scan(data_encoding::BASE64.encode(secret).into_bytes()).bytes.is_none());
    }
}

#[test]
fn a_diagnostic_text_is_masked_or_replaced() {
    let guard = Guard::new(&[&Secret::new(b"canary-canary".to_vec())]).unwrap();
    assert_eq!(guard.scrub("reset"), "reset");
    assert_eq!(guard.scrub("GET /?k=canary-canary"), format!("GET /?k={MARKER}"));
    assert_eq!(guard.scrub("GET /?k=Canary-Canary"), WITHHELD);
}
