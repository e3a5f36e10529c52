//! The PROXY protocol, which a balancer sends before what the client says.

use crate::wire::{Shown, WHOLE, tells, tells_shown};

#[test]
fn behind_the_header_of_a_balancer_is_what_the_client_speaks() {
    let line = r#"c "PROXY TCP4 192.0.2.1 198.51.100.1 49152 443\r\n""#;
    let fixed = "c hex 0d0a0d0a000d0a515549540a 21 11 000c c0000201c6336401c00001bb";
    let local = "c hex 0d0a0d0a000d0a515549540a 20 00 0000";
    for (header, length) in [(line, 45), (fixed, 28), (local, 16)] {
        let text = format!(
            r#"
            {header}
            c "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
            s "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
            "#
        );
        let told = format!(
            "
            HTTP/1
            0 begins {length}
            0 asks GET / to {end}
            0 is asked {end}
            0 is being answered 0
            0 gets 200 to 38
            0 is answered 38
            ",
            end = length + 27
        );
        for segment in [usize::MAX, 20, 3, 1] {
            tells_shown(&text, Shown { segment, ..WHOLE }, &told);
        }
    }
}

#[test]
fn a_health_check_without_a_request_is_nothing() {
    tells("c hex 0d0a0d0a000d0a515549540a 20 00 0000\nc end\ns end", "");
}

#[test]
fn tls_and_redis_are_found_behind_it_and_a_line_without_an_end_is_none() {
    tells("c \"PROXY UNKNOWN\\r\\n\"\nc tls 22:100", "TLS");
    tells(
        r#"
        c "PROXY UNKNOWN\r\n*1\r\n$4\r\nPING\r\n"
        "#,
        "
        RESP
        0 begins 15
        0 asks PING  to 27
        0 is asked 29
        ",
    );
    tells("c \"PROXY TCP4 \" 200", "opaque\n0 begins ~107");
}
