//! Field blocks in HPACK (RFC 7541).

use loona_hpack::Decoder;
use loona_hpack::encoder::encode_integer_into;
use std::io;

/// Names and values, as they came.
pub(super) type Fields = Vec<(String, String)>;

/// Writes fields as literals without indexing and without Huffman coding (RFC 7541 section 6.2.2):
/// no block depends on another, so a script may leave any of them out.
pub(super) fn encode<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            encode_integer_into(text.len(), 7, 0, &mut block).unwrap();
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

/// Reads a block; what is no UTF-8 is replaced.
pub(super) fn decode(decoder: &mut Decoder<'static>, block: &[u8]) -> io::Result<Fields> {
    let fields = decoder.decode(block).map_err(|error| io::Error::other(error.to_string()))?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(fields.into_iter().map(|(name, value)| (text(name), text(value))).collect())
}
