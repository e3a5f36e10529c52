//! What a moment may have been, and how sure that is.

use super::*;

/// A wait with this rival, while a rate is sure or not.
fn moment_of(gap: &Gap, in_flight: InFlight) -> (Option<Cause>, Confidence, (Rule, Option<Rule>)) {
    let moment = gap.moment(Phase::Response, in_flight, None);
    (gap.rival(&moment), gap.confidence(&moment), gap.rules(&moment))
}

#[test]
fn what_else_a_moment_may_have_been_follows_from_what_data_did_then() {
    use InFlight::{Held, Lost, Nothing, Propagating, Queued, Transmitting};
    let (rto, stalled) = (Some(Cause::RetransmissionTimeout), Some(Cause::PathStall));
    let doubted = |stall| {
        let hold = Hold { rival: Some(Cause::SendBuffer), ..HELD.hold };
        Gap { hold, stall, ..HELD }
    };
    let buffer = Some(Cause::SendBuffer);
    let prompt = |stall| Gap { delayed_until: None, ..doubted(stall) };
    let by_path =
        Gap { held: Some(super::Held { from: at(10), stalls: true }), ..doubted(Stall::None) };
    let delayed = Some(Cause::NagleDelayedAck);
    for (why, gap, in_flight, rival) in [
        ("lost before", doubted(Stall::OrTimeout), Held, rto),
        ("or lost", doubted(Stall::OrLoss), Held, rto),
        ("refused", doubted(Stall::Refused), Held, buffer),
        ("unread, or held", doubted(Stall::OrUnread), Held, stalled),
        ("delayed", doubted(Stall::OrDelayedAck), Held, delayed),
        ("not delayed", prompt(Stall::OrDelayedAck), Held, None),
        ("unread, or delayed", doubted(Stall::Unread), Held, delayed),
        ("not delayed", prompt(Stall::Unread), Held, None),
        ("shown", doubted(Stall::Shown), Held, None),
        ("held by its timestamp", by_path, Held, Some(Cause::Queueing)),
        ("not by that", doubted(Stall::None), Held, None),
        ("in a queue", doubted(Stall::None), Queued, stalled),
        ("nothing", doubted(Stall::None), Nothing, buffer),
        ("lost", doubted(Stall::None), Lost(RepairedBy::Timeout), buffer),
        ("on its way", doubted(Stall::None), Propagating, None),
        ("on a link", doubted(Stall::None), Transmitting, None),
    ] {
        assert_eq!(moment_of(&gap, in_flight).0, rival, "{why}");
    }
    // On links: written bit by bit, for a receiver that reads late, or of a rate that nothing shows.
    let closed = Hold { wait: Wait::ReceiveWindow { probing: false }, ..HELD.hold };
    for (why, bit_by_bit, hold, rate, rival) in [
        ("bit by bit", true, HELD.hold, Confidence::High, Some(Cause::ApplicationLimited)),
        ("a closed window", false, closed, Confidence::Medium, Some(Cause::ReceiveWindow)),
        ("which is sure", false, closed, Confidence::High, None),
        ("a rate that may be the sender's", false, HELD.hold, Confidence::Low, Some(Cause::Pacing)),
        ("a rate that may be wrong", false, HELD.hold, Confidence::Medium, None),
    ] {
        let gap = Gap { bit_by_bit, hold, rate, ..HELD };
        assert_eq!(moment_of(&gap, Transmitting).0, rival, "{why}");
    }
}

#[test]
fn how_sure_a_moment_is_follows_from_the_rate_of_links_and_from_what_was_waited_for() {
    use Confidence::{High, Low, Medium};
    use InFlight::{Lost, Nothing, Propagating, Transmitting};
    let sure = |wait, lost, rate| {
        let hold = Hold { wait, lost, confidence: High, ..HELD.hold };
        Gap { hold, rate, ..HELD }
    };
    let timeout = Some(RepairedBy::Timeout);
    for (why, gap, in_flight, confidence) in [
        ("a link", sure(Wait::Nagle, None, High), Transmitting, High),
        ("of another rate", sure(Wait::Nagle, None, Low), Transmitting, Low),
        ("that drops", sure(Wait::Nagle, timeout, High), Transmitting, Medium),
        (
            "written bit by bit",
            Gap { bit_by_bit: true, ..sure(Wait::Nagle, None, High) },
            Transmitting,
            Medium,
        ),
        ("a window", sure(Wait::SlowStart, None, High), Nothing, High),
        ("behind a link", sure(Wait::SlowStart, None, Medium), Nothing, Medium),
        ("on its way", sure(Wait::SlowStart, None, Medium), Propagating, Medium),
        ("no window", sure(Wait::Nagle, None, Medium), Nothing, High),
        ("a loss", sure(Wait::SlowStart, timeout, Medium), Lost(RepairedBy::Timeout), High),
        ("a loss, behind a link", sure(Wait::SlowStart, timeout, Medium), Nothing, High),
    ] {
        assert_eq!(moment_of(&gap, in_flight).1, confidence, "{why}");
    }
    let gap = sure(Wait::SlowStart, None, Medium);
    let delayed = gap.while_ack_is_delayed(Phase::Response, at(60));
    assert_eq!(gap.confidence(&delayed), High, "while an acknowledgement is delayed");
}

#[test]
fn a_moment_is_decided_by_the_rule_that_says_what_data_did_then() {
    use InFlight::{Held, Nothing, Propagating, Queued, Transmitting};
    let gap =
        |stall| Gap { stall, hold: Hold { doubt: Some(Rule::MayBeNagle), ..HELD.hold }, ..HELD };
    let sent = Gap { hold: Hold { doubt: Some(Rule::MayBeNagle), ..Hold::done() }, ..HELD };
    let bits = Gap { bit_by_bit: true, ..HELD };
    let nagle = Some(Rule::MayBeNagle);
    for (gap, in_flight, rules) in [
        (bits, Transmitting, (Rule::LinkBusy, Some(Rule::MayBeProgram))),
        (HELD, Transmitting, (Rule::LinkBusy, Some(Rule::LinkUnsure))),
        (sent, Propagating, (Rule::OnItsWay, nagle)),
        (gap(Stall::None), Propagating, (Rule::NagleHeld, nagle)),
        (gap(Stall::OrTimeout), Held, (Rule::LateOrLost, None)),
        (gap(Stall::OrLoss), Held, (Rule::LateOrLost, None)),
        (gap(Stall::None), Held, (Rule::HeldByPath, None)),
        (gap(Stall::Shown), Queued, (Rule::HeldByPath, None)),
        (gap(Stall::Unread), Held, (Rule::Unread, None)),
        (gap(Stall::OrUnread), Held, (Rule::Unread, None)),
        (gap(Stall::Refused), Held, (Rule::Refused, nagle)),
        (gap(Stall::Shown), Held, (Rule::PathSilent, None)),
        (gap(Stall::None), Nothing, (Rule::NagleHeld, nagle)),
        (HELD, Nothing, (Rule::NagleHeld, Some(Rule::LinkUnsure))),
    ] {
        assert_eq!(moment_of(&gap, in_flight).2, rules, "{in_flight:?} {:?}", gap.stall);
    }
}

#[test]
fn a_verdict_has_the_kind_of_a_loss_and_the_window_of_flow_control_only_where_it_is_one() {
    let verdicts = |gap: Gap| gap.pieces(Direction::ToClient);
    let kind = Some(LossKind::Tail);
    let lost = Hold { lost: Some(RepairedBy::Recovery), ..HELD.hold };
    for (hold, has_kind) in [(lost, true), (HELD.hold, false)] {
        let gap = Gap { hold, kind, delayed_until: None, ..HELD };
        let found = verdicts(gap);
        assert_eq!(found.last().unwrap().1.kind.is_some(), has_kind);
        assert_eq!(found[0].1.kind, None, "a busy link");
    }
    let window = Some(H2Window::Stream);
    let flow =
        Hold { wait: Wait::Application, writer: Writer::FlowControlled, window, ..HELD.hold };
    for (hold, has_window) in [(flow, true), (Hold { window, ..HELD.hold }, false)] {
        let found = verdicts(Gap { hold, delayed_until: None, ..HELD });
        assert_eq!(found.last().unwrap().1.window.is_some(), has_window);
    }
    // A doubt is one of what is not sure, and no cause is its own rival.
    for (confidence, rival, doubt, expected) in [
        (Confidence::High, None, Some(Rule::MayBeNagle), (None, None)),
        (Confidence::Medium, None, Some(Rule::MayBeNagle), (Some(Rule::MayBeNagle), None)),
        (
            Confidence::Medium,
            Some(Cause::SendBuffer),
            Some(Rule::MayBeNagle),
            (Some(Rule::MayBeNagle), Some(Cause::SendBuffer)),
        ),
        (
            Confidence::Medium,
            Some(Cause::NagleRtt),
            Some(Rule::MayBeNagle),
            (Some(Rule::MayBeNagle), None),
        ),
    ] {
        let hold = Hold { confidence, rival, doubt, ..HELD.hold };
        let found = verdicts(Gap { hold, delayed_until: None, ..HELD }).last().unwrap().1;
        assert_eq!((found.doubt, found.rival), expected, "{confidence:?} {rival:?}");
    }
}

#[test]
fn who_did_not_read_or_accept_is_named_and_what_is_sent_again_is_known() {
    let (request, response) = (Phase::Request, Phase::Response);
    for (stall, phase, cause) in [
        (Stall::Refused, request, Cause::AcceptQueueFull),
        (Stall::Unread, request, Cause::ServerThink),
        (Stall::OrUnread, request, Cause::ServerThink),
        (Stall::Unread, response, Cause::ReceiveWindow),
        (Stall::OrUnread, response, Cause::ReceiveWindow),
        (Stall::Shown, response, Cause::PathStall),
    ] {
        let gap = Gap { stall, ..HELD };
        let moment = gap.moment(phase, InFlight::Held, None);
        assert_eq!(gap.cause(&moment), cause, "{stall:?} {phase:?}");
    }
    let lost = Hold { lost: Some(RepairedBy::Recovery), ..HELD.hold };
    for (hold, stall, again) in [
        (lost, Stall::None, true),
        (HELD.hold, Stall::Shown, true),
        (HELD.hold, Stall::Refused, true),
        (HELD.hold, Stall::Unread, false),
        (HELD.hold, Stall::None, false),
    ] {
        assert_eq!(Gap { hold, stall, ..HELD }.sends_again(), again, "{stall:?}");
    }
}

#[test]
fn a_receive_window_releases_what_it_had_no_room_for() {
    let closed = Hold { wait: Wait::ReceiveWindow { probing: false }, ..HELD.hold };
    let silly = Hold { wait: Wait::SillyWindow, ..HELD.hold };
    let high = Hold { confidence: Confidence::High, ..closed };
    for (hold, opens, released) in [
        (closed, true, Some((Cause::ReceiveWindow, false))),
        (closed, false, None),
        (silly, true, Some((Cause::SillyWindow, false))),
        (silly, false, None),
        (high, true, Some((Cause::ReceiveWindow, true))),
    ] {
        let found = Gap { hold, ..HELD }.released(at(0), opens);
        assert_eq!(found.map(|it| (it.cause, it.is_sure)), released, "{hold:?} {opens}");
    }
    let prompt = Gap { delayed_until: None, ..HELD }.released(at(0), false).unwrap();
    assert_eq!(prompt.cause, Cause::NagleRtt);
    assert_eq!(prompt.acknowledged, Some([at(0), at(20), at(20)]));
    let held = HELD.released(at(0), false).unwrap();
    assert_eq!(held.acknowledged, Some([at(0), at(20), at(60)]));
    let window = Hold { wait: Wait::SlowStart, ..HELD.hold };
    assert_eq!(Gap { hold: window, ..HELD }.released(at(0), false).unwrap().acknowledged, None);
}
