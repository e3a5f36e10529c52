//! How a server parses clients' requests.

use ackwise_http::{
    ConnectionOption, Method, Request, RequestBuilder, RequestError, RequestErrorKind,
    RequestParser, Version,
    request::{REQUEST_BODY_LIMIT, REQUEST_HEAD_LIMIT},
};

fn parse(mut stream: &[u8]) -> Result<Vec<Request>, RequestError> {
    let mut parser = RequestParser::new();
    let mut requests = Vec::new();
    while let Some(request) = parser.advance(&mut stream)? {
        requests.push(request);
    }
    Ok(requests)
}

#[test]
fn what_is_built_is_what_is_parsed() {
    let bytes = RequestBuilder::new(Method::Head, "localhost:80", "/300?x")
        .version(Version::Http10)
        .connection(ConnectionOption::KeepAlive)
        .field("Range", "bytes=0-9")
        .encode()
        .unwrap();
    let request = parse(&bytes).unwrap().remove(0);
    assert_eq!((request.start, request.end), (0, bytes.len() as u64));
    assert_eq!((request.method, request.version), (Method::Head, Version::Http10));
    assert_eq!((request.target.as_str(), request.path()), ("/300?x", "/300"));
    assert!(request.connection.keep_alive && !request.connection.close);
    assert_eq!(request.fields.text("host"), Some("localhost:80"));
    assert_eq!(request.fields.text("range"), Some("bytes=0-9"));
}

#[test]
fn a_target_names_a_path() {
    for (target, path) in [
        ("/", "/"),
        ("/a/b?c/d", "/a/b"),
        ("http://h:1/a?b", "/a"),
        ("http://h", "/"),
        ("/a://b", "/a://b"),
        ("*", "*"),
    ] {
        let bytes = RequestBuilder::get("h", target).encode().unwrap();
        assert_eq!(parse(&bytes).unwrap()[0].path(), path, "{target}");
    }
}

#[test]
fn pipelined_requests_and_their_content_are_told_apart() {
    let stream =
        b"\r\nPOST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nGET GET /2 HTTP/1.1\r\n\
        Host: h\r\n\r\nPOST /3 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\
        3\r\nGET\r\n0\r\n\r\nGET /4 HTTP/1.0\r\n\r\n";
    let requests = parse(stream).unwrap();
    let targets: Vec<_> = requests.iter().map(|request| request.target.as_str()).collect();
    assert_eq!(targets, ["/1", "/2", "/3", "/4"]);
    assert_eq!(requests[0].start, 2);
    assert!(requests.windows(2).all(|pair| pair[0].end == pair[1].start));
    assert_eq!(requests[3].end, stream.len() as u64);
}

#[test]
fn an_error_says_what_and_where_and_which_status_tells_the_client() {
    let get = "GET / HTTP/1.1\r\n";
    let long = format!("{get}X: {}", "a".repeat(REQUEST_HEAD_LIMIT));
    let lines = "\r\n".repeat(REQUEST_HEAD_LIMIT);
    let many = format!("{get}{}\r\n", "a: b\r\n".repeat(257));
    for (stream, at, status) in [
        ("GET / HTTP/1.1\r\nHost: h\r\nbad line\r\n\r\n", 25, 400),
        ("\x16\x03\x01\r\n\r\n", 0, 400),
        ("GET / HTTP/1.1\r\n\r\n", 0, 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 0, 400),
        ("GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", 25, 400),
        ("get / HTTP/1.1\r\nHost: h\r\n\r\n", 0, 501),
        ("GET / HTTP/3.0\r\nHost: h\r\n\r\n", 0, 505),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 65537\r\n\r\n", 0, 413),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nz", 56, 400),
        (&long, 0, 431),
        (&many, 0, 431),
        (&lines, REQUEST_HEAD_LIMIT as u64 + 1, 431),
    ] {
        let error = parse(stream.as_bytes()).unwrap_err();
        assert_eq!((error.at, error.kind.status()), (at, status), "{error}");
    }
}

#[test]
fn content_of_the_largest_size_is_accepted() {
    let size = usize::try_from(REQUEST_BODY_LIMIT).unwrap();
    let content = "a".repeat(size);
    let post = "POST / HTTP/1.1\r\nHost: h\r\n";
    for stream in [
        format!("{post}Content-Length: {size}\r\n\r\n{content}"),
        format!("{post}Transfer-Encoding: chunked\r\n\r\n{size:x}\r\n{content}\r\n0\r\n\r\n"),
    ] {
        let requests = parse(stream.as_bytes()).unwrap();
        assert_eq!(requests[0].end, stream.len() as u64);
    }
}

#[test]
fn a_head_is_known_before_its_content_and_the_limit_can_be_raised() {
    let length = REQUEST_BODY_LIMIT + 1;
    let head = format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
    let mut parser = RequestParser::new().with_content_limit(length);
    assert_eq!(parser.advance(&mut head.as_bytes()), Ok(None));
    let pending = parser.pending().expect("its content is to come");
    assert_eq!((pending.method, pending.end), (Method::Put, head.len() as u64));
    let content = vec![0; usize::try_from(length).unwrap()];
    let request = parser.advance(&mut &content[..]).unwrap().expect("it is complete");
    assert_eq!((request.end, parser.pending()), (head.len() as u64 + length, None));
}

#[test]
fn content_in_chunks_has_a_limit_too() {
    let mut stream = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..=64 {
        stream.extend(b"400\r\n");
        stream.extend([b'a'; 1024]);
        stream.extend(b"\r\n");
    }
    assert_eq!(parse(&stream).unwrap_err().kind, RequestErrorKind::BodyTooLarge);
}
