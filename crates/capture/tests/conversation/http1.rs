//! HTTP/1 as a whole capture shows it.

use crate::wire::tells;

#[test]
fn a_request_and_its_response() {
    tells(
        r#"
        c "GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n"
        s "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" 10
        c "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        s "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        s end
        c end
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET /a?… to 32
        0 is asked 32
        0 is being answered 0
        0 gets 200 to 39
        0 is answered 49
        1 begins 32
        1 asks GET / to 78, closes
        1 is asked 78
        1 is being answered 49
        1 gets 404 to 113, closes
        1 is answered 113
        ",
    );
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    tells(
        r#"
        c "HEAD / HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\nPUT /c HT"
        s "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 304 Not Modified\r\n\r\n"
        c "TP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
        s "HTTP/1.1 204 No Content\r\n\r\n"
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks HEAD / to 28
        0 is asked 28
        1 begins 28
        1 asks GET /b to 56
        1 is asked 56
        2 begins 56
        0 is being answered 0
        0 gets 200 to 38
        0 is answered 38
        1 is being answered 38
        1 gets 304 to 67
        1 is answered 67
        2 asks PUT /c to 103
        2 is asked 106
        2 is being answered 67
        2 gets 204 to 94
        2 is answered 94
        ",
    );
}

#[test]
fn interim_responses_begin_no_response() {
    tells(
        r#"
        c "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
        s "HTTP/1.1 100 Continue\r\n\r\n"
        c "hello"
        s "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks POST / to 69, expects 100
        0 hears 100 0..25
        0 is asked 74
        0 hears 103 25..53
        0 is being answered 53
        0 gets 201 to 96
        0 is answered 96
        ",
    );
}

#[test]
fn bodies_end_with_chunks_or_with_the_connection() {
    tells(
        r#"
        c "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
        s "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n"
        s "0\r\n\r\n"
        c "GET / HTTP/1.0\r\n\r\n"
        s "HTTP/1.0 200 OK\r\n\r\n" 100
        s "" 50
        s end
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET / to 27
        0 is asked 27
        0 is being answered 0
        0 gets 200 to 47
        0 is answered 62
        1 begins 27
        1 asks GET / to 45, closes
        1 is asked 45
        1 is being answered 62
        1 gets 200 to 81, closes
        1 is answered 231
        ",
    );
}

#[test]
fn an_unfinished_exchange_is_abandoned() {
    tells(
        r#"
        c "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\n"
        s "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" 5
        abort
        abort
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET / to 27
        0 is asked 27
        1 begins 27
        0 is being answered 0
        0 gets 200 to 39
        0 is abandoned
        1 is abandoned
        ",
    );
}

#[test]
fn a_tunnel_is_looked_into() {
    tells(
        r#"
        c "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"
        s "HTTP/1.1 200 Connection established\r\n\r\n"
        c "GET /in HTTP/1.1\r\nHost: a\r\n\r\n"
        s "HTTP/1.1 204 No Content\r\n\r\n"
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks CONNECT a:80 to 34
        0 is asked 34
        0 is being answered 0
        0 gets 200 to 39
        0 opens a CONNECT tunnel
        0 is answered 39
        HTTP/1
        1 begins 34
        1 asks GET /in to 63
        1 is asked 63
        1 is being answered 39
        1 gets 204 to 66
        1 is answered 66
        ",
    );
}

#[test]
fn what_is_not_http_goes_on_by_turns() {
    tells(
        r#"
        c "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
        s "ICY 200 OK\r\n\r\n" 86
        c "noise"
        s "" 10
        s end
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET / to 27
        0 is asked 27
        opaque
        0 is being answered ~0
        0 is answered ~100
        1 begins ~27
        1 is asked ~32
        1 is being answered ~100
        1 is answered ~110
        ",
    );
}
