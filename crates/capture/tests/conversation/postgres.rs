//! PostgreSQL: units, and what is none.

use crate::wire::{Shown, WHOLE, tells, tells_shown};

const BEGIN: &str = "
    c pg startup:20
    s pg R:4 S:20 K:8 Z:1
";
const BEGUN: &str = "
    PostgreSQL
    4294967295 opens a authentication
    what 4294967295 opened is over
";

#[test]
fn a_query_is_answered_up_to_ready_for_query() {
    let lines = format!(
        "{BEGIN}
        c pg Q:30
        s pg T:40 D:300 D:300 C:9 Z:1
        c pg P:40 B:20 D:2 E:5 S
        s pg N:20 1 2 T:40 A:10 E:50 Z:1
        c pg X
        "
    );
    let told = format!(
        "{BEGUN}
        0 begins 28
        0 asks Query  to 28
        0 is asked 63
        0 is being answered 53
        0 is answered 728
        1 begins 63
        1 asks Sync  to 150
        1 is asked 155
        1 is being answered 753
        1 is answered 884
        "
    );
    for segment in [usize::MAX, 23, 4, 1] {
        tells_shown(&lines, Shown { segment, ..WHOLE }, &told);
    }
}

#[test]
fn pipelined_units_are_answered_in_order() {
    tells(
        &format!(
            "{BEGIN}
            c pg P:1 B:1 E:1 S B:1 E:1 S Q:1
            s pg 1 2 C:1 Z:1 2 C:1 E:9 Z:1
            s pg C:1 Z:1
            "
        ),
        &format!(
            "{BEGUN}
            0 begins 28
            0 asks Sync  to 46
            0 is asked 51
            1 begins 51
            1 asks Sync  to 63
            1 is asked 68
            2 begins 68
            2 asks Query  to 68
            2 is asked 74
            0 is being answered 53
            0 is answered 75
            1 is being answered 75
            1 is answered 106
            2 is being answered 106
            2 is answered 118
            "
        ),
    );
}

#[test]
fn what_is_copied_or_flushed_is_not_judged() {
    tells(
        &format!(
            "{BEGIN}
            c pg Q:9
            s pg G:7
            c pg d:100 d:100 c
            s pg C:9 Z:1
            c pg P:1 H
            s pg 1
            c pg B:1 E:1 S
            s pg 2 C:9 Z:1
            c pg Q:9 H
            s pg Z:1
            c pg P:3
            c end
            s end
            "
        ),
        &format!(
            "{BEGUN}
            0 begins 28
            0 asks Query  to 28
            0 is asked 42
            0 is being answered 53
            0 opens a COPY transfer
            Unjudged {{ exchange: ExchangeId(0) }}
            what 0 opened is over
            1 begins 257
            1 is being answered 85
            1 asks Sync  to 280
            1 opens a flushed unit
            Unjudged {{ exchange: ExchangeId(1) }}
            what 1 opened is over
            2 begins 285
            2 asks Query  to 285
            2 is asked 299
            2 is being answered 115
            2 is answered 121
            3 begins 304
            Unjudged {{ exchange: ExchangeId(3) }}
            "
        ),
    );
}

#[test]
fn encryption_leads_to_tls_and_a_refusal_to_startup() {
    tells(
        r#"
        c pg ssl
        s "S"
        c tls 22:100
        "#,
        "PostgreSQL\nTLS",
    );
    tells(
        r#"
        c pg gss
        s "N"
        c pg ssl
        s "N"
        c pg startup:20
        s pg R:4 Z:1
        c pg Q:9
        s pg Z:1
        "#,
        &format!(
            "{BEGUN}\n0 begins 44\n0 asks Query  to 44\n0 is asked 58\n0 is being answered 17\n0 is answered 23"
        ),
    );
    tells("c pg gss\ns \"G\"\nc \"abc\"\ns \"abc\"", "PostgreSQL");
    tells("c pg cancel\ns end", "PostgreSQL");
}

#[test]
fn behind_a_gap_a_client_that_waits_for_each_answer_is_followed_again() {
    tells(
        &format!(
            "{BEGIN}
            c pg Q:30
            s gap 100
            c pg Q:30
            s pg C:9 Z:1
            "
        ),
        &format!(
            "{BEGUN}
            0 begins 28
            0 asks Query  to 28
            0 is asked 63
            0 is lost
            1 begins 63
            1 asks Query  to 63
            1 is asked 98
            1 is being answered 153
            1 is answered 173
            "
        ),
    );
}

/// The server answers `Parse` before the rest of the unit comes, which the capture cuts: one response begins.
#[test]
fn a_server_may_answer_before_the_client_has_asked_to_the_end() {
    let lines = format!(
        "{BEGIN}
        c pg P:600
        s pg 1
        c pg B:600 E:600 S
        s pg 2 C:9 Z:1
        c pg Q:30
        s pg C:9 Z:1
        "
    );
    let told = format!(
        "{BEGUN}
        0 begins 28
        0 is being answered 53
        0 is asked ~1848
        0 is answered ~83
        1 begins 1848
        1 asks Query  to 1848
        1 is asked 1883
        1 is being answered 83
        1 is answered 103
        "
    );
    tells_shown(&lines, Shown { segment: 1448, snap: 140 }, &told);
}

#[test]
fn a_connection_seen_from_its_middle_is_recognised_by_whole_units() {
    tells(
        "
        c gap 10
        s gap 10
        c pg Q:5
        s pg C:9 Z:1
        c pg B:9 E:9 S
        s pg 2 C:9 Z:1
        ",
        "
        opaque
        PostgreSQL
        0 begins 10
        0 asks Query  to 10
        0 is asked 20
        0 is being answered 10
        0 is answered 30
        1 begins 20
        1 asks Sync  to 48
        1 is asked 53
        1 is being answered 30
        1 is answered 55
        ",
    );
}
