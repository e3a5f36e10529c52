//! Gaps in, time by cause out.

mod moments;

use ackwise_cause::{H2Window, Writer};

use super::*;
use crate::attribution::later::Resolution;

/// 10 ms on links, then 10 ms on the way, an acknowledgement delayed by 40 ms, and 10 ms more.
pub(crate) const HELD: Gap = Gap {
    until: at(70),
    free_at: at(10),
    silent_since: None,
    train: Train::NONE,
    rate: Confidence::High,
    arrived: at(20),
    before: None,
    delayed_until: Some(at(60)),
    earlier_arrives: false,
    same_burst: false,
    bit_by_bit: false,
    hold: Hold {
        wait: Wait::Nagle,
        lost: None,
        writer: Writer::Working,
        window: None,
        cut_by_idle: false,
        cut_by_loss: false,
        paced: false,
        unknown: false,
        confidence: Confidence::Medium,
        rival: None,
        rule: Rule::NagleHeld,
        doubt: None,
    },
    held: None,
    stall: Stall::None,
    kind: None,
    capture_lost_data: false,
    missing: Missing::Nothing,
    later: Later::NOTHING,
    evidence: Evidence::of([1, 2, 3]),
};

pub(crate) const fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn divided(gap: &Gap, from: u64) -> Vec<(Cause, u128, Confidence)> {
    let mut account = Account::new(at(from));
    gap.divide(Phase::Response, &mut account);
    let shares = account.into_shares().into_iter();
    shares.map(|it| (it.cause, it.span.as_millis(), it.confidence)).collect()
}

#[test]
fn the_time_between_two_departures_is_divided_by_what_happened_in_it() {
    use Cause::{NagleDelayedAck, NagleRtt, PathStall, Transmission, Unknown};
    use Confidence::{High, Low, Medium};
    let lost = Hold { lost: Some(RepairedBy::Recovery), ..HELD.hold };
    let late = |left| Gap { delayed_until: Some(at(left)), until: at(600), ..HELD };
    let unknown = Hold { unknown: true, ..HELD.hold };
    for (gap, from, expected) in [
        (
            HELD,
            0,
            &[(Transmission, 10, High), (NagleRtt, 20, Medium), (NagleDelayedAck, 40, Medium)][..],
        ),
        (HELD, 30, &[(NagleDelayedAck, 30, Medium), (NagleRtt, 10, Medium)]),
        (HELD, 70, &[]),
        (late(520), 30, &[(NagleDelayedAck, 490, Medium), (NagleRtt, 80, Medium)]),
        (late(521), 10, &[(NagleRtt, 10, Medium), (Unknown, 580, Low)]),
        (Gap { hold: unknown, ..HELD }, 0, &[(Transmission, 10, High), (Unknown, 60, Low)]),
        (
            Gap { delayed_until: None, ..HELD },
            0,
            &[(Transmission, 10, High), (NagleRtt, 60, Medium)],
        ),
        (Gap { same_burst: true, ..HELD }, 0, &[(Transmission, 70, High)]),
        (Gap { capture_lost_data: true, ..HELD }, 5, &[(Unknown, 65, Low)]),
        (
            Gap { hold: lost, ..HELD },
            0,
            &[(Transmission, 10, Medium), (Cause::LossRecovery, 60, Medium)],
        ),
        (Gap { until: at(15), ..HELD }, 0, &[(Transmission, 10, High), (NagleRtt, 5, Medium)]),
        (
            Gap { stall: Stall::Since(at(45)), ..HELD },
            0,
            &[
                (Transmission, 10, High),
                (NagleRtt, 10, Medium),
                (NagleDelayedAck, 25, Medium),
                (PathStall, 25, Medium),
            ],
        ),
        (
            Gap { stall: Stall::Since(at(15)), ..HELD },
            0,
            &[(Transmission, 10, High), (NagleRtt, 5, Medium), (PathStall, 55, Medium)],
        ),
    ] {
        assert_eq!(divided(&gap, from), expected, "{gap:?}");
    }
}

#[test]
fn links_are_not_busy_with_what_was_lost_before_them() {
    use Cause::{Propagation, RetransmissionTimeout, Transmission};
    let lost = |by| Hold { lost: Some(by), ..HELD.hold };
    let times = |hold| {
        let (free_at, silent_since) = (at(60), Some(at(30)));
        let gap = Gap { hold, free_at, silent_since, delayed_until: None, ..HELD };
        let found: Vec<_> = divided(&gap, 0).iter().map(|it| (it.0, it.1)).collect();
        found
    };
    let by_timer = [(Transmission, 30), (RetransmissionTimeout, 40)];
    assert_eq!(times(lost(RepairedBy::Timeout)), by_timer);
    let recovered = [(Transmission, 60), (Cause::LossRecovery, 10)];
    assert_eq!(times(lost(RepairedBy::Recovery)), recovered);
    // The path held it: nothing had been lost.
    let mut spurious = Gap { hold: lost(RepairedBy::Timeout), ..HELD };
    (spurious.free_at, spurious.silent_since) = (at(60), Some(at(30)));
    spurious.later.note(Resolution::Spurious);
    let spurious = spurious.settled();
    assert_eq!(divided(&spurious, 0)[0].1, 60);
    assert!(divided(&spurious, 0).iter().all(|it| it.0 != Propagation));
}

#[test]
fn an_acknowledgement_that_gives_a_window_room_releases_a_response() {
    let window = Hold { wait: Wait::SlowStart, ..HELD.hold };
    let idle = Hold { cut_by_idle: true, ..window };
    let lost = Hold { lost: Some(RepairedBy::Recovery), ..window };
    let written = Hold { wait: Wait::Application, ..HELD.hold };
    for (hold, released) in [
        (window, Some((Cause::SlowStart, true))),
        (idle, Some((Cause::IdleRestart, true))),
        (HELD.hold, Some((Cause::NagleDelayedAck, false))),
        (lost, None),
        (written, None),
    ] {
        let found = Gap { hold, ..HELD }.released(Instant::EPOCH, false);
        assert_eq!(found.map(|it| (it.cause, it.is_sure)), released, "{hold:?}");
    }
}

#[test]
fn what_is_missing_is_billed_to_whoever_lost_it() {
    use Missing::{Earlier, JustBefore, Nothing};
    use Resolution::{LostByCapture, Never, Overtaken, SentAgain};
    let lost = Hold { lost: Some(RepairedBy::Recovery), confidence: Confidence::High, ..HELD.hold };
    let cause = |missing, resolution| {
        let mut gap = Gap { hold: lost, missing, ..HELD };
        gap.later.note(resolution);
        gap.later.note(Overtaken);
        let (cause, _, confidence) = *divided(&gap.settled(), 30).first().unwrap();
        (cause, confidence)
    };
    let network = (Cause::LossRecovery, Confidence::High);
    let capture = (Cause::Unknown, Confidence::Low);
    let nobody = Cause::NagleDelayedAck;
    for (missing, resolution, expected) in [
        (Nothing, LostByCapture, network),
        (JustBefore, SentAgain, network),
        (JustBefore, Overtaken, network),
        (JustBefore, LostByCapture, capture),
        (JustBefore, Never, capture),
        (Earlier, SentAgain, network),
        (Earlier, Overtaken, (nobody, Confidence::High)),
        (Earlier, LostByCapture, (nobody, Confidence::Medium)),
        (Earlier, Never, (nobody, Confidence::Medium)),
    ] {
        assert_eq!(cause(missing, resolution), expected, "{missing:?} {resolution:?}");
    }
}

#[test]
fn what_only_the_sender_knows_gives_way_to_flow_control_that_the_capture_shows() {
    use Confidence::{High, Medium};
    for (wait, confidence, writer) in [
        (Wait::Application, High, Writer::FlowControlled),
        (Wait::Nagle, Medium, Writer::Working),
        (Wait::ReceiveWindow { probing: false }, High, Writer::Working),
        (Wait::CongestionWindow, High, Writer::FlowControlled),
        (Wait::SlowStart, Medium, Writer::FlowControlled),
    ] {
        let mut gap = Gap { hold: Hold { wait, confidence, ..HELD.hold }, ..HELD };
        gap.blame_flow_control(H2Window::Stream, false, None);
        assert_eq!(gap.hold.writer, writer, "{wait:?} {confidence:?}");
    }
    assert_eq!(HELD.repairs(), None);
}

fn holding(change: fn(&mut Hold)) -> Gap {
    let mut gap = HELD;
    (gap.hold.wait, gap.hold.rule) = (Wait::Application, Rule::Written);
    gap.hold.confidence = Confidence::High;
    change(&mut gap.hold);
    gap
}

#[test]
fn flow_control_holds_until_its_credit_has_come() {
    use Confidence::{High, Medium};
    let written = holding(|_| {});
    let lost = holding(|it| it.lost = Some(RepairedBy::Recovery));
    let later = Gap { before: Some((at(30), HELD.hold)), ..written };
    let credit = |at_nanos| {
        let (at, immediate) = (Instant::from_nanos(at_nanos), Nanos::from_millis(1));
        Some(CreditArrival { at, immediate })
    };
    let (soon, late) = (credit(69_000_000), credit(68_999_999));
    // How sure it is that flow control held it, and what came before that.
    for (why, gap, at_sender, credit, now, before) in [
        ("at its sender", written, true, None, Some(High), None),
        ("elsewhere", written, false, None, Some(Medium), None),
        ("right after credit", written, false, soon, Some(High), None),
        ("later: its program", written, false, late, None, Some(Medium)),
        ("later, at its sender", written, true, late, None, Some(High)),
        ("after a loss", lost, true, None, Some(Medium), None),
        ("something else held it before", later, false, late, Some(Medium), None),
    ] {
        let mut gap = gap;
        gap.blame_flow_control(H2Window::Stream, at_sender, credit);
        let sure = |hold: Hold| (hold.writer == Writer::FlowControlled).then_some(hold.confidence);
        let found = gap.before.and_then(|it| sure(it.1));
        assert_eq!((sure(gap.hold), found), (now, before), "{why}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn a_window_that_is_sealed_or_unseen_is_a_doubt_of_what_only_the_sender_knows() {
    use Confidence::{High, Low, Medium};
    let flow_control = Some(Cause::H2FlowControl);
    let sealed = |gap: &Gap| {
        let mut gap = *gap;
        gap.blame_sealed_window();
        gap.hold.writer == Writer::FlowControlled && gap.hold.confidence == Medium
    };
    let doubted = |gap: &Gap| {
        let mut gap = *gap;
        gap.doubt_flow_control();
        (gap.hold.confidence, gap.hold.rival)
    };
    for (why, gap, is_sealed, is_doubted) in [
        ("its program", holding(|_| {}), true, true),
        ("a window", holding(|it| it.wait = Wait::CongestionWindow), true, true),
        ("a window at first", holding(|it| it.wait = Wait::SlowStart), true, true),
        ("Nagle", holding(|it| it.wait = Wait::Nagle), false, false),
        ("a loss", holding(|it| it.lost = Some(RepairedBy::Recovery)), false, true),
        ("nobody knows", holding(|it| it.unknown = true), false, true),
    ] {
        let expected = if is_doubted { (Low, flow_control) } else { (High, None) };
        assert_eq!((sealed(&gap), doubted(&gap)), (is_sealed, expected), "{why}");
    }
    let window: fn(&mut Hold) = |it| it.rule = Rule::WindowFull;
    for (why, gap, differs, expected) in [
        ("written", holding(|_| {}), false, (Medium, flow_control)),
        ("written in a burst", Gap { same_burst: true, ..holding(|_| {}) }, false, (High, None)),
        (
            "written after a loss",
            holding(|it| it.lost = Some(RepairedBy::Recovery)),
            false,
            (High, None),
        ),
        ("held by Nagle", holding(|it| it.rule = Rule::NagleHeld), false, (High, None)),
        ("held by a window", holding(window), true, (Low, flow_control)),
        (
            "held by a window in a burst",
            Gap { same_burst: true, ..holding(window) },
            false,
            (High, None),
        ),
        (
            "a window after a loss",
            holding(|it| (it.rule, it.lost) = (Rule::WindowFull, Some(RepairedBy::Timeout))),
            false,
            (High, None),
        ),
        (
            "a window, or a buffer",
            holding(|it| (it.rule, it.rival) = (Rule::WindowFull, Some(Cause::SendBuffer))),
            true,
            (Low, flow_control),
        ),
        (
            "a window, or Nagle",
            holding(|it| (it.rule, it.rival) = (Rule::WindowFull, Some(Cause::NagleRtt))),
            true,
            (Low, Some(Cause::NagleRtt)),
        ),
        (
            "a buffer",
            holding(|it| {
                (it.rule, it.writer) = (Rule::SameBuffer, Writer::SendBufferFull);
            }),
            true,
            (High, None),
        ),
    ] {
        let mut gap = gap;
        let is_buffer = gap.hold.writer == Writer::SendBufferFull;
        assert_eq!(gap.doubt_unseen_window(), differs, "{why}");
        assert_eq!((gap.hold.confidence, gap.hold.rival), expected, "{why}");
        assert_eq!((gap.hold.unknown, gap.rate), (is_buffer, Medium), "{why}");
    }
}

#[test]
fn what_is_sent_again_is_settled_by_what_shows_of_it_and_by_what_sent_it() {
    use Confidence::{High, Low, Medium};
    use Resolution::{AckLost, AnswerLost, Confirmed, OrRefused, Refused, Spurious, WindowClosed};
    let by = |lost, rival| {
        let hold = Hold { lost, rival, confidence: Medium, ..HELD.hold };
        Gap { hold, ..HELD }
    };
    let (timer, queue) = (Some(RepairedBy::Timeout), Some(Cause::Queueing));
    let (ack, refused) = (Some(RepairedBy::Recovery), Some(Cause::AcceptQueueFull));
    let timeout = Some(Cause::RetransmissionTimeout);
    let spurious = Some(LossKind::Spurious);
    for (gap, resolution, stall, kind, sure, rival) in [
        (by(timer, None), Confirmed, Stall::None, None, High, None),
        (by(timer, queue), Confirmed, Stall::None, None, Medium, queue),
        (by(ack, None), Confirmed, Stall::None, None, Medium, None),
        (by(timer, queue), AckLost, Stall::None, Some(LossKind::AckLost), Medium, None),
        (by(ack, queue), AnswerLost, Stall::None, Some(LossKind::AckLost), Medium, None),
        (by(timer, None), Spurious, Stall::Shown, spurious, Medium, None),
        (by(ack, None), Spurious, Stall::None, spurious, Medium, None),
        (by(timer, None), Refused { sure: true }, Stall::Refused, None, High, None),
        (by(timer, None), Refused { sure: false }, Stall::Refused, None, Medium, timeout),
        (by(ack, None), Refused { sure: true }, Stall::None, None, Medium, None),
        (by(timer, None), OrRefused, Stall::None, None, Low, refused),
        (by(ack, None), OrRefused, Stall::None, None, Medium, None),
    ] {
        let mut gap = gap;
        gap.later.note(resolution);
        let gap = gap.settled();
        let found = (gap.stall, gap.kind, gap.hold.confidence, gap.hold.rival);
        assert_eq!(found, (stall, kind, sure, rival), "{resolution:?} {:?}", gap.hold.lost);
    }
    for (lost, closed) in [(timer, true), (ack, true), (None, false)] {
        let mut gap = by(lost, None);
        gap.later.note(WindowClosed);
        assert_eq!(gap.settled().hold.rule == Rule::FillsWindow, closed, "{lost:?}");
    }
}

#[test]
fn the_end_of_a_message_is_on_links_and_on_its_way() {
    let mut account = Account::new(at(0));
    let train = Train::NONE;
    let way = LastWay { free_at: at(10), train, held: None, arrives: at(30), packet: 5 };
    arrive(Phase::Request, way, &mut account);
    let shares = account.into_shares();
    let found: Vec<_> = shares.iter().map(|it| (it.cause, it.span.as_millis())).collect();
    assert_eq!(found, [(Cause::RequestUpload, 10), (Cause::Propagation, 20)]);
    assert_eq!(shares[1].evidence.packets().collect::<Vec<_>>(), [5]);
    let mut account = Account::new(at(0));
    let held = Some(Held { from: at(15), stalls: true });
    let held = LastWay { held, ..way };
    arrive(Phase::Response, held.until(at(25)), &mut account);
    let shares = account.into_shares();
    let found: Vec<_> = shares.iter().map(|it| (it.cause, it.span.as_millis())).collect();
    let expected = [(Cause::Transmission, 10), (Cause::Propagation, 5), (Cause::PathStall, 10)];
    assert_eq!(found, expected);
}

#[test]
fn a_link_far_from_the_vantage_point_may_have_been_busy_later() {
    use Cause::{Propagation, SlowStart, Transmission};
    use Confidence::{High, Medium};
    let drawn = |phase, hold| {
        let train = Train::new(at(0), Nanos::from_millis(3));
        let gap = Gap { hold, train, delayed_until: None, ..HELD };
        let mut account = Account::new(at(0));
        account.keep_stretches(100);
        gap.divide(phase, &mut account);
        let stretches = account.take_stretches().into_iter();
        let found: Vec<_> = stretches
            .map(|it| (it.cause, it.until.as_nanos() / 1_000_000, it.confidence, it.rival))
            .collect();
        (found, account.into_shares().iter().all(|it| it.confidence == High))
    };
    let first = |other| [(Transmission, 3, Medium, Some(other)), (Transmission, 10, High, None)];
    // The window held the data all the time: the last of it stands for what may be the link's.
    let window = [(SlowStart, 67, High, None), (SlowStart, 70, Medium, Some(Transmission))];
    let held = Hold { wait: Wait::SlowStart, confidence: High, ..HELD.hold };
    assert_eq!(drawn(Phase::Response, held), ([first(SlowStart), window].concat(), true));
    // All that follows has left: the rest of the way is what may be the link's.
    let (found, shares_are_high) = drawn(Phase::Response, Hold::done());
    let way = [(Propagation, 17, High, None), (Propagation, 20, Medium, Some(Transmission))];
    assert_eq!(found[..4], [first(Propagation), way].concat());
    assert!(shares_are_high);
    // It is the handshake's time either way.
    let (found, _) = drawn(Phase::Tls(Direction::ToClient), Hold::done());
    let sure = |it: &(Cause, u64, Confidence, Option<Cause>)| (it.2, it.3) == (High, None);
    assert!(found.iter().all(sure), "{found:?}");
}

#[test]
fn what_the_path_held_by_its_timestamp_may_have_been_a_queue() {
    let held = Some(Held { from: at(12), stalls: true });
    let gap = Gap { held, hold: Hold { confidence: Confidence::High, ..HELD.hold }, ..HELD };
    let mut account = Account::new(at(0));
    gap.divide(Phase::Response, &mut account);
    let shares = account.into_shares();
    let stall = shares.iter().find(|it| it.cause == Cause::PathStall).unwrap();
    assert_eq!((stall.confidence, stall.rival), (Confidence::Medium, Some(Cause::Queueing)));
}

#[test]
fn what_a_window_held_until_an_acknowledgement_is_not_nagles() {
    let window = Hold { wait: Wait::SlowStart, ..HELD.hold };
    let gap = Gap { before: Some((at(40), window)), ..HELD };
    let expected = [
        (Cause::Transmission, 10, Confidence::High),
        (Cause::SlowStart, 30, Confidence::Medium),
        (Cause::NagleDelayedAck, 20, Confidence::Medium),
        (Cause::NagleRtt, 10, Confidence::Medium),
    ];
    assert_eq!(divided(&gap, 0), expected);
}

#[test]
fn an_acknowledgement_was_delayed_if_it_was_waited_for_and_no_longer_than_any_receiver_delays_it() {
    let millis = |millis| Some(Nanos::from_millis(millis));
    let hold = |change: fn(&mut Hold)| {
        let mut gap = HELD;
        change(&mut gap.hold);
        gap
    };
    let until = |left| Gap { delayed_until: Some(at(left)), ..HELD };
    for (why, gap, delay) in [
        ("Nagle waits for it", HELD, millis(40)),
        ("a window does", hold(|it| it.wait = Wait::SlowStart), millis(40)),
        ("a program does not", hold(|it| it.wait = Wait::Application), None),
        ("a loss has cut the window", hold(|it| it.cut_by_loss = true), None),
        ("as long as any", until(520), millis(500)),
        ("longer", until(521), None),
        ("nobody read", Gap { stall: Stall::Unread, ..HELD }, None),
        ("perhaps nobody did", Gap { stall: Stall::OrUnread, ..HELD }, None),
        ("or the path held it", Gap { stall: Stall::OrDelayedAck, ..HELD }, millis(40)),
        ("it was prompt", Gap { delayed_until: None, ..HELD }, None),
    ] {
        assert_eq!(gap.ack_delay(), delay, "{why}");
    }
}
