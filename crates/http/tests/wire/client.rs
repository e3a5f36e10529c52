//! Which response belongs to which request of a client.

use ackwise_http::{
    Method, Persistence, ResponseErrorKind,
    client::{ClientConnection, ClientError, ClientEvent},
};

/// Requests, what arrives, whether the server closes then, and what each request got: content and status.
type Case<'a> = (&'a [Method], &'a str, bool, &'a [(usize, u64, u16)]);

/// How it ended.
type End = Result<ClientConnection<usize>, ClientError>;

/// The requests that got a response.
#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn heard(
    asked: &[Method],
    stream: &[u8],
    piece: usize,
    closes: bool,
) -> (Vec<(usize, u64, u16)>, End) {
    let mut connection = ClientConnection::new();
    for (index, method) in asked.iter().enumerate() {
        connection.ask(*method, index);
    }
    let mut ended = Vec::new();
    for mut bytes in stream.chunks(piece) {
        loop {
            match connection.advance(&mut bytes) {
                Err(error) => return (ended, Err(error)),
                Ok(None) => break,
                Ok(Some(ClientEvent::End(index, response))) => {
                    ended.push((index, response.content, response.head.status));
                }
                Ok(Some(_)) => {}
            }
        }
    }
    if closes {
        match connection.handle_close() {
            Err(error) => return (ended, Err(error)),
            Ok(last) => {
                ended.extend(last.map(|(index, it)| (index, it.content, it.head.status)));
            }
        }
    }
    (ended, Ok(connection))
}

#[test]
fn responses_belong_to_requests_in_order() {
    use Method::{Get, Head};
    let table: [Case<'_>; 4] = [
        (
            &[Get, Head, Get],
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab\
             HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\
             HTTP/1.1 404 No\r\nContent-Length: 1\r\n\r\nc",
            false,
            &[(0, 2, 200), (1, 0, 200), (2, 1, 404)],
        ),
        (
            &[Get],
            "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            false,
            &[(0, 0, 200)],
        ),
        (&[Get], "HTTP/1.0 200 OK\r\n\r\nabc", true, &[(0, 3, 200)]),
        (&[], "", true, &[]),
    ];
    for (asked, stream, closes, expected) in table {
        for piece in [1, 7, 1_000] {
            let (ended, connection) = heard(asked, stream.as_bytes(), piece, closes);
            assert_eq!(ended, expected, "{stream}");
            let connection = connection.unwrap();
            assert_eq!(connection.outstanding(), 0);
            let side = connection.side();
            assert_eq!((side.sent, side.answered), (asked.len() as u64, asked.len() as u64));
            assert_eq!(side.server_closed, closes);
        }
    }
}

#[test]
fn what_is_no_response_to_a_request_has_its_name() {
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
    for (stream, closes, name) in [
        (format!("{whole}c"), false, "unasked"),
        (String::new(), true, "unanswered"),
        (whole[..20].to_owned(), true, "cut"),
        (whole[..whole.len() - 1].to_owned(), true, "cut"),
        ("SSH-2.0-OpenSSH\r\n".to_owned(), false, "malformed"),
    ] {
        let (_, end) = heard(&[Method::Get], stream.as_bytes(), 1_000, closes);
        let found = match end.unwrap_err() {
            ClientError::Unasked => "unasked",
            ClientError::Unanswered => "unanswered",
            ClientError::Response(error) => match error.kind {
                ResponseErrorKind::UnexpectedEnd(_) => "cut",
                _ => "malformed",
            },
        };
        assert_eq!(found, name, "{stream}");
    }
}

#[test]
fn a_recognised_response_counts_as_one_that_was_read() {
    let mut connection = ClientConnection::new();
    connection.ask(Method::Get, 'a');
    connection.ask(Method::Get, 'b');
    assert_eq!(connection.recognised(40, Persistence::Persists), 'a');
    let mut bytes = &b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"[..];
    let size = bytes.len() as u64;
    assert!(matches!(connection.advance(&mut bytes), Ok(Some(ClientEvent::Head('b', _)))));
    assert!(matches!(connection.advance(&mut bytes), Ok(Some(ClientEvent::End('b', _)))));
    assert_eq!(connection.parser().offset(), 40 + size);
    assert_eq!(connection.side().answered, 2);
}
