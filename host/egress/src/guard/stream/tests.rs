use super::*;
use proofport_core::secret::Secret;
use proptest::prelude::*;

fn guard(secrets: &[&[u8]]) -> Arc<Guard> {
    let secrets: Vec<Secret> = secrets.iter().map(|secret| Secret::new(secret.to_vec())).collect();
    Arc::new(Guard::new(&secrets.iter().collect::<Vec<_>>()).unwrap())
}

/// What came out in all, and the hits; or what had come out when the text was withheld.
fn stream<'t>(guard: &Arc<Guard>, pieces: impl Iterator<Item = &'t [u8]>) -> Result<(Vec<u8>, u32), Vec<u8>> {
    let mut stream = GuardStream::new(Arc::clone(guard));
    let mut out = Vec::new();
    for piece in pieces {
        match stream.push(piece) {
            Ok(bytes) => out.extend_from_slice(&bytes),
            Err(Withheld) => {
                assert_eq!(stream.push(b"more"), Err(Withheld));
                assert_eq!(stream.finish(), Err(Withheld));
                return Err(out);
            }
        }
    }
    match stream.finish() {
        Ok((rest, hits)) => Ok(([out, rest].concat(), hits)),
        Err(Withheld) => Err(out),
    }
}

/// In these pieces as in the whole.
fn check<'t>(guard: &Arc<Guard>, text: &[u8], pieces: impl Iterator<Item = &'t [u8]>) {
    let scan = guard.scan(text.to_vec());
    let got = stream(guard, pieces);
    assert_eq!(
        got.as_ref().ok().map(|(bytes, hits)| (bytes, *hits)),
        scan.bytes.as_ref().map(|bytes| (bytes, scan.hits)),
        "{}",
        String::from_utf8_lossy(text)
    );
}

fn check_splits(guard: &Arc<Guard>, text: &[u8]) {
    for size in [1, 2, 3, 5, 7, 12, 13, 64, text.len().max(1)] {
        check(guard, text, text.chunks(size));
    }
}

/// Each byte as the longest escape that is read.
fn entities(text: &[u8]) -> Vec<u8> {
    text.iter().flat_map(|byte| format!("&#{byte:09};").into_bytes()).collect()
}

#[test]
fn pieces_are_read_like_the_whole() {
    let guard = guard(&[b"canary/canary"]);
    for text in [
        "",
        "canary/canary",
        "[canary/canary][canary/canary]",
        "canary/canarycanary/canar",
        "Canary/canary",
        "x canary%2Fcanary",
        "x canary%252Fcanary",
        "x canary%25252Fcanary",
        r"x canary\u002fcanary\",
        r"\\\\\canary\/canary",
        r"\u005Cu002fcanar \\u0063anary",
        "%5C\\\\\\\\\\u0063anary/canar",
        "canary&#x2f;can&#97;ry",
        "%",
        "%2",
        "&#9",
        "canary/canar%",
        // What ends one view's escape is no part of another's.
        "canary\\u00%32fcanary",
        "canary%\r\n2fcanary",
        "canary&#x2\\u0066;canary",
        "canary/canar%79",
        "canary/canar\\u0079",
        "ca nary/can ary",
        "ca nary/can ary\n",
        "\nca nary/can ary",
        "ca nary/can ary %0A",
        "%0A ca nary/can ary",
        "%41 ca nary/can ary \\n",
        "\\n and then much that is plain, ca nary/can ary",
        "ca%20nary/can%20ary\r",
        "Y2FuYXJ5\r\nL2NhbmFy\r\neQ==",
        "Y2FuYXJ5\\nL2NhbmFy\\neQ==",
    ] {
        check_splits(&guard, text.as_bytes());
        // A block and more of something else, before and between, so that views end and begin again.
        for other in ["plain ", "100% & \\ ", "%20\\n&amp;"] {
            check(&guard, text.as_bytes(), text.as_bytes().chunks(4));
            let long = [other.repeat(1500).as_bytes(), text.as_bytes()].concat();
            check(&guard, &long, long.chunks(1000));
            let long = [long.as_slice(), other.repeat(1500).as_bytes(), text.as_bytes()].concat();
            check(&guard, &long, long.chunks(1001));
        }
    }
}

#[test]
fn no_byte_of_a_shape_leaves() {
    let guard = guard(&[b"canary-canary"]);
    let plain = b"plain ".repeat(5000);
    let secret = b"Canary-Canary";
    let twice = entities(&entities(secret));
    let hex = data_encoding::HEXLOWER.encode(b"canary-canary").into_bytes();
    for shape in [secret.as_slice(), &entities(secret), &twice, &hex, &entities(&entities(&hex))] {
        let text = [plain.as_slice(), shape].concat();
        for size in [1, 100, 4096] {
            let left = stream(&guard, text.chunks(size)).unwrap_err();
            assert!(text.starts_with(&left) && left.len() <= plain.len(), "{}", left.len());
        }
    }
    // What is held back is bounded.
    let mut passing = GuardStream::new(Arc::clone(&guard));
    let passed: usize = plain.chunks(100).map(|piece| passing.push(piece).unwrap().len()).sum();
    let held = guard.matchers.as_ref().unwrap().held_back();
    assert!(passed + held + secret.len() >= plain.len() && passed < plain.len());
}

#[test]
fn without_a_secret_a_piece_is_passed_as_it_is() {
    let mut passing = GuardStream::new(Arc::new(Guard::none()));
    let piece = b"canary".to_vec();
    let passed = passing.push(&piece).unwrap();
    assert!(matches!(passed, Cow::Borrowed(bytes) if std::ptr::eq(bytes, piece.as_slice())));
    assert_eq!(passing.finish(), Ok((Vec::new(), 0)));
}

/// A secret that looks like escapes and repeats itself.
fn secrets() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = prop_oneof![
        4 => prop::sample::select(b"aAbB".to_vec()),
        1 => prop::sample::select(b"%\\&;#un4 \n+/[".to_vec()),
    ];
    prop::collection::vec(prop::collection::vec(byte, 8..24), 1..3)
}

/// How a piece of a text is written.
fn write(how: u8, text: &[u8]) -> Vec<u8> {
    let each = |one: fn(u8) -> String| text.iter().flat_map(|b| one(*b).into_bytes()).collect();
    match how {
        0 => each(|b| format!("%{b:02x}")),
        1 => each(|b| format!("\\u{b:04X}")),
        2 => each(|b| format!("\\x{b:02x}")),
        3 => each(|b| format!("&#{b};")),
        4 => entities(text),
        5 => text.chunks(3).flat_map(|line| [line, b"\r\n "].concat()).collect(),
        6 => text.chunks(2).flat_map(|word| [word, b" "].concat()).collect(),
        7 => data_encoding::BASE64.encode(text).into_bytes(),
        8 => data_encoding::HEXLOWER.encode(text).into_bytes(),
        9 => text.to_ascii_uppercase(),
        // Only some of it.
        10 => text.iter().enumerate().fold(Vec::new(), |mut out, (at, b)| {
            out.extend(if at % 3 == 0 { format!("%{b:02X}").into_bytes() } else { vec![*b] });
            out
        }),
        _ => text.to_vec(),
    }
}

/// Which secret, how much of it, and how it is written, one way over the other; or other bytes.
#[derive(Clone, Debug)]
enum Part {
    Secret(usize, usize, Vec<u8>),
    Other(Vec<u8>),
    Long(u8),
}

fn part() -> impl Strategy<Value = Part> {
    let other = prop::sample::select(b"aAbB%\\&;#xu0041n25c \t\n[m".to_vec());
    prop_oneof![
        6 => (0..2_usize, 0..9_usize, prop::collection::vec(0..12_u8, 0..3))
            .prop_map(|(which, less, how)| Part::Secret(which, less, how)),
        6 => prop::collection::vec(other, 0..12).prop_map(Part::Other),
        1 => prop::sample::select(b"xaA ".to_vec()).prop_map(Part::Long),
    ]
}

fn whole(secrets: &[Vec<u8>], parts: &[Part]) -> Vec<u8> {
    let one = |part: &Part| match part {
        Part::Secret(which, less, how) => {
            let secret = &secrets[which % secrets.len()];
            let piece = secret[..secret.len() - less.min(&7)].to_vec();
            how.iter().fold(piece, |text, how| write(*how, &text))
        }
        Part::Other(bytes) => bytes.clone(),
        Part::Long(byte) => vec![*byte; 5000],
    };
    parts.iter().flat_map(one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_in_any_pieces_is_read_like_the_whole(
        secrets in secrets(),
        parts in prop::collection::vec(part(), 0..8),
        sizes in prop::collection::vec(prop_oneof![1..4_usize, 1..40_usize, 1..6000_usize], 1..12),
    ) {
        let guard = guard(&secrets.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let text = whole(&secrets, &parts);
        let mut rest = text.as_slice();
        let mut sizes = sizes.iter().cycle();
        let pieces = std::iter::from_fn(|| {
            let (piece, after) = rest.split_at(rest.len().min(*sizes.next()?));
            rest = after;
            (!piece.is_empty()).then_some(piece)
        });
        check(&guard, &text, pieces);
    }
}
