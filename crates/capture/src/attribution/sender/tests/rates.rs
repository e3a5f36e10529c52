//! What shows the rate of links: each condition once not met, and each bound from both sides.

use super::{
    stalls::{arrived, delays, last, sender},
    *,
};

fn micros(micros: u64) -> Nanos {
    Nanos::from_micros(micros)
}

fn ack(millis: f64, acked: u64) -> Acknowledgement {
    let mut wire = Wire::new();
    wire.ack(millis, acked);
    wire.sender.acks_in_flight[0]
}

/// Links behind the vantage point take 10 ms for 1,000 bytes with headers, as two samples have shown.
fn on_known_link(sender: Sender) -> Sender {
    let mut sender = sender;
    sender.bottleneck.behind.sample(FULL - Pace::HEADERS, micros(10_000));
    sender.bottleneck.behind.sample(FULL - Pace::HEADERS, micros(10_000));
    sender
}

#[test]
fn a_silence_before_a_timeout_is_as_long_as_two_segments_and_a_stall_take() {
    let near = delays(0, 20_000);
    // Heard at 100 ms: two segments take 20.8 ms, and a stall 40.
    let heard = Sender { progress_at: Some(at(100.0)), ..on_known_link(sender()) };
    let repeated =
        |repeated_acks| Sender { repeated_acks, heard_at: Some(at(200.0)), ..heard.clone() };
    let segments = |count: u64| Sender { acked: (10 - count) * FULL, ..heard.clone() };
    let before = Sender { progress_at: Some(at(0.0)), ..heard.clone() };
    for (why, sender, sent, since) in [
        ("as long", &heard, 160.8, None),
        ("longer", &heard, 160.801, Some(90.0)),
        ("one repeats it", &repeated(1), 161.0, Some(90.0)),
        ("two do", &repeated(2), 161.0, None),
        ("two did", &repeated(2), 261.0, Some(190.0)),
        ("two segments are outstanding", &segments(2), 161.0, Some(90.0)),
        ("less", &Sender { acked: 8 * FULL + 1, ..heard.clone() }, 161.0, None),
        ("with the data before", &before, 161.0, None),
        ("never", &Sender { progress_at: None, ..heard.clone() }, 161.0, None),
    ] {
        let found = sender.silent_since(&last(), at(sent), &near);
        assert_eq!(found, since.map(at), "{why}");
    }
}

#[test]
fn a_link_goes_on_behind_what_is_acknowledged_if_its_rate_is_sure() {
    let near = delays(0, 20_000);
    let base = on_known_link(sender());
    let mut doubtful = sender();
    doubtful.bottleneck.behind.sample(FULL, micros(10_000));
    let sacked = Acknowledgement { sacks: true, ..ack(30.0, 8 * FULL) };
    let held = Acknowledgement { held: Nanos::new(1), ..ack(30.0, 8 * FULL) };
    let of_two = ack(30.0, 8 * FULL);
    let busy = |sender: &Sender, ack: &Acknowledgement, delays| {
        let mut sender = sender.clone();
        sender.bottleneck.is_busy_until(at(20.0));
        sender.go_on_behind(ack, delays);
        sender.bottleneck.free_at() > at(20.0)
    };
    for (why, sender, ack, delays, goes_on) in [
        ("two segments are left", &base, &of_two, &near, true),
        ("none is", &base, &ack(30.0, 10 * FULL), &near, false),
        ("of a size that is not known", &Sender { full: 0, ..base.clone() }, &of_two, &near, false),
        ("nothing was sent", &Sender { last: None, ..base.clone() }, &of_two, &near, false),
        ("one sample", &doubtful, &of_two, &near, false),
        ("no rate", &sender(), &of_two, &near, false),
        ("behind a hole", &base, &sacked, &near, false),
        ("in a recovery", &Sender { recover: Some(1), ..base.clone() }, &of_two, &near, false),
        ("the path held it", &base, &held, &near, false),
        ("far from the sender", &base, &of_two, &delays(10_000, 10_000), false),
    ] {
        assert_eq!(busy(sender, ack, delays), goes_on, "{why}");
    }
    // It is busy until 31.2 ms, which is later by half of the time since the last data, or by more.
    for (free_at, until) in [(16.2, 31.2), (16.199, 16.199)] {
        let mut sender = base.clone();
        sender.bottleneck.is_busy_until(at(free_at));
        sender.go_on_behind(&of_two, &near);
        assert_eq!(sender.bottleneck.free_at(), at(until), "{free_at}");
    }
}

#[test]
fn a_pace_is_learnt_from_full_segments_that_were_ready_and_that_no_window_held() {
    let near = delays(0, 20_000);
    let data = Wire::new().seen(4.0, 0..FULL);
    let lost = SeenData { loss: Some(Loss::Missing), ..data.clone() };
    let part = SeenData { bytes: 0..FULL - 1, ..data.clone() };
    let empty = SeenData { bytes: 0..0, full: 0, ..data.clone() };
    let pushed = Sender { last: Some(Departure { pushed: true, ..last() }), ..sender() };
    let first = Sender { last: None, ..sender() };
    let with_ack = |millis: f64, usable_window| Sender {
        latest: Some(Arrived { at: at(millis), usable_window, ..arrived(0.0) }),
        ..sender()
    };
    for (why, sender, data, known) in [
        ("ready", sender(), &data, true),
        ("a write had ended", pushed, &data, false),
        ("the first", first, &data, false),
        ("a repair", sender(), &lost, false),
        ("not full", sender(), &part, false),
        ("empty", sender(), &empty, false),
        ("an ACK came long before", with_ack(3.0, None), &data, true),
        ("the ACK came just before", with_ack(3.001, None), &data, false),
        ("before the data", with_ack(0.0, Some(0)), &data, true),
        ("a window was shut", with_ack(0.5, Some(FULL - 1)), &data, false),
        ("it had room", with_ack(0.5, Some(FULL)), &data, true),
    ] {
        let mut sender = sender;
        sender.learn_pace(&data.clone(), &near);
        assert_eq!(sender.bottleneck.before.is_known(), known, "{why}");
    }
}

#[test]
fn a_flight_that_answers_bounds_the_rate_where_nothing_was_on_its_way() {
    let far = delays(10_000, 10_000);
    let in_doubt = PathDelays { sender_in_doubt: true, ..far };
    let near = delays(0, 20_000);
    let asks = Some(Asks { packet: 1, seen: at(0.0) });
    let data = SeenData { answers: asks, ..Wire::new().seen(10.0, 0..FULL) };
    let lost = SeenData { loss: Some(Loss::Repairs), ..data.clone() };
    let idle = Sender { acked: 10 * FULL, ..sender() };
    let busy = Sender { acked: 10 * FULL - 1, ..sender() };
    let acked = |millis: f64| Sender {
        latest: Some(Arrived { at: at(millis), ..arrived(0.0) }),
        ..idle.clone()
    };
    let bytes = FULL + Pace::HEADERS;
    for (why, sender, data, delays, asked) in [
        ("alone", &idle, &data, &far, Some(bytes)),
        ("behind others", &busy, &data, &far, None),
        ("next to its sender", &idle, &data, &near, None),
        ("or perhaps", &idle, &data, &in_doubt, None),
        ("a repair", &idle, &lost, &far, None),
        ("by an ACK", &acked(5.001), &data, &far, None),
        ("before it", &acked(5.0), &data, &far, Some(bytes)),
    ] {
        let mut sender = sender.clone();
        sender.learn_pace(data, delays);
        assert_eq!(sender.asked.map(|it| it.1), asked, "{why}");
    }
    let mut sender = idle.clone();
    sender.learn_pace(&data, &far);
    sender.learn_pace(&SeenData { answers: None, ..data.clone() }, &far);
    assert_eq!(sender.asked.map(|it| it.1), Some(2 * bytes), "the rest of it");
}

/// RFC 5681, section 4.2: what an acknowledgement of two full segments of a burst is late by, a link was busy for.
#[test]
fn a_burst_shows_the_rate_of_a_link_behind_by_what_its_acknowledgement_is_late() {
    let time = |change: &dyn Fn(&mut Sender), acked: u64, newly: u64, late: u64| {
        let mut sender =
            Sender { full: FULL, highest: 4_000, edge: Some(60_000), ..Sender::default() };
        for start in (0..4_000).step_by(1_000) {
            sender.round_trips.sent(&(start..start + FULL), start, at(0.0));
        }
        change(&mut sender);
        let ack = ack(20.0 + late as f64 / 1_000.0, acked);
        sender.time_burst(&ack, newly, micros(late), micros(20_000));
        sender.bottleneck.behind.is_known()
    };
    let as_is = |_: &mut Sender| ();
    let edge = |edge: u64| move |sender: &mut Sender| sender.edge = Some(edge);
    let unknown = |sender: &mut Sender| sender.full = 0;
    let reader = |sender: &mut Sender| {
        (sender.edge, sender.waits_for_reader) = (Some(4_999), true);
        sender.bottleneck.behind = Pace::default();
    };
    for (why, change, acked, newly, late, known) in [
        ("two segments", &as_is as &dyn Fn(&mut Sender), 2_000, 2_000, 8_000, true),
        ("less", &as_is, 2_000, 1_999, 8_000, false),
        ("in time", &as_is, 2_000, 2_000, 0, false),
        ("of a size that is not known", &unknown, 2_000, 2_000, 8_000, false),
        ("a window that is used up", &edge(4_999), 3_000, 2_001, 8_000, false),
        ("two segments", &edge(4_999), 2_000, 2_000, 8_000, true),
        ("one that is not", &edge(5_000), 3_000, 2_001, 8_000, true),
        ("a reader that is late", &reader, 2_000, 2_000, 8_000, false),
        ("more than the burst", &as_is, 4_001, 2_000, 8_000, false),
    ] {
        assert_eq!(time(change, acked, newly, late), known, "{why}");
    }
}

#[test]
fn what_was_written_bit_by_bit_found_no_link_busy_if_its_acknowledgement_was_prompt() {
    // The burst began 12 ms before its last segment; a link before the vantage point takes 2 ms for each.
    let time = |busy: f64, late: u64| {
        let mut sender =
            Sender { full: FULL, highest: 4_000, edge: Some(60_000), ..Sender::default() };
        sender.bottleneck.before.sample(FULL - Pace::HEADERS, micros(1_000));
        for start in (0..4_000).step_by(1_000) {
            sender.round_trips.sent(&(start..start + FULL), start, at(0.0));
        }
        sender.time_burst(&ack(20.0 + busy, 2_000), 2_000, micros(late), micros(20_000));
        sender.bottleneck.behind.is_known()
    };
    // Two segments take 2 ms, and twice that and 1 ms is 5.
    for (busy, late, known) in
        [(5.0, 0, true), (5.001, 0, false), (8.0, 999, false), (8.0, 1_000, true)]
    {
        assert_eq!(time(busy, late), known, "{busy} {late}");
    }
}

#[test]
fn a_train_goes_on_while_a_link_is_busy() {
    let (near, far) = (delays(0, 20_000), delays(10_000, 10_000));
    let mut known = sender();
    known.bottleneck.before.sample(FULL, micros(10_000));
    let with = |sender: &Sender, free_at: f64, train| {
        let mut sender = sender.clone();
        sender.bottleneck.is_busy_until(at(free_at));
        sender.last = sender.last.map(|it| Departure { train, ..it });
        sender
    };
    let (early, new) = (Train::new(at(3.0), micros(7)), |at, way| Train::new(at, micros(way)));
    // Far from the sender.
    for (why, from, sent, same, train) in [
        ("while it is busy", with(&known, 20.0, early), 20.0, false, early),
        ("after that", with(&known, 20.0, early), 20.001, false, new(at(20.001), 5_000)),
        ("in one burst", with(&known, 20.0, early), 50.0, true, early),
        ("of no known rate", with(&sender(), 20.0, early), 50.0, false, Train::NONE),
    ] {
        let gap = Gap { same_burst: same, ..crate::attribution::gap::tests::HELD };
        assert_eq!(from.train(at(sent), Some(&gap), &far), train, "{why}");
    }
    // Next to it: an eighth of the way of 10 ms, or of the time that the link was busy.
    for (why, sender, sent, begins) in [
        ("a moment later", with(&known, 8.0, early), 9.25, 3.0),
        ("later", with(&known, 8.0, early), 9.251, 9.251),
        ("an eighth of the time", with(&known, 16.0, early), 18.0, 3.0),
        ("more", with(&known, 16.0, early), 18.001, 18.001),
        ("the first of it", with(&known, 8.0, Train::NONE), 8.0, 0.0),
    ] {
        let found = sender.train(at(sent), None, &near);
        let first = found.at_sender(at(0.0)).after(Nanos::ZERO);
        let expected = match begins {
            3.0 => early,
            _ => new(at(begins), 10_000),
        };
        assert_eq!(first, expected.at_sender(at(0.0)).after(Nanos::ZERO), "{why}");
    }
}

#[test]
fn what_released_a_segment_shows_whether_it_is_paced() {
    use crate::attribution::{gap::tests::HELD, pacing::Release};
    let near = delays(0, 20_000);
    let data = Wire::new().seen(50.0, 10_000..11_000);
    let written = Gap { hold: Hold::just_written(), until: at(50.0), ..HELD };
    let closed = Gap { hold: Hold::full_window(), ..written };
    let heard = |millis: f64| {
        let mut sender = sender();
        sender.pacing.hear(at(millis));
        sender
    };
    let ended = Sender { last: Some(Departure { ended: true, ..last() }), ..sender() };
    let first = Sender { last: None, ..sender() };
    let done = Sender { acked: 10 * FULL, ..sender() };
    let with = |millis: f64| Sender {
        latest: Some(Arrived { at: at(millis), ..arrived(0.0) }),
        ..done.clone()
    };
    let repair = SeenData { loss: Some(Loss::Repairs), ..data.clone() };
    let missing = SeenData { missing: Missing::Earlier, ..data.clone() };
    let soon =
        |micros: u64| SeenData { seen: at(0.0) + Nanos::from_micros(micros), ..data.clone() };
    let answer = SeenData { answers: Some(Asks { packet: 1, seen: at(0.0) }), ..data.clone() };
    for (why, sender, data, gap, by) in [
        ("nothing", sender(), &data, Some(&written), Release::Timer),
        ("the first", sender(), &data, None, Release::Other),
        ("the first of all", first, &data, Some(&written), Release::Other),
        ("a repair", sender(), &repair, Some(&written), Release::Repair),
        ("behind a hole", sender(), &missing, Some(&written), Release::Repair),
        ("at once", sender(), &soon(100), Some(&written), Release::Same),
        ("later", sender(), &soon(101), Some(&written), Release::Timer),
        ("a closed window", sender(), &data, Some(&closed), Release::Other),
        ("its program", ended, &data, Some(&written), Release::Other),
        ("an answer", sender(), &answer, Some(&written), Release::Other),
        ("an ACK", heard(49.9), &data, Some(&written), Release::Acknowledgement),
        ("an earlier one", heard(49.899), &data, Some(&written), Release::Timer),
        ("all was acknowledged", done.clone(), &data, Some(&written), Release::Other),
        ("just now", with(49.7), &data, Some(&written), Release::Acknowledgement),
        ("before", with(49.699), &data, Some(&written), Release::Other),
    ] {
        assert_eq!(sender.released_by(data, gap, &near), by, "{why}");
    }
}
