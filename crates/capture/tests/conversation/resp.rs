//! RESP: commands of Redis, and their replies.

use crate::wire::{Shown, WHOLE, tells, tells_shown};

#[test]
fn a_command_and_its_reply_are_an_exchange() {
    tells(
        r#"
        c "*2\r\n$3\r\nGET\r\n$6\r\nsecret\r\n"
        s "$5\r\nvalue\r\n"
        c "*3\r\n$3\r\nset\r\n$1\r\na\r\n$3\r\nb\r\n\r\n"
        s "-ERR no\r\n"
        s end
        "#,
        "
        RESP
        0 begins 0
        0 asks GET  to 11
        0 is asked 25
        0 is being answered 0
        0 is answered 11
        1 begins 25
        1 asks SET  to 36
        1 is asked 54
        1 is being answered 11
        1 is answered 20
        ",
    );
}

#[test]
fn pipelined_commands_are_answered_in_order_wherever_segments_end() {
    let lines = r#"
        c "*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nMGET\r\n$1\r\na\r\n*1\r\n$4\r\nEXEC\r\n"
        s "+PONG\r\n*3\r\n$1\r\nx\r\n*-1\r\n*2\r\n:1\r\n$-1\r\n*0\r\n"
    "#;
    let told = "
        RESP
        0 begins 0
        0 asks PING  to 12
        0 is asked 14
        1 begins 14
        1 asks MGET  to 26
        1 is asked 35
        2 begins 35
        2 asks EXEC  to 47
        2 is asked 49
        0 is being answered 0
        0 is answered 7
        1 is being answered 7
        1 is answered 36
        2 is being answered 36
        2 is answered 40
        ";
    for segment in [usize::MAX, 17, 5, 1] {
        tells_shown(lines, Shown { segment, ..WHOLE }, told);
    }
}

#[test]
fn resp3_has_pushes_and_attributes_that_answer_nothing() {
    tells(
        r#"
        c "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"
        s "%1\r\n+server\r\n+redis\r\n"
        c "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
        s ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n"
        s "|1\r\n+ttl\r\n:3600\r\n~2\r\n#t\r\n,1.5\r\n"
        "#,
        "
        RESP
        0 begins 0
        0 asks HELLO  to 13
        0 is asked 22
        0 is being answered 0
        0 is answered 21
        1 begins 22
        1 asks GET  to 33
        1 is asked 42
        1 is being answered 53
        1 is answered 84
        ",
    );
}

#[test]
fn a_blocking_command_is_not_judged_and_the_next_one_is() {
    tells(
        r#"
        c "*3\r\n$5\r\nBLPOP\r\n$1\r\na\r\n$1\r\n0\r\n"
        s "*2\r\n$1\r\na\r\n$1\r\nb\r\n"
        c "*6\r\n$5\r\nxread\r\n$5\r\nblock\r\n$1\r\n0\r\n$7\r\nstreams\r\n$5\r\nBLOCK\r\n$1\r\n$\r\n"
        s "*-1\r\n"
        c "*4\r\n$5\r\nXREAD\r\n$7\r\nSTREAMS\r\n$5\r\nBLOCK\r\n$1\r\n$\r\n"
        s "*-1\r\n"
        "#,
        "
        RESP
        0 begins 0
        0 asks BLPOP  to 13
        0 opens a blocking command
        Unjudged { exchange: ExchangeId(0) }
        what 0 opened is over
        1 begins 29
        1 asks XREAD  to 42
        1 opens a blocking command
        Unjudged { exchange: ExchangeId(1) }
        what 1 opened is over
        2 begins 93
        2 asks XREAD  to 106
        2 is asked 139
        2 is being answered 23
        2 is answered 28
        ",
    );
}

#[test]
fn what_waits_behind_a_blocking_command_is_not_judged_either() {
    tells(
        r#"
        c "*1\r\n$4\r\nPING\r\n*2\r\n$5\r\nBLPOP\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n"
        s "+PONG\r\n"
        s "*0\r\n+PONG\r\n"
        c "*1\r\n$4\r\nPING\r\n"
        s "+PONG\r\n"
        "#,
        "
        RESP
        0 begins 0
        0 asks PING  to 12
        0 is asked 14
        1 begins 14
        1 asks BLPOP  to 27
        Unjudged { exchange: ExchangeId(1) }
        0 is being answered 0
        0 is answered 7
        1 opens a blocking command
        what 1 opened is over
        2 begins 50
        2 asks PING  to 62
        2 is asked 64
        2 is being answered 18
        2 is answered 25
        ",
    );
}

#[test]
fn from_a_subscription_on_nothing_is_divided() {
    for (command, asks, length, kind) in [
        (r"*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\na\r\n", "SUBSCRIBE", 31, "push stream"),
        (r"*1\r\n$7\r\nMONITOR\r\n", "MONITOR", 29, "push stream"),
        (
            r"*3\r\n$6\r\nCLIENT\r\n$5\r\nREPLY\r\n$3\r\nOFF\r\n",
            "CLIENT",
            28,
            "reply-free connection",
        ),
    ] {
        tells(
            &format!(
                r#"
                c "*1\r\n$4\r\nPING\r\n{command}*1\r\n$4\r\nPING\r\n"
                s "+PONG\r\n"
                s "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
                s "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n"
                c "*1\r\n$4\r\nPING\r\n"
                "#
            ),
            &format!(
                "
                RESP
                0 begins 0
                0 asks PING  to 12
                0 is asked 14
                1 begins 14
                1 asks {asks}  to {length}
                Unjudged {{ exchange: ExchangeId(1) }}
                0 is being answered 0
                0 is answered 7
                1 opens a {kind}
                "
            ),
        );
    }
}

#[test]
fn behind_a_gap_a_client_that_waits_for_each_reply_is_followed_again() {
    tells(
        r#"
        c "*1\r\n$4\r\nPING\r\n"
        s "+PONG\r\n"
        c gap 100
        s "+OK\r\n"
        c "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
        s "$3\r\nabc\r\n"
        c "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
        s gap 9
        c "*1\r\n$4\r\nPING\r\n"
        s "+PONG\r\n"
        "#,
        "
        RESP
        0 begins 0
        0 asks PING  to 12
        0 is asked 14
        0 is being answered 0
        0 is answered 7
        1 begins 114
        1 asks GET  to 125
        1 is asked 134
        1 is being answered 12
        1 is answered 21
        2 begins 134
        2 asks GET  to 145
        2 is asked 154
        2 is lost
        3 begins 154
        3 asks PING  to 166
        3 is asked 168
        3 is being answered 30
        3 is answered 37
        ",
    );
}

#[test]
fn behind_a_gap_a_client_that_pipelines_is_not_divided() {
    tells(
        r#"
        c "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n"
        s "+PONG\r\n"
        s gap 7
        c "*1\r\n$4\r\nPING\r\n"
        s "+PONG\r\n"
        "#,
        "
        RESP
        0 begins 0
        0 asks PING  to 12
        0 is asked 14
        1 begins 14
        1 asks PING  to 26
        1 is asked 28
        0 is being answered 0
        0 is answered 7
        1 is lost
        4294967295 opens a pipelined connection
        ",
    );
}

#[test]
fn a_gap_in_a_value_hides_nothing() {
    tells(
        r#"
        c "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$400\r\n" 100
        c gap 200
        c "" 102
        s "+OK\r\n"
        c "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
        s "$400\r\n" 100
        s gap 302
        "#,
        "
        RESP
        0 begins 0
        0 asks SET  to 11
        0 is asked 428
        0 is being answered 0
        0 is answered 5
        1 begins 428
        1 asks GET  to 439
        1 is asked 448
        1 is being answered 5
        1 is answered 413
        ",
    );
}

#[test]
fn a_reply_that_was_sent_before_its_command_had_arrived_answers_another() {
    tells(
        r#"
        c gap 10
        c "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
        s "+OK\r\n"
        c "*2\r\n$3\r\nGET\r\n$1\r\nb\r\n"
        s early "$1\r\na\r\n"
        s "$1\r\nb\r\n"
        "#,
        "
        RESP
        0 begins 10
        0 asks GET  to 21
        0 is asked 30
        0 is being answered 0
        0 is answered 5
        1 begins 30
        1 asks GET  to 41
        1 is asked 50
        1 is lost
        4294967295 opens a pipelined connection
        ",
    );
}

#[test]
fn what_the_snap_length_cuts_ends_by_turns() {
    let shown = Shown { snap: 20, ..WHOLE };
    tells_shown(
        r#"
        c "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$3\r\nb\r\n\r\n"
        s "+OK\r\n"
        c "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
        s "*2\r\n$9\r\nabcdefghi\r\n$3\r\nabc\r\n"
        c "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
        "#,
        shown,
        "
        RESP
        0 begins 0
        0 asks SET  to 11
        0 is asked ~29
        0 is being answered ~0
        0 is answered ~5
        1 begins 29
        1 asks GET  to 40
        1 is asked 49
        1 is being answered 5
        1 is answered ~33
        2 begins 49
        2 asks GET  to 60
        2 is asked 69
        ",
    );
}

#[test]
fn more_levels_than_are_read_are_not_divided() {
    let levels = r"*1\r\n".repeat(33);
    tells(
        &format!(
            r#"
            c "*1\r\n$4\r\nPING\r\n"
            s "{levels}:1\r\n"
            c "*1\r\n$4\r\nPING\r\n"
            s "+PONG\r\n"
            "#
        ),
        "
        RESP
        0 begins 0
        0 asks PING  to 12
        0 is asked 14
        0 is being answered 0
        0 is lost
        1 begins 14
        1 asks PING  to 26
        1 is asked 28
        1 is being answered 136
        1 is answered 143
        ",
    );
}

#[test]
fn what_only_looks_like_redis_is_opaque() {
    for bytes in [r"PING\r\n", r"*1\r\n:1\r\n", r"+OK\r\n", r"*x\r\n", r"*1\r\n$4\r\n0000\r\n"] {
        tells(
            &format!("c \"{bytes}\"\ns \"x\""),
            &format!("opaque\n0 begins ~0\n0 is asked ~{}\n0 is being answered ~0", {
                let plain = bytes.replace(r"\r", "r").replace(r"\n", "n");
                plain.len()
            }),
        );
    }
}
