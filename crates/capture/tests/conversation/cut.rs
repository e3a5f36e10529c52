//! HTTP/1 as a capture shows it that cut its packets, lost some, or came late.

use crate::wire::{Shown, tells, tells_shown};

const ONE_PAGE: &str = r#"
    c "GET /index.html HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\n\r\n"
    s "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 1000\r\n\r\n" 500
    s "" 500
    c "GET /b?c HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\n\r\n"
    s "HTTP/1.1 304 Not Modified\r\nServer: x\r\n\r\n"
    s end
    "#;

#[test]
fn bodies_need_not_be_captured() {
    let whole = "
        HTTP/1
        0 begins 0
        0 asks GET /index.html to 60
        0 is asked 60
        0 is being answered 0
        0 gets 200 to 52
        0 is answered 1052
        1 begins 60
        1 asks GET /b to 113
        ";
    let whole = whole.replace("/b to", "/b?… to");
    let rest = "
        1 is asked 113
        1 is being answered 1052
        1 gets 304 to 1092
        1 is answered 1092
        ";
    let expected = format!("{whole}{rest}");
    tells(ONE_PAGE, &expected);
    for snap in 60..100 {
        tells_shown(ONE_PAGE, Shown { segment: 1448, snap }, &expected);
    }
}

#[test]
fn heads_that_are_cut_leave_the_ends_to_turns() {
    tells_shown(
        ONE_PAGE,
        Shown { segment: 1448, snap: 30 },
        "
        HTTP/1
        0 begins 0
        0 asks GET /index.html
        0 is asked ~60
        0 is being answered 0
        0 gets 200
        0 is answered ~1052
        1 begins 60
        1 asks GET /b?…
        1 is asked ~113
        1 is being answered 1052
        1 gets 304
        1 is answered ~1092
        ",
    );
}

#[test]
fn pipelined_requests_with_cut_heads_begin_with_segments() {
    tells_shown(
        r#"
        c "GET /a HTTP/1.1\r\nHost: example.org\r\n\r\n"
        c "GET /b HTTP/1.1\r\nHost: example.org\r\n\r\n"
        s "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 1000\r\n\r\n" 1000
        s "HTTP/1.1 404 Not Found\r\nServer: x\r\nContent-Length: 10\r\n\r\n" 10
        s end
        "#,
        Shown { segment: 2000, snap: 20 },
        "
        HTTP/1
        0 begins 0
        0 asks GET /a
        0 is asked ~38
        1 begins 38
        1 asks GET /b
        0 is being answered 0
        0 gets 200
        0 is answered ~1052
        1 is asked ~76
        1 is being answered 1052
        1 gets 404
        1 is answered ~1119
        ",
    );
}

#[test]
fn a_gap_within_a_body_does_no_harm() {
    tells(
        r#"
        c "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
        s "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" 500
        s gap 300
        s "" 200
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET / to 27
        0 is asked 27
        0 is being answered 0
        0 gets 200 to 41
        0 is answered 1041
        ",
    );
}

#[test]
fn a_lost_head_is_an_exchange_without_a_name() {
    tells(
        r#"
        c "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
        s gap 600
        c "GET /b HTTP/1.1\r\nHost: h\r\n\r\n"
        s "HTTP/1.1 204 No Content\r\n\r\n"
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET / to 27
        0 is asked 27
        0 is being answered 0
        0 is answered ~600
        1 begins 27
        1 asks GET /b to 55
        1 is asked 55
        1 is being answered 600
        1 gets 204 to 627
        1 is answered 627
        ",
    );
}

#[test]
fn lost_chunks_leave_the_end_to_the_next_turn() {
    tells(
        r#"
        c "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
        s "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n"
        s gap 30
        s "5\r\nabcde\r\n"
        c "GET /b HTTP/1.1\r\nHost: h\r\n\r\n"
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET / to 27
        0 is asked 27
        0 is being answered 0
        0 gets 200 to 47
        0 is answered ~97
        1 begins 27
        1 asks GET /b to 55
        1 is asked 55
        ",
    );
}

#[test]
fn a_capture_that_begins_in_the_middle_waits_for_a_start_line() {
    tells(
        r#"
        s gap 0
        s "" 400
        c "GET /b HTTP/1.1\r\nHost: h\r\n\r\n"
        s "HTTP/1.1 204 No Content\r\n\r\n"
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET /b to 28
        0 is asked 28
        0 is being answered 400
        0 gets 204 to 427
        0 is answered 427
        ",
    );
}

/// It answers a HEAD, perhaps: then its length is that of nothing.
#[test]
fn a_response_whose_request_is_missing_has_no_known_length() {
    tells(
        r#"
        s gap 0
        s "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"
        c "GET /b HTTP/1.1\r\nHost: h\r\n\r\n"
        s "HTTP/1.1 204 No Content\r\n\r\n"
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET /b to 28
        0 is asked 28
        0 is being answered 40
        0 gets 204 to 67
        0 is answered 67
        ",
    );
}

#[test]
fn an_upload_seen_from_its_middle_has_no_name_and_the_next_request_has() {
    tells(
        r#"
        c gap 10
        c "" 400
        s "HTTP/1.1 204 No Content\r\n\r\n"
        c "GET /b HTTP/1.1\r\nHost: h\r\n\r\n"
        "#,
        "
        opaque
        0 begins ~10
        0 is asked ~410
        HTTP/1
        0 is being answered 0
        0 gets 204 to 27
        0 is answered 27
        1 begins 410
        1 asks GET /b to 438
        1 is asked 438
        ",
    );
}

#[test]
fn an_interim_response_with_a_cut_head_is_one_all_the_same() {
    tells_shown(
        r#"
        c "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
        s "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload; as=style\r\n\r\n"
        s "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" 10
        "#,
        Shown { segment: 1448, snap: 40 },
        "
        HTTP/1
        0 begins 0
        0 asks GET / to 27
        0 is asked 27
        0 hears 103 0..71
        0 is being answered 71
        0 gets 200 to 110
        0 is answered 120
        ",
    );
}

#[test]
fn a_request_in_a_hole_is_not_told_of_and_its_response_answers_no_other() {
    tells(
        r#"
        c "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
        s "HTTP/1.1 204 No Content\r\n\r\n"
        c gap 28
        s "HTTP/1.1 204 No Content\r\n\r\n"
        c "GET /c HTTP/1.1\r\nHost: h\r\n\r\n"
        s "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET /a to 28
        0 is asked 28
        0 is being answered 0
        0 gets 204 to 27
        0 is answered 27
        1 begins 56
        1 asks GET /c to 84
        1 is asked 84
        1 is being answered 54
        1 gets 404 to 99
        1 is answered 99
        ",
    );
}

#[test]
fn a_hole_that_is_noticed_behind_its_response_shifts_nothing() {
    tells(
        r#"
        c "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
        s "HTTP/1.1 204 No Content\r\n\r\n"
        s gap 300
        c gap 28
        c "GET /c HTTP/1.1\r\nHost: h\r\n\r\n"
        s "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET /a to 28
        0 is asked 28
        0 is being answered 0
        0 gets 204 to 27
        0 is answered 27
        1 begins 56
        1 asks GET /c to 84
        1 is asked 84
        1 is being answered 327
        1 gets 404 to 372
        1 is answered 372
        ",
    );
}

#[test]
fn what_is_asked_behind_a_hole_while_more_is_outstanding_cannot_be_paired() {
    tells(
        r#"
        c "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
        c gap 28
        c "GET /c HTTP/1.1\r\nHost: h\r\n\r\n"
        s "HTTP/1.1 204 No Content\r\n\r\n"
        s "HTTP/1.1 204 No Content\r\n\r\n"
        c "GET /d HTTP/1.1\r\nHost: h\r\n\r\n"
        s "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET /a to 28
        0 is asked 28
        1 begins 56
        1 asks GET /c to 84
        1 is asked 84
        0 is being answered 0
        0 gets 204 to 27
        0 is answered 27
        1 is lost
        2 begins 84
        2 asks GET /d to 112
        2 is asked 112
        2 is being answered 54
        2 gets 404 to 99
        2 is answered 99
        ",
    );
}

#[test]
fn of_several_requests_nobody_knows_which_one_a_lost_response_answers() {
    tells(
        r#"
        c "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
        c "GET /b HTTP/1.1\r\nHost: h\r\n\r\n"
        s gap 300
        s "HTTP/1.1 204 No Content\r\n\r\n"
        c "GET /c HTTP/1.1\r\nHost: h\r\n\r\n"
        s "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET /a to 28
        0 is asked 28
        1 begins 28
        1 asks GET /b to 56
        1 is asked 56
        0 is lost
        1 is lost
        2 begins 56
        2 asks GET /c to 84
        2 is asked 84
        2 is being answered 327
        2 gets 404 to 372
        2 is answered 372
        ",
    );
}
