//! TLS: only types and lengths of records say what is what.

use crate::wire::{Shown, tells, tells_shown};

#[test]
fn tls_13_with_two_tickets_after_the_request() {
    tells(
        r"
        c tls 22:512
        s tls 22:122 20:1 23:36 23:1000 23:281 23:53
        c tls 20:1 23:53 23:120
        s tls 23:250 23:250
        s tls 23:300 23:8000
        c tls 23:120
        s tls 23:400
        c tls 23:19
        c end
        s tls 23:19
        s end
        ",
        "
        TLS
        client shakes hands 0..517
        server shakes hands 0..1523
        client shakes hands 517..581, done
        0 begins ~581
        0 is asked ~706
        0 is being answered ~2033
        0 is answered ~10343
        1 begins ~706
        1 is asked ~831
        1 is being answered ~10343
        1 is answered ~10748
        ",
    );
}

#[test]
fn tls_13_tickets_before_the_request_and_none_at_all() {
    let shaken = "
        c tls 22:512
        s tls 22:122 20:1 23:1000
        c tls 20:1 23:69
        ";
    let told = "
        TLS
        client shakes hands 0..517
        server shakes hands 0..1138
        client shakes hands 517..597, done
        0 begins ~597
        0 is asked ~702
        ";
    for (exchange, answered) in [
        ("s tls 23:250 23:250\nc tls 23:100\ns tls 23:400\nabort", (1648, 2053)),
        ("s tls 23:250\nc tls 23:100\ns tls 23:400\nabort", (1393, 1798)),
        ("c tls 23:100\ns tls 23:400\nabort", (1138, 1543)),
        ("c tls 23:100\ns tls 23:250\ns tls 23:400\nabort", (1393, 1798)),
        // A ticket would have come at once.
        ("c tls 23:100\nsilence\ns tls 23:250\ns tls 23:400\nabort", (1138, 1798)),
        ("silence\ns tls 23:250\nc tls 23:100\ns tls 23:400\nabort", (1393, 1798)),
    ] {
        let (begins, ends) = answered;
        let answer = format!("0 is being answered ~{begins}\n0 is answered ~{ends}");
        tells(&format!("{shaken}{exchange}"), &format!("{told}{answer}"));
    }
}

#[test]
fn tls_13_response_as_long_as_settings_of_http_2() {
    let shaken = "
        c tls 22:512
        s tls 22:122 20:1 23:1000
        c tls 20:1 23:69 23:100
        s tls 23:250 23:250
        ";
    let told = "
        TLS
        client shakes hands 0..517
        server shakes hands 0..1138
        client shakes hands 517..597, done
        0 begins ~597
        ";
    for (exchange, answered, is_http2) in [
        // 40 bytes: 9 of a frame's header, 18 of three parameters, and 13 of WINDOW_UPDATE.
        ("s tls 23:57\nabort", Some((1648, 1710)), false),
        ("s tls 23:57\nc tls 23:19\nc end\ns end", Some((1648, 1710)), false),
        // They are SETTINGS, if the client acknowledges them.
        ("s tls 23:57\nc tls 23:26\ns tls 23:400\nabort", Some((1710, 2115)), true),
        ("s tls 23:57\ns tls 23:400\nc tls 23:26\nabort", Some((1710, 2115)), false),
        ("s tls 23:57\nc tls 23:26\nabort", None, false),
    ] {
        let unseen = if is_http2 { "windows unseen beyond 0 and 0\n" } else { "" };
        let answer = match answered {
            Some((begins, ends)) => {
                format!("0 is asked ~702\n0 is being answered ~{begins}\n0 is answered ~{ends}")
            }
            None => "0 is abandoned".to_owned(),
        };
        tells(&format!("{shaken}{exchange}"), &format!("{told}{unseen}{answer}"));
    }
}

/// Java 17's `HttpClient` and OpenSSL 3.0: Java pads each of its records by 16 bytes, its Finished, too.
#[test]
fn tls_13_with_padding() {
    let told = "
        TLS
        client shakes hands 0..440
        server shakes hands 0..1369
        client shakes hands 440..536, done
        0 begins ~536
        0 is asked ~655
        0 is being answered ~1943
        0 is answered ~2114
        1 begins ~655
        1 is asked ~776
        1 is being answered ~2114
        1 is answered ~42422
        ";
    let exchanges = "
        c tls 22:435
        s tls 22:122 20:1 23:27 23:839 23:281 23:69
        c tls 20:1 23:85
        s tls 23:282 23:282
        c tls 23:114
        s tls 23:166
        c tls 23:116
        s tls 23:16401 23:16401 23:7491
        ";
    // Its alert is as long as a message of 18 bytes from others.
    tells(&format!("{exchanges}c tls 23:35\nc end\ns end"), told);
    let third = "2 begins ~776\n2 is asked ~800\n2 is being answered ~42422\n2 is answered ~42593";
    tells(&format!("{exchanges}c tls 23:19\ns tls 23:166\nabort"), &format!("{told}{third}"));
}

#[test]
fn tls_12_full_and_resumed() {
    tells(
        r"
        c tls 22:200
        s tls 22:80 22:3000 22:300 22:4
        c tls 22:70 20:1 22:40
        s tls 22:200 20:1 22:40
        c tls 23:150
        s tls 23:300
        s tls 21:26
        abort
        ",
        "
        TLS
        client shakes hands 0..205
        server shakes hands 0..3404
        client shakes hands 205..331
        server shakes hands 3404..3660, done
        0 begins ~331
        0 is asked ~486
        0 is being answered ~3660
        0 is answered ~3965
        ",
    );
    tells(
        r"
        c tls 22:400
        s tls 22:80 20:1 22:40
        c tls 20:1 22:40 23:150
        s tls 23:300
        abort
        ",
        "
        TLS
        client shakes hands 0..405
        server shakes hands 0..136
        client shakes hands 405..456, done
        0 begins ~456
        0 is asked ~611
        0 is being answered ~136
        0 is answered ~441
        ",
    );
}

#[test]
fn early_data_is_a_request_within_the_handshake() {
    tells(
        r"
        c tls 22:600
        c tls 20:1 23:150
        s tls 22:122 20:1 23:40 23:53
        c tls 23:21 23:53
        s tls 23:5000
        abort
        ",
        "
        TLS
        0 begins ~611
        client shakes hands 0..611
        server shakes hands 0..236
        client shakes hands 766..850, done
        0 is asked ~766
        0 is being answered ~236
        0 is answered ~5241
        ",
    );
}

#[test]
fn a_retried_hello_is_not_the_end() {
    tells(
        r"
        c tls 22:300
        s tls 22:88 20:1
        c tls 20:1 22:400
        s tls 22:122 23:1000
        c tls 23:53 23:100
        s tls 23:4000
        abort
        ",
        "
        TLS
        client shakes hands 0..305
        server shakes hands 0..99
        client shakes hands 305..716
        server shakes hands 99..1231
        client shakes hands 716..774, done
        0 begins ~774
        0 is asked ~879
        0 is being answered ~1231
        0 is answered ~5236
        ",
    );
}

const HTTP2: &str = r"
    c tls 22:512
    s tls 22:122 20:1 23:1000
    c tls 20:1 23:53 23:81 23:90
    s tls 23:250 23:250
    s tls 23:57 23:26
    c tls 23:26
    s tls 23:200 23:16401 23:9000
    c tls 23:30 23:34
    s tls 23:34
    ";

#[test]
fn frames_without_content_begin_nothing() {
    tells(
        &format!("{HTTP2}\nc tls 23:60\ns tls 23:4000\nabort"),
        "
        TLS
        client shakes hands 0..517
        server shakes hands 0..1138
        client shakes hands 517..581, done
        0 begins ~581
        windows unseen beyond 0 and 0
        0 is asked ~762
        0 is being answered ~1741
        0 is answered ~27357
        1 begins ~867
        1 is asked ~932
        1 is being answered ~27396
        1 is answered ~31401
        ",
    );
}

#[test]
fn a_request_that_interrupts_a_record_is_multiplexed() {
    let told = "
        TLS
        client shakes hands 0..517
        server shakes hands 0..1138
        client shakes hands 517..581, done
        0 begins ~581
        0 is asked ~681
        0 is being answered ~1138
        0 is answered ~17544
        1 begins ~681
        0 overlaps
        1 overlaps
        1 is asked ~781
        1 is being answered ~17544
        1 is answered ~18549
        ";
    tells(
        r"
        c tls 22:512
        s tls 22:122 20:1 23:1000
        c tls 20:1 23:53 23:95
        s tls 23:16401
        c tls 23:95
        s tls 23:1000
        abort
        ",
        told,
    );
}

#[test]
fn handshakes_can_be_seen_through_short_snaps() {
    tells_shown(
        r"
        c tls 22:512
        s tls 22:122 20:1 23:36 23:1000 23:281 23:53
        c tls 20:1 23:53
        c tls 23:120
        s tls 23:300 23:8000
        c tls 23:120
        s tls 23:400
        abort
        ",
        Shown { segment: 1448, snap: 62 },
        "
        TLS
        client shakes hands 0..517
        server shakes hands 0..1523
        client shakes hands 517..581, done
        0 begins ~581
        0 is asked ~706
        0 is being answered ~1523
        0 is answered ~9833
        1 begins ~706
        1 is asked ~831
        1 is being answered ~9833
        1 is answered ~10238
        ",
    );
}

#[test]
fn a_request_as_short_as_two_frames_without_content_is_a_request() {
    tells(
        r"
        c tls 22:512
        s tls 22:122 20:1 23:1000
        c tls 20:1 23:53 23:81 23:90
        s tls 23:57 23:26
        c tls 23:26
        s tls 23:200 23:2000
        c tls 23:39
        s tls 23:300 23:26
        c tls 23:43
        s tls 23:9000
        c tls 23:43
        s tls 23:9000
        abort
        ",
        "
        TLS
        client shakes hands 0..517
        server shakes hands 0..1138
        client shakes hands 517..581, done
        0 begins ~581
        windows unseen beyond 0 and 0
        0 is asked ~762
        0 is being answered ~1231
        0 is answered ~3441
        1 begins ~793
        1 is asked ~837
        1 is being answered ~3441
        1 is answered ~3777
        2 begins ~837
        2 is asked ~885
        2 is being answered ~3777
        2 is answered ~21787
        ",
    );
}
