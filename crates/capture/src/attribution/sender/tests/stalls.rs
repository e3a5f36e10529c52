//! What shows that the path delivered nothing, or what was lost: each condition once not met, and each bound from both
//! sides.

use super::*;
use crate::attribution::{hold::tests::LATE, stall::Stall};

/// Delays of data from an end that is so far from the vantage point to one that is so far, in microseconds there and
/// back.
pub(super) fn delays(sender: u64, receiver: u64) -> PathDelays {
    let mut distances = Distances::default();
    distances.sample(Direction::ToServer, Nanos::from_micros(sender));
    distances.sample(Direction::ToClient, Nanos::from_micros(receiver));
    *distances.path_delays(Direction::ToClient)
}

/// A full segment that left at once and arrived 10 ms later.
pub(super) fn last() -> Departure {
    Departure {
        packet: 1,
        seen: at(0.0),
        sent: at(0.0),
        arrives: at(10.0),
        train: Train::NONE,
        held: None,
        left: Left::AsSeen,
        queued: None,
        small: false,
        released: None,
        takes_silly_window: false,
        lost_before: false,
        seems_lost_before: false,
        acked: 0,
        pushed: false,
        ended: false,
        forced: false,
        timestamp: None,
    }
}

/// An acknowledgement of all that was outstanding, which left at `left` and arrives 10 ms later.
pub(super) fn arrived(left: f64) -> Arrived {
    Arrived {
        packet: 2,
        left: at(left),
        at: at(left + 10.0),
        flight: [4 * FULL, 0],
        usable_window: None,
        least_window: 0,
        sure_window: 0,
        small_acknowledged: false,
        sacks: false,
        in_bunch: false,
        held: Nanos::ZERO,
        unread: false,
    }
}

/// 10,000 bytes were sent, of which 2,000 are acknowledged.
pub(super) fn sender() -> Sender {
    let (full, highest, acked, last) = (FULL, 10 * FULL, 2 * FULL, Some(last()));
    Sender { full, highest, acked, last, ..Sender::default() }
}

/// A clock that ticks in milliseconds, as a second of it has shown.
pub(super) fn clock() -> SenderClock {
    let mut clock = SenderClock::default();
    clock.note(0, at(0.0));
    clock.note(1_000, at(1_000.0));
    clock
}

fn micros(micros: u64) -> Nanos {
    Nanos::from_micros(micros)
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn a_late_segment_or_a_late_acknowledgement_shows_a_stall() {
    const LONG: u64 = 40_000;
    let far = delays(0, 20_000);
    let written = Hold::just_written();
    let nagle = Hold { wait: Wait::Nagle, rule: Rule::NagleHeld, ..written };
    let unknown = Hold { unknown: true, rule: Rule::LateOrLost, ..written };
    let paced = Hold { rule: Rule::Paced, ..written };
    let closed = Hold::full_window();
    let memory = Hold { writer: Writer::SendBufferFull, ..written };
    let lost = |hold| Hold { lost: Some(RepairedBy::Recovery), ..hold };
    let base = Facts { full: FULL, bytes: FULL, immediate: micros(1_000), ..LATE };
    let after = |since| Facts { since_ack: Some(micros(since)), ..base };
    let after = |since| Facts { since_data: micros(since), ..after(since) };
    let released = Facts { since_ack: Some(micros(1_000)), ..base };
    let held = |by| Some(Arrived { held: micros(by), ..arrived(40.0) });
    let prompt = Some(arrived(10.0));
    let probe = |probe| Sender { probe: Some(probe), ..sender() };
    let in_vain = |packet| Sender { in_vain: Some(packet), ..sender() };
    let stamped = Sender {
        clock: clock(),
        last: Some(Departure { timestamp: Some(1_000), ..last() }),
        ..sender()
    };
    let since = |it| Stall::Since(at(it));
    for (why, sender, hold, facts, latest, stall) in [
        ("late", sender(), unknown, after(LONG + 1), None, Stall::OrTimeout),
        ("in time", sender(), unknown, after(LONG), None, Stall::None),
        (
            "several",
            sender(),
            unknown,
            Facts { bytes: FULL + 1, ..after(LONG + 1) },
            None,
            Stall::Shown,
        ),
        ("by its clock", stamped.clone(), unknown, after(LONG + 1), None, Stall::Shown),
        ("a probe", sender(), paced, after(LONG + 1), None, Stall::OrLoss),
        ("a probe, soon", sender(), paced, after(LONG), None, Stall::None),
        ("written", sender(), written, after(LONG + 1), None, Stall::None),
        ("held", sender(), nagle, released, held(LONG + 1), since(9.999)),
        ("held for less", sender(), nagle, released, held(LONG), Stall::None),
        ("a window", sender(), closed, released, held(LONG + 1), since(9.999)),
        ("memory", sender(), memory, released, held(LONG + 1), since(9.999)),
        ("its program", sender(), written, released, held(LONG + 1), Stall::None),
        ("a repair", sender(), lost(nagle), released, held(LONG + 1), Stall::None),
        ("long before", sender(), nagle, after(1_001), held(LONG + 1), Stall::None),
        ("no ACK", sender(), nagle, released, None, Stall::None),
        ("behind a probe", probe(2 * FULL), nagle, released, prompt, since(0.0)),
        ("it is acknowledged", probe(2 * FULL - 1), nagle, released, prompt, Stall::None),
        ("its program", probe(2 * FULL), written, released, prompt, Stall::None),
        ("a repair", probe(2 * FULL), lost(nagle), released, prompt, Stall::None),
        ("sent in vain", in_vain(1), written, released, prompt, Stall::Shown),
        ("another was", in_vain(2), written, released, prompt, Stall::None),
        ("into a closed window", in_vain(1), closed, released, prompt, Stall::None),
        ("no ACK", in_vain(1), written, released, None, Stall::None),
        ("silence", sender(), nagle, released, Some(arrived(511.0)), Stall::Shown),
        ("its program's", sender(), written, released, Some(arrived(511.0)), Stall::None),
    ] {
        let mut wire = Wire::new();
        // By its timestamp, it left 10 ms after the data before, and was seen 50 ms after it.
        let data = SeenData { timestamp: Some(1_010), ..wire.seen(50.0, 0..FULL) };
        let facts = Facts { flight: [4 * FULL, 0], ..facts };
        let found = sender.stall(&hold, &facts, &data, latest.as_ref(), &far);
        assert_eq!(found, stall, "{why}");
    }
}

/// RFC 5681, section 4.2, and RFC 1122, section 4.2.3.2.
#[test]
fn a_silence_is_a_stall_a_reader_s_or_a_delayed_acknowledgement() {
    let (far, near) = (delays(0, 20_000), delays(20_000, 100));
    let nagle = Hold { wait: Wait::Nagle, ..Hold::just_written() };
    let lost = Hold { lost: Some(RepairedBy::Recovery), ..nagle };
    let facts = |flight| Facts { full: FULL, flight, ..LATE };
    let four = facts([4 * FULL, 0]);
    let two = facts([2 * FULL, 0]);
    let fills = Facts { fills_receive_window: true, ..four };
    let unread = |silent| Arrived { unread: true, ..arrived(10.0 + silent) };
    let bunch = |silent| Arrived { in_bunch: true, ..arrived(10.0 + silent) };
    let silent = |silent: f64| arrived(10.0 + silent);
    let mut known = sender();
    known.bottleneck.behind.sample(FULL, micros(100));
    let unknown = sender();
    let data = Wire::new().seen(0.0, 0..FULL);
    for (why, sender, delays, hold, facts, ack, stall) in [
        ("two round trips", &unknown, far, nagle, four, silent(40.0), Stall::None),
        ("more", &unknown, far, nagle, four, silent(40.1), Stall::OrDelayedAck),
        ("for as long as any", &unknown, far, nagle, four, silent(500.0), Stall::OrDelayedAck),
        ("for longer", &unknown, far, nagle, four, silent(500.1), Stall::Shown),
        (
            "one of several",
            &unknown,
            far,
            nagle,
            facts([5 * FULL, FULL]),
            silent(50.0),
            Stall::Shown,
        ),
        ("a bunch", &unknown, far, nagle, four, bunch(50.0), Stall::Shown),
        ("fewer", &unknown, far, nagle, facts([4 * FULL - 1, 0]), silent(50.0), Stall::None),
        ("on a known link", &known, far, nagle, two, silent(50.0), Stall::OrDelayedAck),
        ("less than two", &known, far, nagle, facts([2 * FULL - 1, 0]), silent(501.0), Stall::None),
        ("one", &known, far, nagle, facts([FULL, 0]), silent(500.1), Stall::Shown),
        ("one, as late as any", &known, far, nagle, facts([FULL, 0]), silent(500.0), Stall::None),
        ("a full window", &known, far, nagle, fills, silent(501.0), Stall::None),
        ("or the reader", &unknown, far, nagle, two, unread(50.0), Stall::OrUnread),
        ("as late as any", &unknown, far, nagle, two, unread(500.0), Stall::OrUnread),
        ("later", &known, far, nagle, two, unread(500.1), Stall::Shown),
        ("behind a loss", &known, far, lost, two, unread(50.0), Stall::OrDelayedAck),
        ("at the receiver", &unknown, near, nagle, two, silent(5.1), Stall::Unread),
        ("soon", &unknown, near, nagle, two, silent(5.0), Stall::None),
        ("later than any", &known, near, nagle, two, silent(500.1), Stall::None),
        ("behind a loss", &known, near, lost, two, silent(50.0), Stall::None),
        ("one", &known, near, nagle, facts([FULL, 0]), silent(600.0), Stall::None),
    ] {
        let facts = Facts { since_ack: Some(Nanos::ZERO), ..facts };
        let found = sender.stall(&hold, &facts, &data, Some(&ack), &delays);
        assert_eq!(found, stall, "{why}");
    }
}

#[test]
fn delays_are_usual_that_stacks_or_this_receiver_have() {
    let sender = Sender { delays: [Nanos::from_millis(80)].into(), ..sender() };
    for (micros, usual) in [
        (34_999, false),
        (35_000, true),
        (45_000, true),
        (45_001, false),
        (69_999, false),
        (70_000, true),
        (90_000, true),
        (90_001, false),
        (174_999, false),
        (175_000, true),
        (225_000, true),
        (225_001, false),
    ] {
        assert_eq!(sender.is_usual_delay(Nanos::from_micros(micros)), usual, "{micros}");
    }
}

#[test]
fn a_repair_of_what_was_seen_may_be_in_vain_if_its_receiver_is_far() {
    let (far, near) = (delays(0, 20_000), delays(20_000, 100));
    let mut wire = Wire::new();
    let mut repair = |bytes: Range<u64>, new| SeenData {
        loss: Some(Loss::Repairs),
        new,
        ..wire.seen(0.0, bytes)
    };
    let again = repair(9_000..10_000, false);
    let written = SeenData { loss: None, ..again.clone() };
    for (why, data, delays, in_vain) in [
        ("seen before", &again, far, true),
        ("at the receiver", &again, near, false),
        ("no repair", &written, far, false),
        ("a part was seen", &repair(9_000..10_001, true), far, true),
        ("it is new", &repair(9_000..10_000, true), far, false),
        ("behind all", &repair(10_000..11_000, false), far, false),
    ] {
        assert_eq!(sender().may_be_in_vain(data, &delays), in_vain, "{why}");
    }
}

#[test]
fn what_was_lost_shows_by_what_is_sent_again_and_when() {
    use LossKind::{AckLost, BehindCapture, Burst, Probe, Tail};
    let (near, far) = (delays(0, 20_000), delays(10_000, 10_000));
    let timeout = Hold { wait: Wait::RetransmissionTimeout, ..Hold::just_written() };
    let recovery = Hold { wait: Wait::Recovery, ..timeout };
    let late = Facts { since_data: micros(200_000), since_ack: None, ..LATE };
    let soon = Facts { since_data: micros(199_999), ..late };
    let again = || {
        let (packet, seen, bytes, by) = (1, at(0.0), 0..FULL, RepairedBy::Recovery);
        let (timestamp, acked, came_before) = (None, false, false);
        Again { packet, seen, bytes, by, timestamp, acked, came_before }
    };
    let with = |is_again: bool, recovers: bool| Sender {
        again: is_again.then(again),
        recover: recovers.then_some(10 * FULL),
        ..sender()
    };
    let mut wire = Wire::new();
    let mut data = |bytes: Range<u64>| SeenData { new: false, ..wire.seen(0.0, bytes) };
    let mut repair = |bytes| SeenData { loss: Some(Loss::Repairs), ..data(bytes) };
    let middle = repair(5_000..6_000);
    let new = SeenData { new: true, ..middle.clone() };
    let missing = SeenData { missing: Missing::Earlier, ..middle.clone() };
    let [acked, beyond] = [repair(1_000..2_000), repair(1_000..2_001)];
    let [first, second] = [repair(2_000..10_000), repair(2_001..10_000)];
    let [tail, earlier] = [repair(6_001..7_001), repair(6_000..7_000)];
    let skips = |by: u64| SeenData { loss: None, bytes: 10_000 + by..12_000, ..middle.clone() };
    let all = Sender { acked: 10 * FULL, ..sender() };
    let joined = SeenData { new: true, ..repair(9_000..11_000) };
    for (why, sender, hold, facts, data, delays, kind) in [
        ("a segment is skipped", sender(), recovery, late, &skips(1_000), near, None),
        ("more is", sender(), recovery, late, &skips(1_001), near, Some(Burst)),
        ("all was acknowledged", sender(), timeout, late, &acked, near, Some(AckLost)),
        ("all but a byte", sender(), timeout, late, &beyond, near, None),
        ("an ACK released it", sender(), recovery, late, &acked, near, None),
        ("new data is joined to it", all, timeout, late, &joined, near, Some(AckLost)),
        ("the second of a recovery", with(true, true), recovery, late, &middle, near, Some(Burst)),
        ("after it", with(true, false), recovery, late, &middle, near, None),
        ("the first", with(false, true), recovery, late, &middle, near, None),
        ("after a timeout", with(true, true), timeout, late, &middle, near, None),
        ("one before it is missing", sender(), recovery, late, &missing, near, Some(Burst)),
        ("the last of several", sender(), timeout, late, &second, near, Some(Probe)),
        ("a lone one", sender(), timeout, late, &first, near, Some(Tail)),
        ("sooner than any timeout", sender(), timeout, soon, &first, near, Some(Probe)),
        ("soon, but not the last", sender(), timeout, soon, &tail, near, Some(Tail)),
        ("by an ACK", sender(), recovery, soon, &second, near, None),
        ("less than three behind it", sender(), timeout, late, &tail, near, Some(Tail)),
        ("three", sender(), timeout, late, &earlier, near, None),
        ("less, by an ACK", sender(), recovery, late, &tail, near, None),
        ("seen before, far away", sender(), recovery, late, &middle, far, Some(BehindCapture)),
        ("not seen before", sender(), recovery, late, &new, far, None),
    ] {
        assert_eq!(sender.loss_kind(&hold, &facts, data, &delays), kind, "{why}");
    }
}
