//! Views of a text with one layer of encoding taken off: percent- and form-encoding, JSON strings,
//! HTML, line breaks. Undoing an encoding also finds what no list of its spellings could name, such
//! as `a%62c` or `a\u0062c`.

/// How many layers are taken off: a JSON string inside a percent-encoded value is two.
const LAYERS: usize = 2;

/// Takes one layer off; none where there is none.
type Unfold = fn(&[u8]) -> Option<Vec<u8>>;

/// Whether `found` holds for the text or for any view of it.
pub(super) fn any_view(text: &[u8], found: impl Fn(&[u8]) -> bool) -> bool {
    any_layer(text, LAYERS, &found)
}

fn any_layer(text: &[u8], layers: usize, found: &impl Fn(&[u8]) -> bool) -> bool {
    const UNFOLDS: [Unfold; 4] = [percent, backslash, entity, squeeze];
    found(text)
        || (layers > 0
            && UNFOLDS
                .iter()
                .filter_map(|unfold| unfold(text))
                .any(|view| any_layer(&view, layers - 1, found)))
}

/// `%41` (RFC 3986 section 2.1). A `+` stays: where it stands for a space, the list of shapes has it.
fn percent(text: &[u8]) -> Option<Vec<u8>> {
    replace(text, b'%', |rest, out| match hex(rest, 1, 2) {
        Some(byte) => {
            out.extend(u8::try_from(byte));
            3
        }
        None => 0,
    })
}

/// `\n`, `\/`, `\u0041` (RFC 8259 section 7) and the `\x41` of many other languages.
fn backslash(text: &[u8]) -> Option<Vec<u8>> {
    replace(text, b'\\', |rest, out| {
        let short = match rest.get(1) {
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(same @ (b'"' | b'\\' | b'/' | b'\'')) => *same,
            Some(b'x') => match hex(rest, 2, 2).map(u8::try_from) {
                Some(Ok(byte)) => {
                    out.push(byte);
                    return 4;
                }
                Some(Err(_)) | None => return 0,
            },
            Some(b'u') => return unicode(rest, out),
            Some(_) | None => return 0,
        };
        out.push(short);
        2
    })
}

/// One `\uXXXX`, or two that make one character.
fn unicode(rest: &[u8], out: &mut Vec<u8>) -> usize {
    let Some(first) = hex(rest, 2, 4) else { return 0 };
    let second = (rest.get(6..8) == Some(b"\\u")).then(|| hex(rest, 8, 4)).flatten();
    let (code, length) = match second {
        Some(second) if (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(&second) => {
            (0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00), 12)
        }
        Some(_) | None => (first, 6),
    };
    push_char(code, out).map_or(0, |()| length)
}

/// `&amp;`, `&#65;`, `&#x41;`: what an HTML page makes of a value.
fn entity(text: &[u8]) -> Option<Vec<u8>> {
    const NAMED: [(&[u8], u8); 5] =
        [(b"&amp;", b'&'), (b"&lt;", b'<'), (b"&gt;", b'>'), (b"&quot;", b'"'), (b"&apos;", b'\'')];
    replace(text, b'&', |rest, out| {
        if let Some((name, byte)) = NAMED.iter().find(|(name, _)| rest.starts_with(name)) {
            out.push(*byte);
            return name.len();
        }
        let Some(end) = rest.iter().take(12).position(|b| *b == b';') else { return 0 };
        let Some(digits) = rest.get(2..end).and_then(|digits| std::str::from_utf8(digits).ok()) else {
            return 0;
        };
        let code = match (rest.get(1), digits.strip_prefix(['x', 'X'])) {
            (Some(b'#'), Some(digits)) => u32::from_str_radix(digits, 16).ok(),
            (Some(b'#'), None) => digits.parse().ok(),
            (_, _) => None,
        };
        code.and_then(|code| push_char(code, out)).map_or(0, |()| end + 1)
    })
}

/// Without white space, where the text has more than one line: a long value may be broken into them.
fn squeeze(text: &[u8]) -> Option<Vec<u8>> {
    let lines = text.iter().any(|b| matches!(b, b'\r' | b'\n'));
    lines.then(|| text.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect())
}

/// Replaces every escape that begins with `lead`: `read` looks at the text from there on, writes
/// what it means and says how long it was, 0 where it is none. None: there was no escape at all.
fn replace(text: &[u8], lead: u8, read: impl Fn(&[u8], &mut Vec<u8>) -> usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = text;
    let mut changed = false;
    while let Some((before, escape)) =
        rest.iter().position(|b| *b == lead).and_then(|at| rest.split_at_checked(at))
    {
        out.extend_from_slice(before);
        let length = read(escape, &mut out);
        changed |= length > 0;
        if length == 0 {
            out.push(lead);
        }
        rest = escape.get(length.max(1)..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    changed.then_some(out)
}

fn hex(text: &[u8], from: usize, digits: usize) -> Option<u32> {
    let digits = text.get(from..from + digits)?;
    digits.iter().try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?))
}

fn push_char(code: u32, out: &mut Vec<u8>) -> Option<()> {
    let c = char::from_u32(code)?;
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    Some(())
}
