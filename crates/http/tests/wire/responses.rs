//! Offsets in a stream of responses, and errors in malformed ones.

use ackwise_http::{
    CHUNK_OVERHEAD_LIMIT, ChunkError, ChunkPart,
    CloseReason::*,
    Framing, FramingError, Method, Missing,
    Persistence::*,
    ResponseBuilder, ResponseErrorKind, ResponseEvent, ResponseParser, Version,
    response::{INTERIM_LIMIT, RESPONSE_HEAD_LIMIT, responses},
};

/// Parser events for `stream`, one line per event, as in a trace.
fn events(methods: &[Method], mut stream: &[u8]) -> Vec<String> {
    let mut parser = ResponseParser::new();
    methods.iter().for_each(|method| parser.expect(*method));
    let mut lines = Vec::new();
    while let Some(event) = parser.advance(&mut stream).unwrap() {
        lines.push(match event {
            ResponseEvent::Interim(head) => format!("{}..{} {}", head.start, head.end, head.status),
            ResponseEvent::Head(head) => {
                let (start, end, framing) = (head.start, head.end, head.framing);
                format!("{start}..{end} {} {framing:?} {:?}", head.status, head.persistence)
            }
            ResponseEvent::Content(bytes) => format!("\"{}\"", bytes.escape_ascii()),
            ResponseEvent::End(response) => format!("end {}", response.end),
            other => format!("{other:?}"),
        });
    }
    lines.extend(parser.handle_close().unwrap().map(|response| format!("close {}", response.end)));
    lines
}

#[test]
fn pipelined_responses_are_found_at_their_offsets() {
    let stream = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc\
        HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\
        HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        2;x\r\nde\r\n1\r\nf\r\n0\r\nT: t\r\n\r\n\
        HTTP/1.0 200 OK\r\n\r\nghi";
    assert_eq!(
        events(&[Method::Get, Method::Head, Method::Get, Method::Get], stream),
        [
            "0..38 200 Length(3) Persists",
            "\"abc\"",
            "end 41",
            "41..79 200 None Persists",
            "end 79",
            "79..104 100",
            "104..151 200 Chunked Persists",
            "\"de\"",
            "\"f\"",
            "end 177",
            "177..196 200 UntilClose Closes(UntilClose)",
            "\"ghi\"",
            "close 199",
        ]
    );
}

#[test]
fn what_a_client_asks_of_a_head() {
    let stream = b"HTTP/1.0 302 Found\r\nLocation: /next\r\nSERVER: Apache/1.1b4\r\n\
        Connection: Upgrade, Keep-Alive\r\nKeep-Alive: timeout=15, max=5\r\n\
        Accept-Ranges: bytes\r\nX-Folded: a\r\n b\r\nContent-Length: 0\r\n\r\n";
    let response = responses(stream).unwrap().remove(0);
    let head = response.head;
    assert_eq!((head.version, head.status), (Version::Http10, 302));
    assert_eq!(head.fields.text("location"), Some("/next"));
    assert_eq!(head.fields.text("Server"), Some("Apache/1.1b4"));
    assert_eq!(head.fields.text("accept-ranges"), Some("bytes"));
    assert_eq!(head.fields.first("x-folded"), Some(&b"a\r\n b"[..]));
    assert_eq!(head.fields.first("x-none"), None);
    assert_eq!(head.keep_alive.unwrap().max, Some(5));
    assert_eq!(head.content_length, Some(0));
    assert_eq!(head.persistence, Persists);
    assert_eq!(head.answers, None, "nothing was asked");
}

#[test]
fn heads_of_old_and_sloppy_servers_are_read() {
    for (head, framing, persistence) in [
        ("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", Framing::Length(0), Persists),
        ("HTTP/1.1 200 OK\nContent-Length: 0\n\n", Framing::Length(0), Persists),
        ("HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n", Framing::Length(0), Persists),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", Framing::None, Persists),
        ("HTTP/1.0 204 No Content\r\n\r\n", Framing::None, Closes(Http10Only)),
        (
            "HTTP/1.1 204 No Content\r\nConnection: x\r\nConnection: CLOSE\r\n\r\n",
            Framing::None,
            Closes(CloseOption),
        ),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", Framing::UntilClose, Closes(UntilClose)),
    ] {
        let response = responses(head.as_bytes()).unwrap().remove(0);
        assert_eq!(response.head.framing, framing, "{head}");
        assert_eq!(response.head.persistence, persistence, "{head}");
    }
}

#[test]
fn two_lengths_are_read_by_the_rule_and_close_the_connection() {
    let both =
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    let old =
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    for stream in [&both[..], old] {
        let head = responses(stream).unwrap().remove(0).head;
        assert_eq!((head.framing, head.persistence), (Framing::Chunked, Closes(FaultyFraming)));
    }
}

#[test]
fn an_error_says_what_and_where() {
    use ResponseErrorKind::{
        AfterLast, Chunk, Framing, Head, NotHttp, TooManyFields, UnexpectedEnd,
    };
    type IsExpected = fn(&ResponseErrorKind) -> bool;
    let ok = "HTTP/1.1 200 OK\r\n";
    let many = format!("{ok}{}\r\n", "a: b\r\n".repeat(257));
    #[rustfmt::skip]
    let table: &[(&str, u64, IsExpected)] = &[
        ("SSH-2.0-OpenSSH_9\r\n",                                   0,  |kind| matches!(kind, NotHttp(_))),
        ("HTTP/2.0 200 OK\r\n\r\n",                                 5,  |kind| matches!(kind, NotHttp(_))),
        ("\r\nHTTP/1.1 200 OK\r\n\r\n",                             0,  |kind| matches!(kind, NotHttp(_))),
        ("HTTP/1.1 204 No Content\r\n\r\nxyz",                      27, |kind| matches!(kind, NotHttp(_))),
        ("HTTP/1.7 200 OK\r\n\r\n",                                 0,  |kind| matches!(kind, Head(_))),
        ("HTTP/1.1 2000 OK\r\n\r\n",                                0,  |kind| matches!(kind, Head(_))),
        ("HTTP/1.1 200 OK\r\nA: b\r\n: c\r\nD: e\r\n\r\n",          23, |kind| matches!(kind, Head(_))),
        (&many,                                                      0,  |kind| *kind == TooManyFields),
        ("HTTP/1.1 200 OK\r\nContent-Length: a\r\n\r\n",            0,  |kind| *kind == Framing(FramingError::ContentLength)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n",         0,  |kind| *kind == Framing(FramingError::ConflictingLengths { first: 1, second: 2 })),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx",  47, |kind| *kind == Chunk(ChunkError::Size)),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab", 51, |kind| *kind == Chunk(ChunkError::LineEnd(ChunkPart::Data))),
        ("HTTP/1.1 200 OK\r\n",                                     17, |kind| *kind == UnexpectedEnd(Missing::Head)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",          40, |kind| *kind == UnexpectedEnd(Missing::Content { bytes: 7 })),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na", 51, |kind| *kind == UnexpectedEnd(Missing::LastChunk)),
        ("HTTP/1.0 204 No Content\r\n\r\nmore",                     27, |kind| matches!(kind, AfterLast(_))),
    ];
    for (stream, at, is_expected) in table {
        let error = responses(stream.as_bytes()).unwrap_err();
        assert!(is_expected(&error.kind), "{stream:?}: {error}");
        assert_eq!(error.at, *at, "{stream:?}: {error}");
    }
}

#[test]
fn messages_can_be_shown_to_a_person() {
    for (stream, message) in [
        (
            &b"\x15\x03\x01\x00\x02\x02\x16"[..],
            r#"expected "HTTP/1.", found "\x15\x03\x01\x00\x02\x02\x16": not HTTP (at byte 0 of the stream)"#,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
            "connection closed before 7 more bytes of content (at byte 40 of the stream)",
        ),
    ] {
        assert_eq!(responses(stream).unwrap_err().to_string(), message);
    }
}

#[test]
fn what_has_no_end_is_refused_at_its_limit() {
    let head = format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(RESPONSE_HEAD_LIMIT));
    let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(INTERIM_LIMIT as usize + 1);
    let trailer = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{}",
        "a: b\r\n".repeat(CHUNK_OVERHEAD_LIMIT)
    );
    for (stream, kind) in [
        (head, ResponseErrorKind::HeadTooLarge),
        (interim, ResponseErrorKind::TooManyInterim),
        (trailer, ResponseErrorKind::Chunk(ChunkError::TooLong(ChunkPart::Trailer))),
    ] {
        assert_eq!(responses(stream.as_bytes()).unwrap_err().kind, kind);
    }
    let mut largest = b"HTTP/1.1 204 x\r\nX: ".to_vec();
    largest.resize(RESPONSE_HEAD_LIMIT - 4, b'a');
    largest.extend(b"\r\n\r\n");
    assert_eq!(responses(&largest).unwrap().len(), 1);
}

#[test]
fn after_an_error_the_parser_says_the_same_again() {
    let mut parser = ResponseParser::new();
    let error = parser.advance(&mut &b"SSH-2.0"[..]).unwrap_err();
    assert_eq!(parser.advance(&mut &b"HTTP/1.1 200 OK\r\n\r\n"[..]).unwrap_err(), error);
    assert_eq!(parser.handle_close().unwrap_err(), error);
}

#[test]
fn a_parser_knows_what_is_outstanding() {
    let mut parser = ResponseParser::new();
    parser.expect(Method::Get);
    parser.expect(Method::Get);
    assert_eq!((parser.unanswered(), parser.is_within_response()), (2, false));
    let mut input = &b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"[..];
    while parser.advance(&mut input).unwrap().is_some() {}
    assert_eq!((parser.unanswered(), parser.is_within_response()), (1, true));
    assert!(matches!(parser.advance(&mut &b"x"[..]), Ok(Some(ResponseEvent::Content(b"x")))));
    assert!(matches!(parser.advance(&mut &b""[..]), Ok(Some(ResponseEvent::End(_)))));
    assert_eq!((parser.unanswered(), parser.is_within_response()), (1, false));
    assert_eq!(parser.handle_close(), Ok(None));
}

#[test]
fn a_status_line_has_the_phrase_of_rfc_9110() {
    // RFC 9110, section 15, and RFC 6585, section 5.
    for (status, phrase) in [
        (200, "OK"),
        (206, "Partial Content"),
        (302, "Found"),
        (400, "Bad Request"),
        (404, "Not Found"),
        (405, "Method Not Allowed"),
        (413, "Content Too Large"),
        (416, "Range Not Satisfiable"),
        (431, "Request Header Fields Too Large"),
        (501, "Not Implemented"),
        (505, "HTTP Version Not Supported"),
        // RFC 9112, section 4: the phrase may be absent, but not the space before it.
        (299, ""),
    ] {
        let head = ResponseBuilder::new(Version::Http11, status).encode().unwrap();
        assert_eq!(head, format!("HTTP/1.1 {status} {phrase}\r\n\r\n").as_bytes());
    }
}
