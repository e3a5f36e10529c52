//! HTTP/2 without TLS.

use crate::wire::{Shown, tells, tells_shown};

#[test]
fn streams_are_exchanges_and_other_frames_are_not() {
    tells(
        r"
        c h2 preface, settings 000300000064, window 0 1000, headers 1 5 828644052f743f6263
        s h2 settings, ack
        c h2 ack, ping
        s h2 headers 1 4 88, data 1 0 100, data 1 1 0, ping, goaway
        ",
        "
        HTTP/2
        0 begins 52 on stream 1
        0 asks GET /t?… to 70
        0 is asked 70
        0 is being answered 18
        0 gets 200 to 28
        0 is answered 146
        the server goes away 0
        ",
    );
}

#[test]
fn a_server_may_speak_first() {
    tells(
        r"
        s h2 settings
        c h2 preface, settings, headers 1 5 828684
        s h2 ack, headers 1 5 88
        ",
        "
        HTTP/2
        0 begins 33 on stream 1
        0 asks GET / to 45
        0 is asked 45
        0 is being answered 18
        0 gets 200 to 28
        0 is answered 28
        ",
    );
}

#[test]
fn streams_interleave() {
    tells(
        r"
        c h2 preface, settings, headers 1 4 828684, headers 3 5 838684
        s h2 settings, headers 3 4 8d, data 3 0 10
        c h2 data 1 1 20
        s h2 headers 1 0 48033130, continuation 1 4 33
        s h2 headers 1 4 88, data 1 1 5, data 3 1 5
        c h2 headers 5 5 828684
        s h2 headers 5 0 88, rst 5
        c h2 headers 7 5 828684
        s end
        ",
        "
        HTTP/2
        0 begins 33 on stream 1
        0 asks GET / to 45
        1 begins 45 on stream 3
        1 asks POST / to 57
        1 is asked 57
        1 is being answered 9
        1 gets 404 to 19
        0 is asked 86
        0 hears 103 38..61
        0 is being answered 61
        0 gets 200 to 71
        0 is answered 85
        1 is answered 99
        2 begins 86 on stream 5
        2 asks GET / to 98
        2 is asked 98
        2 is abandoned
        3 begins 98 on stream 7
        3 asks GET / to 110
        3 is asked 110
        3 is abandoned
        ",
    );
}

#[test]
fn padding_priority_and_trailers_are_passed_over() {
    tells(
        r"
        c h2 preface, headers 1 44 030000000010828684000000
        c h2 data 1 0 5, headers 1 5 86
        s h2 headers 1 4 88, data 1 0 3, headers 1 5 86
        ",
        "
        HTTP/2
        0 begins 24 on stream 1
        0 asks GET / to 45
        0 is asked 69
        0 is being answered 0
        0 gets 200 to 10
        0 is answered 32
        ",
    );
}

#[test]
fn windows_that_are_used_up_are_told() {
    tells(
        r"
        c h2 preface, settings 0004000003e8, headers 1 5 828684
        s h2 settings, headers 1 4 88, data 1 0 1000
        c h2 window 1 500
        s h2 data 1 0 499
        s h2 data 1 0 1
        c h2 settings 0004000003e9
        s h2 data 1 1 1
        ",
        "
        HTTP/2
        0 begins 39 on stream 1
        0 asks GET / to 51
        0 is asked 51
        0 is being answered 9
        0 gets 200 to 19
        0 to-client blocked 1028 by stream
        0 to-client reopened 64
        0 to-client blocked 1546 by stream
        0 to-client reopened 79
        0 is answered 1556
        ",
    );
}

#[test]
fn the_windows_of_a_connection_bind_all_streams() {
    tells(
        r"
        c h2 preface, settings 000400010000, headers 1 5 828684
        s h2 settings, headers 1 4 88
        s h2 data 1 0 60000
        s h2 data 1 0 5535
        c h2 window 0 100
        s h2 ping
        ",
        "
        HTTP/2
        0 begins 39 on stream 1
        0 asks GET / to 51
        0 is asked 51
        0 is being answered 9
        0 gets 200 to 19
        all to-client blocked 65572 by both
        all to-client reopened 64
        ",
    );
}

#[test]
fn a_window_counts_when_it_has_arrived() {
    tells(
        r"
        c h2 preface, settings 000400000064, headers 1 5 828684
        s h2 settings, headers 1 4 88, data 1 0 50
        c h2 window 1 50
        s early h2 data 1 0 50
        s h2 data 1 0 50
        c h2 settings 000400000065
        s early h2 data 1 1 1
        ",
        "
        HTTP/2
        0 begins 39 on stream 1
        0 asks GET / to 51
        0 is asked 51
        0 is being answered 9
        0 gets 200 to 19
        0 to-client blocked 137 by stream
        0 to-client reopened 64
        0 to-client blocked 196 by stream
        0 is answered 206
        ",
    );
}

#[test]
fn an_upgraded_request_is_answered_on_stream_1() {
    tells(
        r#"
        c "GET /a HTTP/1.1\r\nHost: h\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n"
        s "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"
        s h2 settings, headers 1 4 88, data 1 1 10
        c h2 preface, settings, headers 3 5 828684
        s h2 headers 3 5 89
        "#,
        "
        HTTP/1
        0 begins 0
        0 asks GET /a to 60
        0 is asked 60
        0 hears 101 0..50
        HTTP/2
        0 is being answered 59
        0 gets 200 to 69
        0 is answered 88
        1 begins 93 on stream 3
        1 asks GET / to 105
        1 is asked 105
        1 is being answered 88
        1 gets 204 to 98
        1 is answered 98
        ",
    );
}

const THREE_REQUESTS: &str = r"
    c h2 preface, settings, headers 1 5 828684
    s h2 settings, ack
    c h2 ack
    s h2 headers 1 4 88, data 1 0 3000, data 1 1 100
    c h2 headers 3 5 828684
    s h2 headers 3 4 88, data 3 1 30
    c h2 headers 5 5 828684
    s h2 headers 5 4 88, data 5 0 3000
    s h2 data 5 1 3000
    c end
    s end
    ";

#[test]
fn short_snaps_hide_frames_and_segments_show_them_again() {
    tells_shown(
        THREE_REQUESTS,
        Shown { segment: 1448, snap: 62 },
        "
        HTTP/2
        0 begins 33 on stream 1
        0 asks GET / to 45
        0 is asked 45
        0 is being answered 18
        0 gets 200 to 28
        windows unseen beyond 65535 and 65535
        0 is answered ~3146
        1 begins 54 on stream 3
        1 asks GET / to 66
        1 is asked 66
        1 is being answered 3146
        1 gets 200 to 3156
        1 is answered 3195
        2 begins 66 on stream 5
        2 asks GET / to 78
        2 is asked 78
        2 is being answered 3195
        2 gets 200 to 3205
        2 is answered 9223
        ",
    );
}

#[test]
fn a_gap_over_several_streams_leaves_them_overlapping() {
    tells(
        r"
        c h2 preface, settings, headers 1 5 828684, headers 3 5 828684
        s h2 settings
        s gap 500
        s h2 data 3 1 30
        c end
        s end
        ",
        "
        HTTP/2
        0 begins 33 on stream 1
        0 asks GET / to 45
        0 is asked 45
        1 begins 45 on stream 3
        1 asks GET / to 57
        1 is asked 57
        windows unseen beyond 65535 and 65535
        0 overlaps
        0 is being answered ~9
        1 overlaps
        1 is being answered ~9
        1 is answered 548
        0 is answered ~548
        ",
    );
}

#[test]
fn a_request_behind_a_long_preface_is_known_by_its_response() {
    tells_shown(
        r"
        c h2 preface, settings 000300000064000400a00000, window 0 1000, headers 1 5 828684
        s h2 settings, ack, headers 1 4 88, data 1 1 500
        c h2 ack
        c h2 headers 3 5 828684
        s h2 headers 3 5 89
        ",
        Shown { segment: 1448, snap: 62 },
        "
        HTTP/2
        windows unseen beyond 0 and 65535
        0 begins ~58 on stream 1
        0 is asked ~70
        0 is being answered 18
        0 gets 200 to 28
        0 is answered 537
        1 begins 79 on stream 3
        1 asks GET / to 91
        1 is asked 91
        1 is being answered 537
        1 gets 204 to 547
        1 is answered 547
        ",
    );
}

#[test]
fn a_call_of_grpc_has_a_deadline_and_a_status_from_its_trailers() {
    let content_type = "400c636f6e74656e742d74797065106170706c69636174696f6e2f67727063";
    let (timeout, status) =
        ("400c677270632d74696d656f7574043235306d", "400b677270632d7374617475730135");
    tells(
        &format!(
            r"
            c h2 preface, headers 1 5 8386{content_type}{timeout}
            s h2 headers 1 4 88, data 1 0 5, headers 1 5 {status}
            c h2 headers 3 5 8386bfbe, headers 5 5 8386bf
            s h2 headers 3 5 88be, headers 5 4 88be, data 5 1 5
            s h2 goaway 746f6f5f6d616e795f70696e6773
            "
        ),
        "
        HTTP/2
        0 begins 24 on stream 1
        0 asks POST ? to 85, gRPC within 250ms
        0 is asked 85
        0 is being answered 0
        0 gets 200 to 10
        0 ends with grpc-status 5
        0 is answered 48
        1 begins 85 on stream 3
        1 asks POST ? to 98, gRPC within 250ms
        1 is asked 98
        2 begins 98 on stream 5
        2 asks POST ? to 110, gRPC
        2 is asked 110
        1 is being answered 48
        1 gets 200 to 59
        1 ends with grpc-status 5
        1 is answered 59
        2 is being answered 59
        2 gets 200 to 70
        2 is answered 84
        the server goes away 0, too many pings
        ",
    );
}

/// A block that is cut, or refers to one that the capture lacks, hides the status.
#[test]
fn a_status_that_is_hidden_is_unknown() {
    tells(
        r"
        c h2 preface, headers 1 5 838684
        s h2 headers 1 4 88, data 1 0 5
        s gap 33
        s h2 headers 1 5 be
        ",
        "
        HTTP/2
        0 begins 24 on stream 1
        0 asks POST / to 36
        0 is asked 36
        0 is being answered 0
        0 gets 200 to 10
        windows unseen beyond 0 and 0
        0 is answered 67
        ",
    );
}
