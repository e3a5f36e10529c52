//! Wire scripts: each file in `tests/scripts/<mechanism>/` is one connection, seen on the wire.
//!
//! The language is explained in `script/mod.rs`. A new script needs no code, a new folder one line
//! below.

mod script;

macro_rules! mechanisms {
    ($($mechanism:ident)*) => {
        $(
            #[test]
            fn $mechanism() {
                script::run_folder(stringify!($mechanism));
            }
        )*

        #[test]
        fn every_folder_of_scripts_is_a_test() {
            assert_eq!(script::folders(), [$(stringify!($mechanism)),*]);
        }
    };
}

mechanisms! {
    bbr
    buffer_tuning
    close
    close_swap
    cork
    deferral
    delayed_ack
    frto
    handshake
    hystart
    idle_restart
    minshall
    nagle
    negotiated_close
    path_mtu
    quick_ack
    rack
    recovery
    reduction
    reset
    retransmission
    rfc1337
    sack
    send_buffer
    settings
    silly_window
    syn_cookies
    tail_loss_probe
    time_wait
    timestamps
    undo
    unused_window
    urgent
    window_scale
    zero_window
}

/// A script that holds: what fails below differs from it in one line.
const OPENING: &str = "policies RFC offer=none
0.000 listen
      < S 0:0(0) win 65535 <mss 1460>
      > S. 0:0(0) ack 1 win 65535 <mss 1460>
0.100 < . ack 1
";

#[test]
fn a_failing_script_shows_what_happened_and_marks_the_line_that_differs() {
    let report = script::run_text(&format!("{OPENING} write 10\n> P. 1:12(11) ack 1\n"));
    assert_eq!(
        report.expect_err("the bytes differ"),
        "7: found 0.100000 > P. 1:11(10) ack 1 win 65535
    > P. 1:12(11) ack 1
  what happened, as a script:
    0.000000 listen
    0.000000 < S 0:0(0) win 65535 <mss 1460>
    0.000000 > S. 0:0(0) ack 1 win 65535 <mss 1460>
    0.100000 < . 1:1(0) ack 1 win 65535
    0.100000 event connected
    0.100000 write 10
    0.100000 > P. 1:11(10) ack 1 win 65535   # <-- differs
"
    );
}

#[test]
fn every_kind_of_difference_fails() {
    assert_eq!(script::run_text(OPENING), Ok(()));
    for (more, why) in [
        ("write 10", "the script ends, but another segment has left"),
        ("write 10\n write 10", "unexpected 0.100000 > P. 1:11(10) ack 1 win 65535"),
        ("write 70000 takes 70000", "bytes taken: found 65535, expected 70000"),
        ("> . ack 1", "nothing is sent"),
        ("write 10\n 0.101 > P. 1:11(10) ack 1", "expected at 0.101000, found 0.100000"),
        ("write 10\n > P. 1:11(10) ack 1\n nothing until 2.0", "unexpected 1.100000"),
        ("write 10\n > P. 1:11(10) ack 1 win 1", "found 0.100000 > P. 1:11(10) ack 1 win 65535"),
        ("state CLOSED", "state: found ESTABLISHED, expected CLOSED"),
        ("event connected\n event connected", "no event connected"),
        ("wait nagle", "name: found application, expected nagle"),
        ("cwnd 1", "count: found 14600, expected 1"),
        ("policies RFC", "settings come before the first step"),
        ("< Q 1:1(0)", "expected control bits out of FSRPU. or - at byte 1 of the segment"),
        ("dance", "no call \"dance\""),
    ] {
        let report = script::run_text(&format!("{OPENING}{more}\n")).expect_err(more);
        assert!(report.contains(why), "{more}: {report}");
    }
}

#[test]
fn the_trace_of_a_run_is_a_script_that_holds() {
    let trace = script::trace_of(&format!(
        "{OPENING} write 4096\n> . 1:1461(1460) ack 1\n> . 1461:2921(1460) ack 1\n\
         0.200 < . ack 2921\n> P. 2921:4097(1176) ack 1\n1.200 > P. 2921:4097(1176) ack 1\n"
    ));
    assert_eq!(script::run_text(&format!("policies RFC offer=none\n{trace}")), Ok(()), "{trace}");
}
