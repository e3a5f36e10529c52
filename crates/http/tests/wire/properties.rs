//! Properties that hold for every stream, however it is split.

use ackwise_http::{
    Method, RequestParser, Response, ResponseBuilder, ResponseError, ResponseEvent, ResponseParser,
    Version, response::responses,
};
use proptest::prelude::*;

/// All output of a parser, with the reassembled content of the bodies.
#[derive(Debug, PartialEq)]
struct Parsed {
    interim: usize,
    responses: Vec<(Response, Vec<u8>)>,
}

/// Parses `pieces` in order, followed by a close.
fn parse<'p>(
    methods: &[Method],
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> Result<Parsed, ResponseError> {
    let mut parser = ResponseParser::new();
    methods.iter().for_each(|method| parser.expect(*method));
    let mut parsed = Parsed { interim: 0, responses: Vec::new() };
    let mut content = Vec::new();
    for mut piece in pieces {
        while let Some(event) = parser.advance(&mut piece)? {
            match event {
                ResponseEvent::Interim(_) => parsed.interim += 1,
                ResponseEvent::Content(bytes) => content.extend_from_slice(bytes),
                ResponseEvent::End(response) => {
                    parsed.responses.push((response, std::mem::take(&mut content)));
                }
                _ => {}
            }
        }
        assert!(piece.is_empty(), "None means used up");
    }
    parsed.responses.extend(parser.handle_close()?.map(|response| (response, content)));
    Ok(parsed)
}

/// A response as a server may send it: method of the request, bytes, content.
fn any_response() -> impl Strategy<Value = (Method, Vec<u8>, Vec<u8>)> {
    let body = prop::collection::vec(any::<u8>(), 0..200);
    (body, 0..5_u8, any::<bool>(), "[a-zA-Z]{1,9}", "[ -~]{0,20}").prop_map(
        |(body, kind, interim, name, value)| {
            let head = ResponseBuilder::new(Version::Http11, if kind == 3 { 304 } else { 200 })
                .field(format!("X-{name}"), value.trim());
            let length = body.len().to_string();
            let (method, head, sent, content) = match kind {
                0 => (Method::Get, head.field("Content-Length", length), body.clone(), body),
                1 => {
                    let head = head.field("Transfer-Encoding", "chunked");
                    (Method::Get, head, chunked(&body), body)
                }
                2 => (Method::Head, head.field("Content-Length", length), vec![], vec![]),
                3 => (Method::Get, head, vec![], vec![]),
                _ => (Method::Get, head.field("Content-Length", "0"), vec![], vec![]),
            };
            let mut bytes = Vec::new();
            if interim {
                bytes.extend(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
            }
            bytes.extend(head.encode().unwrap());
            bytes.extend(sent);
            (method, bytes, content)
        },
    )
}

fn chunked(body: &[u8]) -> Vec<u8> {
    let mut coded = Vec::new();
    for (nth, chunk) in body.chunks(33).enumerate() {
        coded.extend(
            format!("{:X}{}\r\n", chunk.len(), if nth % 2 == 0 { "" } else { ";e=1" }).bytes(),
        );
        coded.extend(chunk);
        coded.extend(b"\r\n");
    }
    coded.extend(b"0\r\nTrailer: t\r\n\r\n");
    coded
}

/// Bytes that resemble HTTP enough to reach deep into the parser.
fn http_like() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.0 204 \r\n",
        "HTTP/1.1 100 C\r\n",
        "GET / HTTP/1.1\r\n",
        "POST /1 HTTP/1.0\r\n",
        "Host: h\r\n",
        "Content-Length: 5\r\n",
        "Content-Length: 6\r\n",
        "Content-Length: 18446744073709551615\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close\r\n",
        "Keep-Alive: max=1, timeout=\r\n",
        "\r\n",
        "\n",
        "\r",
        " ",
        "0\r\n\r\n",
        "5\r\nhello\r\n",
        "ffffffffffffffff\r\n",
        "5;",
        "\0",
        "\u{ff}",
        ": ",
        ",",
        "HTTP/1.",
    ];
    let word = prop_oneof![
        prop::sample::select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(word, 0..30).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn a_cut_anywhere_changes_nothing(
        sent in prop::collection::vec(any_response(), 1..4),
    ) {
        let methods: Vec<_> = sent.iter().map(|(method, ..)| *method).collect();
        let stream: Vec<u8> = sent.iter().flat_map(|(_, bytes, _)| bytes.clone()).collect();
        let whole = parse(&methods, [&stream[..]]).unwrap();

        let contents: Vec<_> = whole.responses.iter().map(|(_, content)| content).collect();
        let sent_contents: Vec<_> = sent.iter().map(|(_, _, content)| content).collect();
        prop_assert_eq!(contents, sent_contents);
        prop_assert_eq!(whole.responses.last().unwrap().0.end, stream.len() as u64);

        for cut in 0..=stream.len() {
            let (before, after) = stream.split_at(cut);
            prop_assert_eq!(&parse(&methods, [before, after]).unwrap(), &whole, "cut at {}", cut);
        }
        prop_assert_eq!(&parse(&methods, stream.chunks(1)).unwrap(), &whole);
    }

    #[test]
    fn no_response_makes_a_parser_panic(stream in http_like(), size in 1..64_usize) {
        let whole = responses(&stream).map(|responses| responses.len());
        let pieces = parse(&[], stream.chunks(size)).map(|parsed| parsed.responses.len());
        prop_assert_eq!(whole.ok(), pieces.ok());
        if let (Err(whole), Err(pieces)) = (whole, pieces) {
            prop_assert_eq!(whole.at, pieces.at);
            prop_assert!(whole.at <= stream.len() as u64);
            prop_assert!(!whole.to_string().is_empty());
        }
    }

    #[test]
    fn no_request_makes_a_parser_panic(stream in http_like(), size in 1..64_usize) {
        let parse = |pieces: &mut dyn Iterator<Item = &[u8]>| {
            let mut parser = RequestParser::new();
            let mut requests = Vec::new();
            for mut piece in pieces {
                while let Some(request) = parser.advance(&mut piece)? {
                    requests.push(request);
                }
            }
            Ok::<_, ackwise_http::RequestError>(requests)
        };
        let whole = parse(&mut std::iter::once(&stream[..]));
        prop_assert_eq!(parse(&mut stream.chunks(size)), whole);
    }
}
