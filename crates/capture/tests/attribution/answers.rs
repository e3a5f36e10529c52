//! The time before a response: the server's, the path's, or nobody knows.

use ackwise_capture::attribution::{Confidence, Share};
use ackwise_cause::Cause;

use crate::wire::Streams;

/// What most of the time before each of several small responses was: of a round trip of `way` ms, captured at the
/// client or at the server. `late` has the server's time before each response, in ms, and `ack` that before an ACK.
#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn answered(at_client: bool, way: f64, late: &[f64], ack: Option<f64>) -> Vec<Share> {
    let bodies = vec![200; late.len()];
    let streams = Streams::of_bodies(&bodies);
    let [to_server, to_client] = if at_client { [way, 0.0] } else { [0.0, way] };
    let mut script = format!(
        "0 > syn ts 1\n{} < syn ts 1\n{} > ack 0 ts {}\n",
        0.05 + to_server,
        0.1 + way,
        1.0 + way
    );
    let mut at = 0.2 + way;
    for (number, late) in late.iter().enumerate() {
        let (asked, had) = (number * 100, number * 300);
        let stamp = |at: f64| at + 1.0;
        script += &format!("{at} > {asked}:{} psh ack {had} ts {:.0}\n", asked + 100, stamp(at));
        if let Some(ack) = ack.filter(|ack| ack < late) {
            let at = at + to_server + ack;
            script += &format!("{at} < ack {} ts {:.0}\n", asked + 100, stamp(at - way));
        }
        let answer = at + to_server + late;
        script += &format!(
            "{answer} < {had}:{} psh ack {} ts {:.0}\n",
            had + 300,
            asked + 100,
            stamp(answer - way)
        );
        at = answer + to_client + 0.1;
    }
    let end = streams.seen_as(&script);
    let longest = |shares: &mut dyn Iterator<Item = Share>| shares.max_by_key(|it| it.span);
    end.exchanges.iter().map(|it| longest(&mut it.shares.iter()).unwrap()).collect()
}

/// A cork that holds all of a small response looks like a program that waits for 200 ms and a round trip.
#[test]
fn a_program_that_waits_as_long_as_the_timer_of_a_cork_is_not_called_one() {
    for at_client in [true, false] {
        for late in [150.0, 204.0, 210.0, 215.0, 241.0, 300.0] {
            let found = answered(at_client, 2.0, &[late; 6], Some(0.05));
            assert_eq!(found.len(), 6);
            for share in &found {
                assert_eq!(share.cause, Cause::ServerThink, "{late}: {share:?}");
                assert!(share.confidence >= Confidence::Medium, "{late}: {share:?}");
            }
        }
    }
}

/// Of a program that waits for 20 ms at the client's side, nothing bounds the way of the request, unless an
/// acknowledgement came at once. At the server, its packets are there.
#[test]
fn away_from_the_server_a_late_answer_is_for_sure_the_servers_only_if_it_had_the_request() {
    use Confidence::{High, Medium};
    for (at_client, ack, expected) in [
        (true, Some(0.1), (High, None)),
        (true, None, (Medium, Some(Cause::Queueing))),
        // It comes alone, and late: so may the request have been.
        (true, Some(15.0), (Medium, Some(Cause::Queueing))),
        (false, None, (High, None)),
    ] {
        // The first exchange has the handshake in it.
        let found = answered(at_client, 20.0, &[0.3, 30.0, 30.0], ack)[1];
        let said = (found.confidence, found.rival);
        assert_eq!((found.cause, said), (Cause::ServerThink, expected), "{at_client} {ack:?}");
    }
}

/// A server that acknowledges its first request at once is Linux, which keeps no later acknowledgement for longer than
/// 40 ms or its round trip. Of another one, nobody knows.
#[test]
fn a_request_that_linux_has_not_acknowledged_was_not_there() {
    for (quick_ack, cause) in [("40.3 < ack 100 ts 31", Cause::PathStall), ("", Cause::ServerThink)]
    {
        let analysis = Streams::of_bodies(&[200, 200]).seen_as(&format!(
            r#"
            0     > syn ts 1
            20    < syn ts 1
            20.1  > ack 0 ts 21
            20.2  > 0:100 psh ack 0 ts 21
            {quick_ack}
            41    < 0:300 psh ack 100 ts 32
            41.1  > 100:200 psh ack 300 ts 42
            161.3 < 300:600 psh ack 200 ts 152
            161.4 > ack 600 ts 162
            "#
        ));
        let second = &analysis.exchanges[1];
        assert!(second.owed_to(cause).as_millis() >= 95, "{quick_ack}: {second:?}");
        let share = second.shares.iter().find(|it| it.cause == cause).unwrap();
        assert_eq!(share.confidence, Confidence::Medium, "{quick_ack}");
    }
}

/// The same where the capture seems to be the server's, whose host acknowledges within 40 ms whatever its program does.
#[test]
fn a_server_that_acknowledges_nothing_may_be_beyond_what_seems_to_be_its_host() {
    use Confidence::{High, Medium};
    for (ack, expected) in [("", Medium), ("61.3 < ack 200", High)] {
        let analysis = Streams::of_bodies(&[200, 200]).seen_as(&format!(
            r#"
            0     > syn
            0.1   < syn
            20.1  > ack 0
            20.2  > 0:100 psh ack 0
            20.3  < ack 100
            21    < 0:300 psh ack 100
            41.1  > 100:200 psh ack 300
            {ack}
            161.3 < 300:600 psh ack 200
            181.4 > ack 600
            "#
        ));
        let second = &analysis.exchanges[1];
        let think = second.shares.iter().find(|it| it.cause == Cause::ServerThink).unwrap();
        assert_eq!(think.confidence, expected, "{ack}: {think:?}");
    }
}

/// Timestamps show that the path holds responses for 5 to 50 ms: a server's time of as much may be the request's way.
#[test]
fn where_the_path_is_seen_to_vary_a_short_time_before_an_answer_is_its_own() {
    for (varies, cause) in [(true, Cause::Queueing), (false, Cause::ServerThink)] {
        let mut script = "0 > syn ts 1\n20 < syn ts 10\n20.1 > ack 0 ts 21\n".to_owned();
        let mut at = 20.2;
        let held = if varies { [0.0, 30.0, 42.0, 0.0] } else { [0.0; 4] };
        for (number, held) in held.into_iter().enumerate() {
            let (asked, had) = (number * 100, number * 300);
            script += &format!("{at} > {asked}:{} psh ack {had} ts {:.0}\n", asked + 100, at + 1.0);
            let late = if number == 3 { 25.0 } else { 0.5 };
            let left = at + 10.0 + late;
            let answer = left + 10.0 + held;
            script +=
                &format!("{answer} < {had}:{} psh ack {} ts {left:.0}\n", had + 300, asked + 100);
            at = answer + 0.1;
        }
        let analysis = Streams::of_bodies(&[200; 4]).seen_as(&script);
        let last = &analysis.exchanges[3];
        assert!(last.owed_to(cause).as_millis() >= 24, "{varies}: {last:?}");
    }
}

/// The first of three segments is lost, and sent again 72 ms later; what came behind it came in time.
#[test]
fn what_arrived_behind_a_hole_ends_the_servers_time() {
    for stamps in [false, true] {
        let stamp = |value: u32| if stamps { format!("ts {value}") } else { String::new() };
        let analysis = Streams::of_bodies(&[3_500]).seen_as(&format!(
            r#"
            0     > syn {}
            20    < syn {}
            20.1  > ack 0 {}
            20.2  > 0:100 psh ack 0 {}
            41.01 < 2920:3600 psh ack 100 {}
            41.05 > ack 0 sack 2920:3600 {}
            113   < 0:1460 ack 100 {}
            113.1 > ack 1460 sack 2920:3600 {}
            133.2 < 1460:2920 ack 100 {}
            133.3 > ack 3600 {}
            "#,
            stamp(1),
            stamp(1),
            stamp(21),
            stamp(21),
            stamp(32),
            stamp(42),
            stamp(104),
            stamp(114),
            stamp(124),
            stamp(134),
        ));
        let [exchange] = &analysis.exchanges[..] else { panic!("{analysis:?}") };
        assert!(exchange.owed_to(Cause::ServerThink).as_millis() < 2, "{stamps}: {exchange:?}");
        let lost =
            exchange.owed_to(Cause::RetransmissionTimeout) + exchange.owed_to(Cause::LossRecovery);
        assert!(lost.as_millis() >= 70, "{stamps}: {exchange:?}");
    }
}
