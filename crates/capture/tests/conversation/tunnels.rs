//! What takes a connection or a stream over: nobody can tell who waits there.

use crate::wire::{Shown, WHOLE, tells, tells_shown};

#[test]
fn a_websocket_has_no_exchanges() {
    for (asks, answers, asked, answered) in [
        (r"Upgrade: websocket\r\nConnection: upgrade\r\n", r"Upgrade: websocket\r\n", 68, 56),
        ("", r"Upgrade: WebSocket\r\n", 27, 56),
        (r"Upgrade: websocket\r\n", "", 47, 36),
    ] {
        tells(
            &format!(
                r#"
                c "GET / HTTP/1.1\r\nHost: h\r\n{asks}\r\n"
                s "HTTP/1.1 101 Switching Protocols\r\n{answers}\r\n" 7
                c "" 20
                s "" 30
                s end
                "#
            ),
            &format!(
                "
                HTTP/1
                0 begins 0
                0 asks GET / to {asked}
                0 is asked {asked}
                0 is being answered 0
                0 gets 101 to {answered}
                0 opens a WebSocket
                0 is answered {answered}
                WebSocket
                0 to-client: 0 begun, 0 ended, 0 control, lost
                0 to-server: 0 begun, 0 ended, 0 control, lost
                "
            ),
        );
    }
}

#[test]
fn messages_of_a_websocket_are_counted_by_what_brings_them() {
    tells(
        r#"
        c "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"
        s "HTTP/1.1 101 Switching Protocols\r\n\r\n"
        s hex 81 02 6869
        c hex 01 83 61626364 787878
        c hex 89 80 61626364 80 80 61626364 81
        s hex 82 7e 0002 61
        s hex 61 8a 00
        s end
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET / to 38
        0 is asked 38
        0 is being answered 0
        0 gets 101 to 36
        0 opens a WebSocket
        0 is answered 36
        WebSocket
        0 to-client: 1 begun, 1 ended, 0 control
        0 to-server: 1 begun, 0 ended, 0 control
        0 to-server: goes on, 1 begun, 1 ended, 1 control
        0 to-client: 1 begun, 0 ended, 0 control
        0 to-client: goes on, 0 begun, 1 ended, 1 control
        ",
    );
}

#[test]
fn a_stream_of_events_is_opened_by_an_exchange_and_another_may_follow() {
    let ask = r#"c "GET / HTTP/1.1\r\n\r\n""#;
    tells(
        &format!(
            r#"
            {ask}
            s "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
            s "3\r\n:x\n\r\n1\r\n\n\r\n4\r\na:b\n\r\n"
            s "1\r\n\n\r\n0\r\n\r\n"
            {ask}
            s "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 2\r\n\r\n\n\n"
            {ask}
            s "HTTP/1.1 200 OK\r\nContent-Type: Application/X-NDJSON\r\n\r\n{{}}\n{{"
            s "}}\n"
            s end
            "#
        ),
        "
        HTTP/1
        0 begins 0
        0 asks GET / to 18
        0 is asked 18
        0 is being answered 0
        0 gets 200 to 95
        0 opens a event stream
        0 is answered 95
        0 to-client: 1 begun, 0 ended, 1 control
        0 to-client: goes on, 0 begun, 1 ended, 0 control
        what 0 opened is over
        1 begins 18
        1 asks GET / to 36
        1 is asked 36
        1 is being answered 129
        1 gets 200 to 200
        1 is answered 202
        2 begins 36
        2 asks GET / to 54
        2 is asked 54
        2 is being answered 202
        2 gets 200 to 257, closes
        2 opens a event stream
        2 is answered 257
        2 to-client: 2 begun, 1 ended, 0 control
        2 to-client: goes on, 0 begun, 1 ended, 0 control
        what 2 opened is over
        ",
    );
}

#[test]
fn events_that_are_compressed_are_chunks() {
    tells(
        r#"
        c "GET / HTTP/1.1\r\n\r\n"
        s "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        s "3\r\nz\n\n\r\n2\r\na"
        s "b\r\n"
        s end
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET / to 18
        0 is asked 18
        0 is being answered 0
        0 gets 200 to 104
        0 opens a event stream
        0 is answered 104
        0 to-client: 2 begun, 1 ended, 0 control
        0 to-client: goes on, 0 begun, 1 ended, 0 control
        what 0 opened is over
        ",
    );
}

/// Of POST, the first event is waited for, if it can be seen.
#[test]
fn events_that_answer_a_post_are_waited_for() {
    let head = r#"s "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n""#;
    let told = "
        HTTP/1
        0 begins 0
        0 asks POST / to 38
        0 is asked 38
        0 is being answered 0
        0 gets 200 to 80
        ";
    for (rest, expected) in [
        (
            r#"
            s "3\r\n:x\n\r\n1\r\n\n\r\n4\r\na:b\n\r\n"
            s "1\r\n\n\r\n4\r\na:c\n\r\n"
            s "0\r\n\r\n"
            "#,
            "
            0 opens a event stream
            0 is answered 118
            0 to-client: 2 begun, 1 ended, 1 control
            0 to-client: goes on, 0 begun, 0 ended, 0 control
            what 0 opened is over
            ",
        ),
        (r#"s "0\r\n\r\n""#, "0 is answered 85"),
        (
            "s gap 100",
            "
            0 opens a event stream
            Unjudged { exchange: ExchangeId(0) }
            0 to-client: 0 begun, 0 ended, 0 control, lost
            ",
        ),
        (
            r#"
            s "4\r\na:b\n\r\n"
            s end
            "#,
            "0 is abandoned",
        ),
    ] {
        let ask = r#"c "POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n""#;
        tells(&format!("{ask}\n{head}\n{rest}"), &format!("{told}{expected}"));
    }
}

#[test]
fn a_websocket_is_found_by_what_was_captured_of_its_heads() {
    // The segments are cut within the fields that follow.
    let shown = Shown { snap: 60, ..WHOLE };
    tells_shown(
        r#"
        c "GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13\r\n\r\n"
        s "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"
        s "" 30
        c "" 20
        s "" 30
        "#,
        shown,
        "
        HTTP/1
        0 begins 0
        0 asks GET /chat
        0 is asked ~99
        0 is being answered 0
        0 gets 101
        0 opens a WebSocket
        0 is answered ~77
        WebSocket
        ",
    );
}

#[test]
fn another_upgrade_has_no_exchanges_either() {
    tells(
        r#"
        c "POST /attach HTTP/1.1\r\nHost: h\r\nUpgrade: tcp\r\nConnection: upgrade\r\n\r\n"
        s "HTTP/1.1 101 UPGRADED\r\nUpgrade: tcp\r\n\r\n"
        s "" 30
        c "" 20
        s "" 30
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks POST /attach to 69
        0 is asked 69
        0 is being answered 0
        0 gets 101 to 39
        0 opens a upgraded connection
        0 is answered 39
        opaque
        ",
    );
}

#[test]
fn a_refused_upgrade_is_answered_as_every_request() {
    tells(
        r#"
        c "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n\r\n"
        s "HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\nno"
        c "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n"
        s "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET / to 47
        0 is asked 47
        0 is being answered 0
        0 gets 400 to 38
        0 is answered 40
        1 begins 47
        1 asks CONNECT a:443 to 82
        1 is asked 82
        1 is being answered 40
        1 gets 403 to 78
        1 is answered 78
        ",
    );
}

#[test]
fn what_cannot_be_read_in_a_tunnel_has_no_exchanges() {
    for (inside, protocol) in [
        ("c tls 22:512\n s tls 22:122 20:1 23:36\n c tls 23:120\n s tls 23:400", "TLS"),
        ("s \"SSH-2.0\"\n c \"SSH-2.0\"\n s \"\" 80\n c \"\" 50\n s \"\" 80", "opaque"),
    ] {
        tells(
            &format!(
                r#"
                c "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n"
                s "HTTP/1.1 200 OK\r\n\r\n"
                {inside}
                s end
                "#
            ),
            &format!(
                "
                HTTP/1
                0 begins 0
                0 asks CONNECT a:443 to 35
                0 is asked 35
                0 is being answered 0
                0 gets 200 to 19
                0 opens a CONNECT tunnel
                0 is answered 19
                {protocol}
                "
            ),
        );
    }
}

/// `:method: CONNECT`, and that with `:protocol: websocket`.
const CONNECT: &str = "0207434f4e4e454354";
const WEBSOCKET: &str = "0207434f4e4e45435400093a70726f746f636f6c09776562736f636b6574";

#[test]
fn a_stream_becomes_a_tunnel_and_the_others_do_not() {
    for (asks, tunnel, asked) in [(CONNECT, "CONNECT tunnel", 51), (WEBSOCKET, "WebSocket", 72)] {
        tells(
            &format!(
                "
                c h2 preface, settings, headers 1 4 {asks}
                s h2 settings, headers 1 4 88
                s h2 data 1 0 100
                c h2 data 1 0 20, headers 3 5 828684
                s h2 data 1 0 50, headers 3 5 88, data 1 0 50
                c h2 data 1 1 0
                s h2 data 1 1 10
                "
            ),
            &format!(
                "
                HTTP/2
                0 begins 33 on stream 1
                0 asks CONNECT ? to {asked}
                0 is asked {asked}
                0 is being answered 9
                0 gets 200 to 19
                0 opens a {tunnel}
                0 is answered 19
                1 begins {} on stream 3
                1 asks GET / to {}
                1 is asked {}
                1 is being answered 187
                1 gets 200 to 197
                1 is answered 197
                what 0 opened is over
                ",
                asked + 29,
                asked + 41,
                asked + 41,
            ),
        );
    }
}

#[test]
fn a_refused_or_reset_stream_is_no_tunnel() {
    tells(
        &format!(
            "
            c h2 preface, settings, headers 1 4 {WEBSOCKET}
            s h2 settings, headers 1 5 8d
            c h2 headers 3 4 {WEBSOCKET}
            s h2 headers 3 4 88
            s h2 rst 3
            s end
            "
        ),
        "
        HTTP/2
        0 begins 33 on stream 1
        0 asks CONNECT ? to 72
        0 is asked 72
        0 is being answered 9
        0 gets 404 to 19
        0 is answered 19
        1 begins 72 on stream 3
        1 asks CONNECT ? to 111
        1 is asked 111
        1 is being answered 19
        1 gets 200 to 29
        1 opens a WebSocket
        1 is answered 29
        what 1 opened is over
        ",
    );
}
