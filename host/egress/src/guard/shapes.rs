//! How a secret may come back in a form that [`unfold`](super::unfold) does not undo: as it is, in
//! hexadecimal digits, and inside a longer base64 text. Percent-, form-, JSON- and HTML-encoded
//! texts are unfolded first, so that every mixture of them is the plain shape again.
//!
//! Letters' case does not matter to the matcher, so that one spelling of hexadecimal digits is
//! enough.

use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD, Encoding, HEXLOWER};

/// The shortest piece of a secret that counts, in bytes.
const SHORTEST_PIECE: usize = 8;

/// Every shape of the long pieces of every secret, each once. Each shape of a whole secret begins
/// with a shape of its first piece.
pub(super) fn all(secrets: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut shapes = Vec::new();
    for secret in secrets {
        let piece = SHORTEST_PIECE.max(secret.len().div_ceil(2)).min(secret.len());
        let (first, last) = (secret.get(..piece), secret.get(secret.len() - piece..));
        first.into_iter().chain(last).for_each(|piece| of(piece, &mut shapes));
    }
    shapes.sort_unstable();
    shapes.dedup();
    shapes
}

fn of(piece: &[u8], shapes: &mut Vec<Vec<u8>>) {
    shapes.push(piece.to_vec());
    // A form writes a space as `+` (WHATWG URL section 5.2), which unfolding leaves.
    shapes.push(piece.iter().map(|b| if *b == b' ' { b'+' } else { *b }).collect());
    shapes.push(HEXLOWER.encode(piece).into_bytes());
    for encoding in [&BASE64_NOPAD, &BASE64URL_NOPAD] {
        for lead in 0..3 {
            shapes.push(base64(encoding, piece, lead));
        }
    }
}

/// The characters of a base64 text that this piece alone decides when `lead` (modulo 3) bytes stand
/// before it: those that it shares with its neighbours are left off.
fn base64(encoding: &Encoding, piece: &[u8], lead: usize) -> Vec<u8> {
    let mut padded = vec![0; lead];
    padded.extend_from_slice(piece);
    let text = encoding.encode(&padded).into_bytes();
    let from = (lead * 8).div_ceil(6);
    let to = padded.len() * 8 / 6;
    text.get(from..to).unwrap_or_default().to_vec()
}
