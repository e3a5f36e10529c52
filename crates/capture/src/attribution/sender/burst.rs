//! The middle and the end of a burst: most segments of a busy server, which waited for nothing but a link.

use std::cmp::Ordering;

use ackwise_tcp::Instant;

use super::{Departure, SeenData, Sender};
use crate::attribution::{
    Confidence, Evidence, Nanos,
    gap::{Gap, Missing},
    hold::Hold,
    later::Later,
    path::PathDelays,
    stall::Stall,
};

impl Sender {
    /// Takes a segment that followed the one before it so soon that only a link can have been between them.
    /// `None` if it is not, or not for sure: then nothing has happened.
    ///
    /// [`handle_in_detail`](Self::handle_in_detail) does the same in four times as many steps. No acknowledgement
    /// has arrived since the data before, and none so shortly before that it may have let the segment go; some is
    /// outstanding, so that no cork held it; and in so short a time, no timer ends, no path stalls and no clock
    /// shows anything. So a full segment was ready, and one that is not was just written.
    #[inline(always)]
    pub(crate) fn handle_in_burst(&mut self, data: &SeenData, delays: &PathDelays) -> Option<Gap> {
        let last = self.last.as_ref()?;
        let on_link = self.bottleneck.before.time(data.len());
        let sent = (data.seen - (delays.sender + on_link)).max(last.sent);
        let gap = Nanos::between(last.sent, sent);
        if !self.is_in_burst(last, data, sent, delays) || self.is_beyond_link(gap, data) {
            return None;
        }
        let (packet, flight) = match &self.latest {
            Some(it) if it.at + delays.immediate >= sent => return None,
            Some(it) if it.at + delays.immediate >= last.sent => (it.packet, it.flight[1]),
            _ => (0, self.flight()),
        };
        let next = self.acks_in_flight.front();
        let arrives =
            next.is_some_and(|it| it.seen + delays.sender <= sent + (delays.tolerance + on_link));
        if arrives || flight == 0 {
            return None;
        }
        let is_full = data.len() == data.full;
        let is_likely = last.pushed && delays.is_next_to_sender();
        let hold = if is_full { Hold::ready(is_likely) } else { Hold::just_written() };
        let mut gap = Gap {
            until: sent,
            free_at: self.bottleneck.free_at(),
            silent_since: None,
            train: last.train,
            rate: Confidence::High,
            arrived: self.arrived(last),
            delayed_until: None,
            earlier_arrives: self.acked > last.acked,
            same_burst: true,
            bit_by_bit: false,
            held: last.held,
            hold,
            before: None,
            stall: Stall::None,
            kind: None,
            capture_lost_data: false,
            missing: Missing::Nothing,
            later: Later::NOTHING,
            evidence: Evidence::of([last.packet, packet, data.packet]),
        };
        self.full = data.full;
        if let Some(timestamp) = data.timestamp {
            self.clock.note(timestamp, data.seen);
        }
        self.learn_pace(data, delays);
        gap.rate = self.bottleneck.sure();
        let by = self.released_by(data, Some(&gap), delays);
        self.depart(data, sent, false, Some(&gap), delays);
        self.note_pacing(data, by, delays);
        Some(gap)
    }

    /// Whether a segment, which left at `sent`, is the next of a burst, and nothing else happens with it.
    #[inline(always)]
    fn is_in_burst(
        &self,
        last: &Departure,
        data: &SeenData,
        sent: Instant,
        delays: &PathDelays,
    ) -> bool {
        let gap = Nanos::between(last.sent, sent);
        let is_next = data.bytes.start == self.highest && data.missing == Missing::Nothing;
        let is_new = data.new && data.loss.is_none() && data.answers.is_none();
        let lacks_nothing = !self.lacks_ack && !self.capture_lost_data;
        let recovers = self.recovered || self.recover.is_some();
        // Within the window that acknowledgements have shown, and not the last of it.
        let room = self.edge.and_then(|edge| edge.checked_sub(data.bytes.end));
        let (Some(room), true) = (room, data.full > 0) else { return false };
        let fits = match data.len().cmp(&data.full) {
            Ordering::Equal => room > 0,
            // The rest of a write: nothing else was between.
            Ordering::Less => {
                let is_rest = !last.pushed && gap <= Gap::ONE_WRITE;
                is_rest && room > 0 && !self.bottleneck.is_unknown()
            }
            Ordering::Greater => false,
        };
        gap <= delays.immediate
            && !last.ended
            && is_next
            && is_new
            && fits
            && lacks_nothing
            && !recovers
    }

    /// Links took much less time for it than it came after the data before: they are not what kept them apart.
    #[inline(always)]
    pub(super) fn is_beyond_link(&self, gap: Nanos, data: &SeenData) -> bool {
        gap > Gap::ONE_WRITE && self.bottleneck.before.is_faster(data.len(), gap)
    }

    /// When what was sent last was with its receiver. What was sent again in vain is not what that waited for.
    pub(super) fn arrived(&self, last: &Departure) -> Instant {
        if self.in_vain == Some(last.packet) { last.sent } else { last.arrives }
    }
}

#[cfg(test)]
mod tests {
    use ackwise_cause::Direction;
    use proptest::prelude::*;

    use super::*;
    use crate::attribution::{Acknowledgement, Distances, hold::Loss, sender::Asks};

    const FULL: u64 = 1_000;

    /// What is seen next, and how many microseconds later.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        Data {
            after: u64,
            skips: u64,
            bytes: u64,
            pushed: bool,
            odd: Option<Odd>,
            ticks: u32,
        },
        /// All but the given number of bytes are acknowledged, and the window has room for the other number.
        Ack {
            after: u64,
            open: u64,
            window: u64,
        },
    }

    /// What is seldom.
    #[derive(Clone, Copy, Debug)]
    enum Odd {
        Missing,
        MissingBefore,
        Repairs,
        Old,
        Answers,
        LostBefore,
        LacksAck,
        Skips,
    }

    fn any_event() -> impl Strategy<Value = Event> {
        use Odd::{Answers, LacksAck, LostBefore, Missing, MissingBefore, Old, Repairs, Skips};
        let after = || prop_oneof![4 => 0..20_u64, 2 => 20..700_u64, 1 => 700..300_000_u64];
        let bytes = prop_oneof![6 => Just(FULL), 1 => 1..FULL, 1 => Just(2 * FULL)];
        let odd = [Missing, MissingBefore, Repairs, Old, Answers, LostBefore, LacksAck, Skips];
        let odd = prop_oneof![
            12 => Just(None),
            1 => proptest::sample::select(odd.to_vec()).prop_map(Some),
        ];
        let skips = prop_oneof![20 => Just(0), 1 => 1..FULL];
        let data = (after(), skips, bytes, proptest::bool::weighted(0.1), odd, 0..3_u32);
        let data = data.prop_map(|(after, skips, bytes, pushed, odd, ticks)| Event::Data {
            after,
            skips,
            bytes,
            pushed,
            odd,
            ticks,
        });
        let open = prop_oneof![1 => Just(0), 2 => 0..20 * FULL];
        let ack = (after(), open, prop_oneof![4 => Just(60 * FULL), 1 => 0..10 * FULL]);
        let ack = ack.prop_map(|(after, open, window)| Event::Ack { after, open, window });
        prop_oneof![5 => data, 1 => ack]
    }

    /// A sender, of which two copies see the same. How often the short way was taken.
    #[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
    fn compare(events: &[Event], [to_server, to_client]: [u64; 2]) -> usize {
        let direction = Direction::ToClient;
        let (mut sender, mut distances) = (Sender::default(), Distances::default());
        distances.sample(Direction::ToServer, Nanos::from_micros(to_server));
        distances.sample(direction, Nanos::from_micros(to_client));
        sender.set_initial_window(10 * FULL);
        let (mut seen, mut end, mut ticks_seen, mut short_ways) = (Instant::EPOCH, 0, 0, 0);
        for (packet, event) in (1..).zip(events) {
            match *event {
                Event::Ack { after, open, window } => {
                    seen = seen + Nanos::from_micros(after);
                    let acked = u64::saturating_sub(end, open);
                    let (edge, echo, sacks) = (Some(acked + window), None, false);
                    let lost_before = false;
                    let ack = Acknowledgement {
                        packet,
                        seen,
                        acked,
                        edge,
                        stamp: None,
                        echo,
                        sacks,
                        is_pure: true,
                        held: Nanos::ZERO,
                        lost_before,
                        unread: false,
                    };
                    sender.handle_ack(ack, false, direction, &mut distances);
                }
                Event::Data { after, skips, bytes, pushed, odd, ticks } => {
                    seen = seen + Nanos::from_micros(after);
                    ticks_seen += ticks / 2;
                    let start = match odd {
                        Some(Odd::Repairs | Odd::Old) => u64::saturating_sub(end, bytes),
                        _ => end + skips,
                    };
                    match odd {
                        Some(Odd::LacksAck) => sender.miss_ack(),
                        Some(Odd::Skips) => sender.skip(start),
                        _ => {}
                    }
                    let is = |it: fn(&Odd) -> bool| odd.as_ref().is_some_and(it);
                    let data = SeenData {
                        packet,
                        seen,
                        bytes: start..start + bytes,
                        full: FULL,
                        pushed,
                        loss: match odd {
                            Some(Odd::Missing) => Some(Loss::Missing),
                            Some(Odd::Repairs) => Some(Loss::Repairs),
                            _ => None,
                        },
                        missing: match odd {
                            Some(Odd::MissingBefore) => Missing::JustBefore,
                            Some(Odd::Missing) => Missing::Earlier,
                            _ => Missing::Nothing,
                        },
                        new: !is(|it| matches!(it, Odd::Old | Odd::Repairs)),
                        timestamp: Some(ticks_seen),
                        echo: None,
                        answers: is(|it| matches!(it, Odd::Answers))
                            .then_some(Asks { packet: packet - 1, seen }),
                        lost_before: is(|it| matches!(it, Odd::LostBefore)).then_some(true),
                        seems_lost_before: false,
                    };
                    end = end.max(start + bytes);
                    let delays = distances.path_delays(direction);
                    let mut long = sender.clone();
                    let in_detail = long.handle_in_detail(&data, delays);
                    let before = format!("{sender:?}");
                    match sender.handle_in_burst(&data, delays) {
                        Some(gap) => {
                            assert_eq!(format!("{:?}", Some(gap)), format!("{in_detail:?}"));
                            assert_eq!(format!("{sender:?}"), format!("{long:?}"));
                            short_ways += 1;
                        }
                        None => {
                            assert_eq!(format!("{sender:?}"), before, "nothing has happened");
                            sender = long;
                        }
                    }
                }
            }
        }
        short_ways
    }

    proptest! {
        #[test]
        fn the_short_way_finds_what_the_long_way_finds(
            events in proptest::collection::vec(any_event(), 1..60),
            distances in proptest::sample::select(vec![[0, 20_000], [10, 15], [9_000, 11_000], [80_000, 0]]),
        ) {
            compare(&events, distances);
        }
    }

    #[test]
    fn segments_of_a_burst_take_the_short_way() {
        let full = |after, pushed| {
            let (skips, bytes, odd, ticks) = (0, FULL, None, 0);
            Event::Data { after, skips, bytes, pushed, odd, ticks }
        };
        let first = Event::Ack { after: 0, open: 0, window: 60 * FULL };
        let burst = [full(1_000, false), full(1, false), full(290, false), full(1, true)];
        assert_eq!(compare(&[&[first], &burst[..]].concat(), [0, 20_000]), 3);
        let apart = [full(1_000, false), full(301, false), full(1, true), full(1, false)];
        assert_eq!(compare(&[&[first], &apart[..]].concat(), [0, 20_000]), 2);
    }

    /// A sender 20 ms from its receiver, on its own host, that has just sent a full segment and may send more.
    fn in_burst() -> Sender {
        let mut sender = Sender::default();
        let mut distances = Distances::default();
        distances.sample(Direction::ToServer, Nanos::ZERO);
        distances.sample(Direction::ToClient, Nanos::from_millis(20));
        let ack = ack(0, 0, 60 * FULL);
        sender.handle_ack(ack, false, Direction::ToClient, &mut distances);
        sender.handle_in_detail(&full(1_000, 0), distances.path_delays(Direction::ToClient));
        sender.bottleneck.behind.sample(FULL, Nanos::from_micros(10));
        sender
    }

    fn ack(micros: u64, acked: u64, edge: u64) -> Acknowledgement {
        Acknowledgement {
            packet: 1,
            seen: Instant::EPOCH + Nanos::from_micros(micros),
            acked,
            edge: Some(edge),
            stamp: None,
            echo: None,
            sacks: false,
            is_pure: true,
            held: Nanos::ZERO,
            lost_before: false,
            unread: false,
        }
    }

    fn full(micros: u64, start: u64) -> SeenData {
        SeenData {
            packet: 2,
            seen: Instant::EPOCH + Nanos::from_micros(micros),
            bytes: start..start + FULL,
            full: FULL,
            pushed: false,
            loss: None,
            missing: Missing::Nothing,
            new: true,
            timestamp: None,
            echo: None,
            answers: None,
            lost_before: None,
            seems_lost_before: false,
        }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn the_short_way_is_taken_only_where_nothing_else_happens() {
        type Change = fn(&mut Sender, &mut SeenData);
        let same: Change = |_, _| ();
        let rows: &[(&str, Change, bool)] = &[
            ("the next of a burst", same, true),
            ("as soon as a reaction", |_, data| *data = full(1_300, FULL), true),
            ("later", |_, data| *data = full(1_301, FULL), false),
            ("not the next", |_, data| *data = full(1_001, FULL + 1), false),
            ("some is missing", |_, data| data.missing = Missing::JustBefore, false),
            ("seen before", |_, data| data.new = false, false),
            ("behind a loss", |_, data| data.loss = Some(Loss::Missing), false),
            (
                "an answer",
                |_, data| data.answers = Some(Asks { packet: 1, seen: Instant::EPOCH }),
                false,
            ),
            ("an ACK is missing", |sender, _| sender.lacks_ack = true, false),
            ("data is", |sender, _| sender.capture_lost_data = true, false),
            ("in a recovery", |sender, _| sender.recover = Some(1), false),
            ("at its end", |sender, _| sender.recovered = true, false),
            ("the write had ended", |sender, _| sender.last.as_mut().unwrap().ended = true, false),
            ("the last of the window", |sender, _| sender.edge = Some(2 * FULL), false),
            ("more than that", |sender, _| sender.edge = Some(2 * FULL - 1), false),
            ("a window that is not known", |sender, _| sender.edge = None, false),
            ("a byte of room", |sender, _| sender.edge = Some(2 * FULL + 1), true),
            ("of a size that is not known", |_, data| data.full = 0, false),
            ("several", |_, data| data.bytes.end += FULL, false),
            ("the rest of a write", |_, data| data.bytes.end -= 1, true),
            (
                "of another write",
                |sender, data| {
                    data.bytes.end -= 1;
                    sender.last.as_mut().unwrap().pushed = true;
                },
                false,
            ),
            (
                "on a link that is not known",
                |sender, data| {
                    data.bytes.end -= 1;
                    sender.bottleneck = crate::attribution::path::Bottleneck::default();
                },
                false,
            ),
            (
                "the last of the window",
                |sender, data| {
                    data.bytes.end -= 1;
                    sender.edge = Some(2 * FULL - 1);
                },
                false,
            ),
            ("nothing is outstanding", |sender, _| sender.acked = sender.highest, false),
            (
                "an ACK is there",
                |sender, _| sender.acks_in_flight.push_back(ack(1_001, 1, 60 * FULL)),
                false,
            ),
            (
                "one comes later",
                |sender, _| sender.acks_in_flight.push_back(ack(1_002, 1, 60 * FULL)),
                true,
            ),
            ("the first", |sender, _| sender.last = None, false),
        ];
        for (why, change, is_short) in rows {
            let mut distances = Distances::default();
            distances.sample(Direction::ToServer, Nanos::ZERO);
            distances.sample(Direction::ToClient, Nanos::from_millis(20));
            let (mut sender, mut data) = (in_burst(), full(1_001, FULL));
            sender.latest = None;
            change(&mut sender, &mut data);
            let gap = sender.handle_in_burst(&data, distances.path_delays(Direction::ToClient));
            assert_eq!(gap.is_some(), *is_short, "{why}");
        }
    }

    #[test]
    fn an_acknowledgement_that_may_have_let_a_segment_go_takes_the_long_way() {
        let mut distances = Distances::default();
        distances.sample(Direction::ToServer, Nanos::ZERO);
        distances.sample(Direction::ToClient, Nanos::from_millis(20));
        // When it came; the data before left at 1 ms, and this at 1.2.
        for (micros, is_short, packet) in
            [(900, false, 0), (899, true, 1), (700, true, 1), (699, true, 0)]
        {
            let mut sender = in_burst();
            let mut arrived = sender.latest.unwrap();
            arrived.at = Instant::EPOCH + Nanos::from_micros(micros);
            arrived.flight = [FULL, FULL];
            sender.latest = Some(arrived);
            let data = full(1_200, FULL);
            let gap = sender.handle_in_burst(&data, distances.path_delays(Direction::ToClient));
            assert_eq!(gap.is_some(), is_short, "{micros}");
            let of = gap.map_or(0, |gap| gap.evidence.numbers()[1]);
            assert_eq!(of, packet, "{micros}");
        }
    }
}
