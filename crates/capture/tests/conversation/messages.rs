//! Messages within streams of HTTP/2, and who waits for the first one.

use crate::wire::tells;

/// What scripts call fields and messages: POST or GET with gRPC's content type, 200 with the same and with
/// `text/event-stream`, `grpc-status: 0`, `content-encoding: gzip`, `hi` in gRPC, and an event.
const NAMES: [(&str, &str); 9] = [
    ("CALL", "83865f106170706c69636174696f6e2f67727063"),
    ("POST", "8386"),
    ("GET", "8286"),
    ("ANSWER", "885f106170706c69636174696f6e2f67727063"),
    ("EVENTS", "885f11746578742f6576656e742d73747265616d"),
    ("STATUS", "400b677270632d7374617475730130"),
    ("GZIP", "5a04677a6970"),
    ("HI", "00000000026869"),
    ("EVENT", "646174613a610a0a"),
];

fn tells_of(script: &str, expected: &str) {
    let script = NAMES.iter().fold(script.to_owned(), |it, (name, hex)| it.replace(name, hex));
    tells(&script, expected);
}

#[test]
fn a_call_with_one_message_each_way_is_an_exchange() {
    for (answer, ends) in [
        ("headers 1 4 ANSWER, body 1 0 HI, headers 1 5 STATUS", [44, 68]),
        ("headers 1 4 ANSWER, body 1 0 0000, body 1 0 0000026869, headers 1 5 STATUS", [53, 77]),
    ] {
        let [message, end] = ends;
        tells_of(
            &format!("c h2 preface, headers 1 4 CALL, body 1 1 HI\ns h2 {answer}"),
            &format!(
                "
                HTTP/2
                0 begins 24 on stream 1
                0 asks POST ? to 53, gRPC
                0 is asked 69
                0 is being answered 0
                0 gets 200 to 28
                0 has a first message {message}
                0 ends with grpc-status 0
                0 is answered {end}
                "
            ),
        );
    }
}

/// The events of a call with one message and a streamed response, up to the messages to the client.
const STREAMS: &str = "
    HTTP/2
    0 begins 24 on stream 1
    0 asks POST ? to 53, gRPC
    0 is asked 69
    0 is being answered 0
    0 gets 200 to 28
    0 has a first message 44
    0 opens a gRPC stream
    0 is answered 44
    0 to-server: 1 begun, 1 ended, 0 control
    ";

#[test]
fn a_second_message_to_the_client_ends_the_exchange_with_the_first() {
    tells_of(
        r"
        c h2 preface, headers 1 4 CALL, body 1 1 HI
        s h2 headers 1 4 ANSWER, body 1 0 HI
        s h2 body 1 0 00
        s h2 body 1 0 000000026869HI
        s h2 headers 1 5 STATUS
        ",
        &format!(
            "{STREAMS}
            0 to-client: 2 begun, 1 ended, 0 control
            0 to-client: goes on, 1 begun, 2 ended, 0 control
            0 ends with grpc-status 0
            what 0 opened is over
            "
        ),
    );
}

/// RFC 9113, section 8.1, wants HEADERS first.
#[test]
fn messages_without_a_head_begin_the_response() {
    tells_of(
        "c h2 preface, headers 1 4 CALL, body 1 1 HI\ns h2 body 1 0 HIHI",
        "
        HTTP/2
        0 begins 24 on stream 1
        0 asks POST ? to 53, gRPC
        0 is asked 69
        0 is being answered 0
        0 has a first message 16
        0 opens a gRPC stream
        0 is answered 16
        0 to-server: 1 begun, 1 ended, 0 control
        0 to-client: 2 begun, 2 ended, 0 control
        ",
    );
}

#[test]
fn nobody_is_known_to_wait_where_both_sides_send() {
    tells_of(
        r"
        c h2 preface, headers 1 4 CALL, body 1 0 HI
        s h2 headers 1 4 ANSWER, body 1 0 HI
        c h2 body 1 1 HI
        s h2 headers 1 5 STATUS
        ",
        "
        HTTP/2
        0 begins 24 on stream 1
        0 asks POST ? to 53, gRPC
        0 is being answered 0
        0 gets 200 to 28
        0 opens a gRPC stream
        Unjudged { exchange: ExchangeId(0) }
        0 to-server: 1 begun, 1 ended, 0 control
        0 to-client: 1 begun, 1 ended, 0 control
        0 to-server: 1 begun, 1 ended, 0 control
        0 ends with grpc-status 0
        what 0 opened is over
        ",
    );
    tells_of(
        r"
        c h2 preface, headers 1 4 CALL, body 1 0 HI
        c h2 body 1 1 HI
        s h2 headers 1 4 ANSWER, body 1 0 HI, headers 1 5 STATUS
        ",
        "
        HTTP/2
        0 begins 24 on stream 1
        0 asks POST ? to 53, gRPC
        0 opens a gRPC stream
        Unjudged { exchange: ExchangeId(0) }
        0 to-server: 2 begun, 2 ended, 0 control
        0 to-client: 1 begun, 1 ended, 0 control
        0 ends with grpc-status 0
        what 0 opened is over
        ",
    );
}

#[test]
fn an_answer_to_get_goes_on_as_events_and_one_to_post_is_waited_for() {
    let script = r"
        c h2 preface, headers 1 5 METHOD
        s h2 headers 1 4 EVENTS
        s h2 body 1 0 3a0a0a
        s h2 body 1 0 EVENT64
        s h2 body 1 1 6174613a620a0a
        ";
    for (method, rest) in [
        (
            "GET",
            "
            0 opens a event stream
            0 is answered 29
            0 to-client: 0 begun, 0 ended, 1 control
            0 to-client: 2 begun, 1 ended, 0 control
            ",
        ),
        (
            "POST",
            "
            0 opens a event stream
            0 is answered 59
            0 to-client: 2 begun, 1 ended, 1 control
            ",
        ),
    ] {
        tells_of(
            &script.replace("METHOD", method),
            &format!(
                "
                HTTP/2
                0 begins 24 on stream 1
                0 asks {method} ? to 35
                0 is asked 35
                0 is being answered 0
                0 gets 200 to 29{rest}
                0 to-client: goes on, 0 begun, 1 ended, 0 control
                what 0 opened is over
                "
            ),
        );
    }
}

#[test]
fn compressed_events_are_frames() {
    for (method, answered) in [("GET", 35), ("POST", 46)] {
        tells_of(
            &format!(
                r"
                c h2 preface, headers 1 5 {method}
                s h2 headers 1 4 EVENTSGZIP
                s h2 body 1 0 1f8b, body 1 0 00
                s h2 body 1 1
                "
            ),
            &format!(
                "
                HTTP/2
                0 begins 24 on stream 1
                0 asks {method} ? to 35
                0 is asked 35
                0 is being answered 0
                0 gets 200 to 35
                0 opens a event stream
                0 is answered {answered}
                0 to-client: 2 begun, 2 ended, 0 control
                what 0 opened is over
                "
            ),
        );
    }
}

#[test]
fn where_content_is_missing_no_message_is_made_up() {
    for (missing, windows) in [
        ("s gap 16", "windows unseen beyond 0 and 0\n"),
        ("s h2 body 1 8 00HI", ""),
        ("s h2 body 1 0 02", ""),
    ] {
        tells_of(
            &format!(
                r"
                c h2 preface, headers 1 4 CALL, body 1 1 HI
                s h2 headers 1 4 ANSWER, body 1 0 HI
                s h2 body 1 0 HI
                {missing}
                s h2 body 1 0 HI
                s h2 headers 1 5 STATUS
                "
            ),
            &format!(
                "{STREAMS}
                0 to-client: 2 begun, 2 ended, 0 control
                0 to-client: 0 begun, 0 ended, 0 control, lost
                {windows}0 ends with grpc-status 0
                what 0 opened is over
                "
            ),
        );
    }
}

#[test]
fn an_answer_that_is_cut_before_its_first_event_is_abandoned() {
    for (answer, end) in [("", "s end"), (", rst 1", "")] {
        tells_of(
            &format!(
                r"
                c h2 preface, headers 1 5 POST
                s h2 headers 1 4 EVENTS, body 1 0 3a0a0a64{answer}
                {end}
                "
            ),
            "
            HTTP/2
            0 begins 24 on stream 1
            0 asks POST ? to 35
            0 is asked 35
            0 is being answered 0
            0 gets 200 to 29
            0 is abandoned
            ",
        );
    }
}
