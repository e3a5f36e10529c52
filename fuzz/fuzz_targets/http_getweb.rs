//! A peer that may send anything as a GETWEB or as its index: neither parser panics, both say the same however the
//! stream is cut, and an index that was read can be written and read again.
//!
//! The first byte of an input says into how long pieces it is cut.

#![no_main]

use ackwise_http::{
    RequestParser,
    getweb::{Entry, IndexError, IndexParser, encode_index, held, is_path},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [piece, stream @ ..] = input else { return };
    let piece = usize::from(*piece).max(1);

    let whole = index(stream, stream.len().max(1));
    assert_eq!(whole, index(stream, piece), "pieces of {piece} bytes");
    if let Ok(Some(entries)) = whole
        && let Ok(written) = encode_index(&entries)
    {
        assert_eq!(index(&written, piece), Ok(Some(entries)));
    }

    let mut parser = RequestParser::new().with_getweb().with_client_close();
    for mut segment in stream.chunks(piece) {
        while let Ok(Some(request)) = parser.advance(&mut segment) {
            assert!(held(&request.fields).into_iter().all(is_path));
        }
    }
});

fn index(stream: &[u8], piece: usize) -> Result<Option<Vec<Entry>>, IndexError> {
    let mut parser = IndexParser::new();
    for mut segment in stream.chunks(piece) {
        if let Some(entries) = parser.advance(&mut segment)? {
            return Ok(Some(entries));
        }
    }
    Ok(None)
}
