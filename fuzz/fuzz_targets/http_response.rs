//! A server that may send anything: the parser does not panic, ends, and says the same however the
//! stream is cut into segments.
//!
//! The first byte of an input says to which requests the stream answers, two bits each; the second
//! into how long pieces it is cut.

#![no_main]

use core::mem::{Discriminant, discriminant};

use ackwise_http::{Method, Response, ResponseErrorKind, ResponseEvent, ResponseParser};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [methods, piece, stream @ ..] = input else { return };
    let whole = read(*methods, stream, stream.len().max(1));
    let cut = read(*methods, stream, usize::from(*piece).max(1));
    assert_eq!(whole, cut, "pieces of {piece} bytes");
});

/// All that a parser tells of a stream.
#[derive(Debug, Default, PartialEq)]
struct Told {
    interim: usize,
    content: Vec<u8>,
    responses: Vec<Response>,
    /// Where and of which kind: what it quotes from the stream depends on how much was there.
    error: Option<(u64, Discriminant<ResponseErrorKind>)>,
}

fn read(methods: u8, stream: &[u8], piece: usize) -> Told {
    let mut parser = ResponseParser::new();
    (0..4).for_each(|index| parser.expect(method(methods >> (2 * index))));
    let mut told = Told::default();
    for mut segment in stream.chunks(piece) {
        // At most one event without a byte for each with one, and some for the start.
        for _ in 0..=2 * segment.len() + 8 {
            match parser.advance(&mut segment) {
                Ok(None) => break,
                Ok(Some(event)) => note(event, &mut told),
                Err(error) => {
                    return Told { error: Some((error.at, discriminant(&error.kind))), ..told };
                }
            }
        }
        assert!(segment.is_empty(), "{} bytes are never taken", segment.len());
    }
    assert_eq!(parser.offset(), stream.len() as u64);
    match parser.handle_close() {
        Ok(last) => told.responses.extend(last),
        Err(error) => told.error = Some((error.at, discriminant(&error.kind))),
    }
    told
}

fn note(event: ResponseEvent<'_>, told: &mut Told) {
    match event {
        ResponseEvent::Interim(_) => told.interim += 1,
        ResponseEvent::Content(content) => told.content.extend(content),
        ResponseEvent::End(response) => told.responses.push(response),
        _ => {}
    }
}

fn method(bits: u8) -> Method {
    match bits & 3 {
        0 | 1 => Method::Get,
        2 => Method::Head,
        _ => Method::Connect,
    }
}
