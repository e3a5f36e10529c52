//! CLIENT_CLOSE as parsed by servers.

use ackwise_http::{
    EncodeError, Method, Request, RequestError, RequestErrorKind, RequestParser, client_close,
};

fn parse(parser: RequestParser, mut stream: &[u8]) -> Result<Vec<Request>, RequestError> {
    let mut parser = parser;
    let mut requests = Vec::new();
    while let Some(request) = parser.advance(&mut stream)? {
        requests.push(request);
    }
    Ok(requests)
}

fn knowing() -> RequestParser {
    RequestParser::new().with_client_close()
}

#[test]
fn what_a_client_writes_is_what_a_server_recognises() {
    let mut stream = b"GET /1 HTTP/1.1\r\nHost: h\r\n\r\n".to_vec();
    stream.extend(client_close::encode("h:8080").unwrap());
    let requests = parse(knowing(), &stream).unwrap();
    let closes: Vec<bool> = requests.iter().map(Request::is_client_close).collect();
    assert_eq!(closes, [false, true]);
    assert_eq!(requests[1].method, Method::ClientClose);
    assert_eq!(requests[1].fields.text("Host"), Some("h:8080"));
    assert_eq!(client_close::encode("h\r\nX: y").map_err(|_: EncodeError| ()), Err(()));
}

#[test]
fn in_pieces_it_is_the_same() {
    let stream = client_close::encode("h").unwrap();
    let mut parser = knowing();
    for (index, byte) in stream.iter().enumerate() {
        let request = parser.advance(&mut &[*byte][..]).unwrap();
        assert_eq!(request.is_some(), index + 1 == stream.len());
    }
}

/// Result of a CLIENT_CLOSE followed by another request.
#[derive(Debug, Eq, PartialEq)]
enum Outcome {
    Closes,
    /// An ordinary request, answered with a 501; the next request is read.
    Answered,
    Refused(u16),
}

fn outcome(parser: RequestParser, head: &str) -> Outcome {
    let stream = format!("{head}\r\nGET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
    match parse(parser, stream.as_bytes()) {
        Ok(requests) if requests[0].is_client_close() => Outcome::Closes,
        Ok(requests) => {
            assert_eq!(requests[1].method, Method::Get);
            Outcome::Answered
        }
        Err(error) => Outcome::Refused(error.kind.status()),
    }
}

#[test]
fn of_another_form_it_is_refused_and_through_a_proxy_it_closes_nothing() {
    #[rustfmt::skip]
    let table = [
        ("CLIENT_CLOSE * HTTP/1.1\r\nHost: h\r\n",                              Outcome::Closes),
        ("CLIENT_CLOSE * HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n",         Outcome::Closes),
        ("CLIENT_CLOSE * HTTP/1.1\r\nHost: h\r\nX-Unknown: 1\r\n",              Outcome::Closes),
        ("CLIENT_CLOSE * HTTP/1.1\r\nVia: 1.1 p\r\nHost: h\r\n",                Outcome::Answered),
        ("CLIENT_CLOSE * HTTP/1.1\r\n",                                         Outcome::Refused(400)),
        ("CLIENT_CLOSE / HTTP/1.1\r\nHost: h\r\n",                              Outcome::Refused(400)),
        ("CLIENT_CLOSE http://h/ HTTP/1.1\r\nHost: h\r\n",                      Outcome::Refused(400)),
        ("CLIENT_CLOSE * HTTP/1.0\r\nHost: h\r\n",                              Outcome::Refused(400)),
        ("CLIENT_CLOSE * HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n",         Outcome::Refused(400)),
        ("CLIENT_CLOSE * HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n", Outcome::Refused(400)),
        ("client_close * HTTP/1.1\r\nHost: h\r\n",                              Outcome::Refused(501)),
    ];
    for (head, expected) in table {
        assert_eq!(outcome(knowing(), head), expected, "{head}");
    }
}

#[test]
fn who_does_not_know_it_does_not_implement_it() {
    let stream = client_close::encode("h").unwrap();
    let error = parse(RequestParser::new(), &stream).unwrap_err();
    assert_eq!((error.kind, error.kind.status()), (RequestErrorKind::Method, 501));
}
