//! The whole product of waits, delayed acknowledgements and phases, as tables.

use core::time::Duration;

use ackwise_tcp::{AckWait, Instant, Wait};

use super::*;
use Cause::*;

/// A message that is completely written, not lost, and with no link busy. By the sender's wait, the
/// cause while data is in flight; when it has arrived and its acknowledgement is in flight; and
/// when the acknowledgement is delayed.
#[rustfmt::skip]
const HELD: [(Wait, [Cause; 3]); 14] = [
    (Wait::Application,                         [Propagation,           ApplicationLimited,    ApplicationLimited]),
    (Wait::Handshake,                           [Handshake,             Handshake,             Handshake]),
    (Wait::SlowStart,                           [SlowStart,             SlowStart,             ShortInitialSegment]),
    (Wait::CongestionWindow,                    [CongestionWindow,      CongestionWindow,      ShortInitialSegment]),
    (Wait::ReceiveWindow { probing: false },    [ReceiveWindow,         ReceiveWindow,         ReceiveWindow]),
    (Wait::ReceiveWindow { probing: true },     [ReceiveWindow,         ReceiveWindow,         ReceiveWindow]),
    (Wait::Nagle,                               [NagleRtt,              NagleRtt,              NagleDelayedAck]),
    (Wait::Minshall,                            [NagleRtt,              NagleRtt,              NagleDelayedAck]),
    (Wait::Cork,                                [CorkTimer,             CorkTimer,             CorkTimer]),
    (Wait::SillyWindow,                         [SillyWindow,           SillyWindow,           SillyWindow]),
    (Wait::Pacing,                              [Pacing,                Pacing,                Pacing]),
    (Wait::Recovery,                            [LossRecovery,          LossRecovery,          LossRecovery]),
    (Wait::RetransmissionTimeout,               [RetransmissionTimeout, RetransmissionTimeout, RetransmissionTimeout]),
    (Wait::Closed,                              [Propagation,           ApplicationLimited,    ApplicationLimited]),
];

const EPOCH: Instant = Instant::EPOCH;

const DELAYS: [AckWait; 4] = [
    AckWait::Delayed { since: EPOCH, until: EPOCH },
    AckWait::HostTick { since: EPOCH, until: EPOCH },
    AckWait::Interarrival { since: EPOCH, until: EPOCH },
    AckWait::Withheld { since: EPOCH, until: EPOCH },
];

const PHASES: [Phase; 7] = [
    Phase::Handshake,
    Phase::Tls(Direction::ToServer),
    Phase::Tls(Direction::ToClient),
    Phase::Request,
    Phase::ServerThink,
    Phase::Response,
    Phase::HeadOfLine,
];

/// A response that is completely written.
const RESPONSE: Moment = Moment {
    phase: Phase::Response,
    wait: Wait::Application,
    ack_wait: None,
    in_flight: InFlight::Nothing,
    writer: Writer::Done,
    cut_by_idle: false,
    paced: false,
};

/// The cause in `phase` for the cause that the sender's wait gives in the response.
fn in_phase(phase: Phase, of_response: Cause) -> Cause {
    match (phase, of_response) {
        (Phase::Handshake, LossRecovery | RetransmissionTimeout) => of_response,
        (Phase::Handshake, _) => Handshake,
        (Phase::ServerThink, _) => ServerThink,
        (Phase::HeadOfLine, _) => HeadOfLine,
        (Phase::Request, Transmission) => RequestUpload,
        (Phase::Tls(_), Transmission | Propagation | ApplicationLimited) => TlsHandshake,
        (Phase::Tls(_) | Phase::Request | Phase::Response, _) => of_response,
    }
}

#[test]
fn every_wait_has_a_cause_in_every_phase() {
    let ack_waits = DELAYS.map(Some).into_iter().chain([None]);
    for (ack_wait, phase) in ack_waits.flat_map(|ack_wait| PHASES.map(|phase| (ack_wait, phase))) {
        for (wait, [travelling, arrived, delayed]) in HELD {
            for (in_flight, expected) in [
                (InFlight::Propagating, travelling),
                (InFlight::Nothing, if ack_wait.is_some() { delayed } else { arrived }),
                (InFlight::Transmitting, Transmission),
                (InFlight::Queued, Queueing),
                (InFlight::Held, PathStall),
            ] {
                let expected = match phase {
                    Phase::Handshake => Handshake,
                    _ => in_phase(phase, expected),
                };
                let moment = Moment { phase, wait, ack_wait, in_flight, ..RESPONSE };
                assert_eq!(cause(&moment), expected, "{moment:?}");
            }
        }
    }
}

#[test]
fn a_loss_is_the_cause_until_its_repair_is_under_way() {
    for (phase, (wait, _)) in PHASES.into_iter().flat_map(|phase| HELD.map(|held| (phase, held))) {
        for repaired_by in [RepairedBy::Recovery, RepairedBy::Timeout] {
            let expected = match (repaired_by, wait) {
                (RepairedBy::Timeout, _) | (_, Wait::RetransmissionTimeout) => {
                    RetransmissionTimeout
                }
                (RepairedBy::Recovery, _) => LossRecovery,
            };
            let in_flight = InFlight::Lost(repaired_by);
            let moment = Moment { phase, wait, in_flight, paced: true, ..RESPONSE };
            assert_eq!(cause(&moment), in_phase(phase, expected), "{moment:?}");
        }
    }
}

#[test]
fn a_program_that_has_more_to_say_is_waited_for_when_tcp_has_nothing() {
    for (writer, expected) in [
        (Writer::Working, ApplicationLimited),
        (Writer::SendBufferFull, SendBuffer),
        (Writer::FlowControlled, H2FlowControl),
    ] {
        for in_flight in [InFlight::Propagating, InFlight::Nothing] {
            for (wait, [travelling, arrived, _]) in HELD {
                let of_wait = if in_flight == InFlight::Nothing { arrived } else { travelling };
                let expected = if wait == Wait::Application { expected } else { of_wait };
                let moment = Moment { wait, in_flight, writer, ..RESPONSE };
                assert_eq!(cause(&moment), expected, "{moment:?}");
            }
        }
        let busy = Moment { in_flight: InFlight::Transmitting, writer, ..RESPONSE };
        assert_eq!(cause(&busy), Transmission, "the program keeps up with the link");
    }
}

#[test]
fn a_window_cut_while_idle_is_blamed_unless_a_delayed_acknowledgement_is_waited_for() {
    for (wait, [_, arrived, delayed]) in HELD {
        let closed = matches!(wait, Wait::SlowStart | Wait::CongestionWindow);
        let moment = Moment { wait, cut_by_idle: true, ..RESPONSE };
        assert_eq!(cause(&moment), if closed { IdleRestart } else { arrived }, "{wait:?}");
        let moment = Moment { ack_wait: Some(DELAYS[0]), ..moment };
        assert_eq!(cause(&moment), delayed, "{wait:?}");
    }
}

#[test]
fn pacing_is_blamed_only_when_the_link_would_have_been_free() {
    for (wait, _) in HELD {
        for (in_flight, expected) in [
            (InFlight::Propagating, Pacing),
            (InFlight::Nothing, Pacing),
            (InFlight::Transmitting, Transmission),
        ] {
            let moment = Moment { wait, in_flight, paced: true, ..RESPONSE };
            assert_eq!(cause(&moment), expected, "{moment:?}");
        }
    }
}

#[test]
fn the_tables_have_every_wait() {
    /// A new wait breaks the build here; the table then needs a row for it.
    const fn row(wait: Wait) -> usize {
        match wait {
            Wait::Application => 0,
            Wait::Handshake => 1,
            Wait::SlowStart => 2,
            Wait::CongestionWindow => 3,
            Wait::ReceiveWindow { probing: false } => 4,
            Wait::ReceiveWindow { probing: true } => 5,
            Wait::Nagle => 6,
            Wait::Minshall => 7,
            Wait::Cork => 8,
            Wait::SillyWindow => 9,
            Wait::Pacing => 10,
            Wait::Recovery => 11,
            Wait::RetransmissionTimeout => 12,
            Wait::Closed => 13,
        }
    }
    for (place, (wait, _)) in HELD.into_iter().enumerate() {
        assert_eq!(row(wait), place, "{wait:?}");
    }
}

#[test]
fn a_delayed_acknowledgement_counts_only_when_nothing_is_coming() {
    let ack_wait =
        Some(AckWait::Delayed { since: EPOCH, until: EPOCH + Duration::from_millis(40) });
    let moment = Moment { wait: Wait::Nagle, ack_wait, ..RESPONSE };
    assert_eq!(cause(&moment), NagleDelayedAck);
    let another_comes = Moment { in_flight: InFlight::Propagating, ..moment };
    assert_eq!(cause(&another_comes), NagleRtt, "the second segment makes the receiver answer");
}

#[test]
fn each_cause_has_a_party() {
    use Direction::{ToClient, ToServer};
    for (found, expected) in [
        (ServerThink, [Some(Party::Server); 2]),
        (HeadOfLine, [Some(Party::Client); 2]),
        (Handshake, [Some(Party::Path); 2]),
        (CongestionWindow, [Some(Party::Path); 2]),
        (RetransmissionTimeout, [Some(Party::Path); 2]),
        (ReceiveWindow, [Some(Party::Server), Some(Party::Client)]),
        (NagleDelayedAck, [Some(Party::Client), Some(Party::Server)]),
        (ApplicationLimited, [Some(Party::Client), Some(Party::Server)]),
        (Unknown, [None; 2]),
    ] {
        let parties = [ToServer, ToClient].map(|direction| found.party(direction));
        assert_eq!(parties, expected, "{found}");
    }
    let held = Moment { phase: Phase::Request, wait: Wait::Nagle, ..RESPONSE };
    let party = cause(&held).party(held.phase.direction());
    assert_eq!(party, Some(Party::Client), "a client stuck behind its own Nagle stalls itself");
}
