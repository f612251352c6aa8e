//! Views of a text with one layer of encoding taken off: percent- and form-encoding, JSON strings,
//! HTML, line breaks. Undoing an encoding also finds what no list of its spellings could name, such
//! as `a%62c` or `a\u0062c`.

/// How many layers are taken off: a JSON string inside a percent-encoded value is two.
pub(super) const LAYERS: usize = 2;

/// The longest escape, in bytes: two `\uXXXX`, or as much of an HTML entity as is looked at. With so
/// many bytes from its lead on, an escape is read as in the whole text.
pub(super) const LONGEST_ESCAPE: usize = 12;

/// One way of escaping bytes.
pub(super) struct Escape {
    /// The byte that every escape begins with.
    pub(super) lead: u8,
    /// Looks at a text that begins with the lead, writes what the escape means and says how long it was,
    /// 0 where it is none.
    pub(super) read: fn(&[u8], &mut Vec<u8>) -> usize,
}

/// Every way of escaping that is undone.
pub(super) const ESCAPES: [Escape; 3] = [
    Escape { lead: b'%', read: percent },
    Escape { lead: b'\\', read: backslash },
    Escape { lead: b'&', read: entity },
];

/// Whether `found` holds for the text or for any view of it.
pub(super) fn any_view(text: &[u8], found: impl Fn(&[u8]) -> bool) -> bool {
    any_layer(text, LAYERS, &found)
}

fn any_layer(text: &[u8], layers: usize, found: &impl Fn(&[u8]) -> bool) -> bool {
    found(text)
        || (layers > 0
            && ESCAPES
                .iter()
                .filter_map(|escape| replace(text, escape))
                .chain(squeeze(text))
                .any(|view| any_layer(&view, layers - 1, found)))
}

/// `%41` (RFC 3986 section 2.1). A `+` stays: where it stands for a space, the list of shapes has it.
fn percent(rest: &[u8], out: &mut Vec<u8>) -> usize {
    match hex(rest, 1, 2) {
        Some(byte) => {
            out.extend(u8::try_from(byte));
            3
        }
        None => 0,
    }
}

/// `\n`, `\/`, `\u0041` (RFC 8259 section 7) and the `\x41` of many other languages.
fn backslash(rest: &[u8], out: &mut Vec<u8>) -> usize {
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
fn entity(rest: &[u8], out: &mut Vec<u8>) -> usize {
    const NAMED: [(&[u8], u8); 5] =
        [(b"&amp;", b'&'), (b"&lt;", b'<'), (b"&gt;", b'>'), (b"&quot;", b'"'), (b"&apos;", b'\'')];
    if let Some((name, byte)) = NAMED.iter().find(|(name, _)| rest.starts_with(name)) {
        out.push(*byte);
        return name.len();
    }
    let Some(end) = rest.iter().take(LONGEST_ESCAPE).position(|b| *b == b';') else { return 0 };
    let Some(digits) = rest.get(2..end).and_then(|digits| std::str::from_utf8(digits).ok()) else {
        return 0;
    };
    let code = match (rest.get(1), digits.strip_prefix(['x', 'X'])) {
        (Some(b'#'), Some(digits)) => u32::from_str_radix(digits, 16).ok(),
        (Some(b'#'), None) => digits.parse().ok(),
        (_, _) => None,
    };
    code.and_then(|code| push_char(code, out)).map_or(0, |()| end + 1)
}

/// Without white space, where the text has more than one line: a long value may be broken into them.
fn squeeze(text: &[u8]) -> Option<Vec<u8>> {
    text.iter()
        .any(is_line_break)
        .then(|| text.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect())
}

pub(super) const fn is_line_break(byte: &u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// Replaces every escape. None: there was none at all.
fn replace(text: &[u8], escape: &Escape) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut changed = false;
    let rest = unfold(text, escape, 1, &mut out, &mut changed);
    out.extend_from_slice(rest);
    changed.then_some(out)
}

/// Replaces escapes as long as `needed` bytes are left from the lead on, and returns what is left.
pub(super) fn unfold<'t>(
    text: &'t [u8],
    escape: &Escape,
    needed: usize,
    out: &mut Vec<u8>,
    changed: &mut bool,
) -> &'t [u8] {
    let mut rest = text;
    while let Some((before, from)) =
        rest.iter().position(|b| *b == escape.lead).and_then(|at| rest.split_at_checked(at))
    {
        out.extend_from_slice(before);
        if from.len() < needed {
            return from;
        }
        let length = (escape.read)(from, out);
        *changed |= length > 0;
        if length == 0 {
            out.push(escape.lead);
        }
        rest = from.get(length.max(1)..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    &[]
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
