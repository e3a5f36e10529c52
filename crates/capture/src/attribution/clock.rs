//! When segments left by their sender's own clock: the timestamps option (RFC 7323, section 3).
//!
//! A segment that is captured late was sent late, or the path delayed it. Its timestamp shows which.

use ackwise_tcp::Instant;

use super::Nanos;

/// The clock of one end, as far as its timestamps show it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SenderClock {
    /// The first timestamp, and when it was seen.
    first: Option<(u32, Instant)>,
    tick: Option<Nanos>,
    /// How long after the first timestamp its ticks seemed to be microseconds.
    micros_after: Option<Nanos>,
    /// What it likely is, until that is known.
    likely_tick: Option<Nanos>,
    /// The timestamp of the packet that the path delayed least, and when that was seen.
    promptest: Option<(u32, Instant)>,
    /// The last timestamp, and when it was seen.
    latest: Option<(u32, Instant)>,
}

impl SenderClock {
    /// Linux 6.7 and later, on routes with the feature `tcp_usec_ts`.
    const MICROSECOND: Nanos = Nanos::from_micros(1);
    /// Ticks that stacks use otherwise: Linux by its HZ or in milliseconds, BSD of old. RFC 7323, section 5.4: "a
    /// period of 1 ms to 1 s".
    const TICKS: [Nanos; 5] = [
        Nanos::from_millis(1),
        Nanos::from_millis(4),
        Nanos::from_millis(10),
        Nanos::from_millis(100),
        Nanos::from_millis(500),
    ];
    /// A tick is known after this time: delays of the path vary by less than a tenth of it. Our choice.
    const LEARNT_AFTER: Nanos = Nanos::from_millis(1_000);

    /// No clock tells more exactly when a segment left: a busy host stamps it so long before it is captured. Our
    /// choice: as clocks that tick in milliseconds.
    const PRECISION: Nanos = Nanos::from_millis(1);

    /// Ticks needed to determine the length of one. Our choice.
    const ENOUGH: u32 = 8;
    /// Ticks after which one is likely as long as it seems. A longer one would need a path that delayed the first
    /// packet by three times that. Our choice.
    const LIKELY: u32 = 24;

    /// The same, before the first packet is seen again.
    pub(super) fn for_another_look(self) -> Self {
        Self { latest: None, ..self }
    }

    /// A timestamp was seen.
    pub(super) fn note(&mut self, value: u32, seen: Instant) {
        // The same again and not earlier: the path has not delayed it less.
        let before = self.latest.replace((value, seen));
        let again = before.is_some_and(|it| it.0 == value && it.1 <= seen);
        if !again && self.late_by(value, seen).is_none_or(|(late, drift)| late <= drift) {
            self.promptest = Some((value, seen));
        }
        let (first, at) = *self.first.get_or_insert((value, seen));
        let (ticks, span) = (value.wrapping_sub(first), Nanos::between(at, seen));
        let may_be_shorter = self.tick.is_none_or(|tick| tick == Self::TICKS[0]);
        if !may_be_shorter || ticks == 0 || ticks > i32::MAX as u32 {
            return;
        }
        let (count, [shortest, next, ..]) = (u64::from(ticks), Self::TICKS);
        let doubt = (next - shortest) * u64::from(Self::LIKELY);
        // The path need not have held the first packet for longer than that if ticks are not the shortest.
        let may_be_longer = |held: Nanos| next * count < span + held;
        if may_be_longer(doubt) || span >= Self::MICROSECOND * 2 * count {
            self.micros_after = None;
        } else if self.note_microseconds(span, ticks, doubt) {
            self.promptest = Some((value, seen));
        }
        let is_early = span < Self::LEARNT_AFTER && may_be_longer(Self::LEARNT_AFTER);
        let shows_nothing = ticks < Self::LIKELY && may_be_longer(doubt);
        let is_known = self.micros_after.is_some() || self.tick.is_some();
        if !is_known && !(is_early && (shows_nothing || self.likely_tick.is_some())) {
            self.learn(value, seen, [span, doubt], ticks);
        }
    }

    /// Learns the tick: in the `span` since the first timestamp, the clock has gone on by `ticks`.
    #[inline(never)]
    fn learn(&mut self, value: u32, seen: Instant, [span, doubt]: [Nanos; 2], ticks: u32) {
        // No path holds the first packet for so long: it was of another clock, or this one is faster.
        if Self::TICKS[0] * u64::from(ticks) >= span + Self::LEARNT_AFTER {
            self.first = Some((value, seen));
            return;
        }
        if self.likely_tick.is_none() {
            let known = if ticks < Self::LIKELY { None } else { Self::known_tick(span, ticks) };
            self.likely_tick = known.or_else(|| Self::shortest_tick(span, ticks, doubt));
        }
        self.tick = match span < Self::LEARNT_AFTER {
            true => Self::shortest_tick(span, ticks, Self::LEARNT_AFTER),
            false => Self::known_tick(span, ticks)
                .or_else(|| Self::shortest_tick(span, ticks, Self::LEARNT_AFTER)),
        };
        if self.tick.is_none() {
            return;
        }
        if self.tick != Some(Self::TICKS[0]) {
            self.promptest = Some((value, seen));
        }
    }

    /// Ticks are microseconds if they are as many as microseconds went by, and the path would have held the first
    /// packet for `doubt` with any longer ones; and if they still are after twice the time, for one clock may follow
    /// another. Whether that is known now.
    fn note_microseconds(&mut self, span: Nanos, ticks: u32, doubt: Nanos) -> bool {
        let [millisecond, ..] = Self::TICKS;
        let is_likely = Self::is_tick(Self::MICROSECOND, span / u64::from(ticks))
            && millisecond * u64::from(ticks) >= span + doubt;
        if !is_likely {
            self.micros_after = None;
            return false;
        }
        let is_known = span >= *self.micros_after.get_or_insert(span) * 2;
        if is_known {
            (self.tick, self.likely_tick) = (Some(Self::MICROSECOND), Some(Self::MICROSECOND));
        }
        is_known
    }

    /// How much longer the path took for a packet than for the promptest, and what of that two clocks may
    /// differ by since then.
    fn late_by(&self, value: u32, seen: Instant) -> Option<(Nanos, Nanos)> {
        /// One part in this many: a crystal's 50 ppm at either end. Our choice.
        const DRIFT: u64 = 10_000;
        // Until it is known, Linux's.
        let tick = self.tick.unwrap_or(Self::TICKS[0]);
        let (prompt, at) = self.promptest?;
        let span = Nanos::between(at, seen);
        let late = match Self::ticks(tick, span, prompt, value) {
            Some(ticks) => Nanos::between(at + tick * ticks, seen),
            None => {
                let back = prompt.wrapping_sub(value);
                Nanos::between(at, seen + tick * u64::from(back))
            }
        };
        Some((late, span / DRIFT))
    }

    /// The ticks from the earlier timestamp to the later, which was seen `span` after it; `None` if they go back. They
    /// wrap around: microseconds every 71 minutes.
    fn ticks(tick: Nanos, span: Nanos, earlier: u32, later: u32) -> Option<u64> {
        const HALF: u64 = 1 << 31;
        let ticks = u64::from(later.wrapping_sub(earlier));
        // Nearest to what went by.
        let most = (span.get() / tick.get()).saturating_add(HALF - 1);
        let turns = most.checked_sub(ticks)? >> 32;
        Some(ticks + (turns << 32))
    }

    /// The shortest tick, if the path had to delay the first packet by this much or more (`doubt`) with any other. It
    /// may have delayed the last one, but no tick is little shorter. (If it delayed that by all of the time, some stack may
    /// have a tick that is none of these.)
    fn shortest_tick(span: Nanos, ticks: u32, doubt: Nanos) -> Option<Nanos> {
        let [shortest, next, ..] = Self::TICKS;
        let ticks = u64::from(ticks);
        // Of much less, it would be microseconds.
        let is_nearest = span < shortest * 2 * ticks && span * 2 > shortest * ticks;
        (is_nearest && next * ticks >= span + doubt).then_some(shortest)
    }

    /// How much longer the path took for a packet than it takes at least, in any case, as soon as a tick is likely
    /// known. RFC 6817, section 2.1, measures queues so.
    pub(super) fn queued(&self, value: u32, seen: Instant) -> Option<Nanos> {
        let tick = self.tick.or(self.likely_tick)?;
        // Lateness is counted in ticks of 1 ms until they are known.
        if tick != self.tick.unwrap_or(Self::TICKS[0]) {
            return None;
        }
        let (late, drift) = self.late_by(value, seen)?;
        Some(late - (tick.max(Self::PRECISION) + drift))
    }

    /// The known tick that is nearest to `span` divided by `ticks`.
    fn known_tick(span: Nanos, ticks: u32) -> Option<Nanos> {
        let tick = span / u64::from(ticks);
        Self::TICKS.into_iter().find(|known| Self::is_tick(*known, tick))
    }

    /// Whether a tick that seems so long is this one, as far as delays of the path vary. Our choice.
    fn is_tick(known: Nanos, seems: Nanos) -> bool {
        seems.abs_diff(known) <= known / 8
    }

    /// Whether two segments with these timestamps were sent about as far apart as they were captured,
    /// so that the path delayed neither.
    pub(super) fn confirms(&self, span: Nanos, earlier: u32, later: u32) -> bool {
        let ticks = later.wrapping_sub(earlier);
        match self.between(span, earlier, later) {
            Some((between, tick)) => between.abs_diff(span) <= tick + span / 8,
            None if self.tick.is_some() => false,
            None => ticks >= Self::ENOUGH && Self::known_tick(span, ticks).is_some(),
        }
    }

    /// Whether the later of two segments with these timestamps was sent as late as it was captured after the earlier,
    /// which the path may have delayed.
    pub(super) fn confirms_late(&self, span: Nanos, earlier: u32, later: u32) -> bool {
        let is_later = |(between, tick)| between + tick + span / 8 >= span;
        self.confirms(span, earlier, later)
            || self.between(span, earlier, later).is_some_and(is_later)
    }

    /// Whether these timestamps rule out that two segments were sent as far apart as they were captured. If they
    /// were sent further apart, the path held the earlier one, which says nothing about the later.
    pub(super) fn denies(&self, span: Nanos, earlier: u32, later: u32) -> bool {
        let ticks = later.wrapping_sub(earlier);
        let admits = |tick: Nanos| (tick * u64::from(ticks)).abs_diff(span) <= tick + span / 8;
        match self.tick {
            Some(_) => {
                let is_shorter = |(between, tick)| between + tick + span / 8 < span;
                self.between(span, earlier, later).is_some_and(is_shorter)
            }
            None => {
                let mut known = [Self::MICROSECOND].into_iter().chain(Self::TICKS);
                ticks <= i32::MAX as u32 && !known.any(admits)
            }
        }
    }

    /// The time between two segments with these timestamps, which were captured `span` apart, and by how much it may
    /// be wrong: a tick.
    pub(super) fn between(&self, span: Nanos, earlier: u32, later: u32) -> Option<(Nanos, Nanos)> {
        let tick = self.tick?;
        let ticks = Self::ticks(tick, span, earlier, later)?;
        Some((tick * ticks, tick.max(Self::PRECISION)))
    }
}

/// Whether a timestamp is later than another: they wrap around.
pub(crate) const fn is_later(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(notes: &[(u32, u64)]) -> SenderClock {
        let mut clock = SenderClock::default();
        for &(value, millis) in notes {
            clock.note(value, Instant::EPOCH + Nanos::from_millis(millis));
        }
        clock
    }

    #[test]
    fn a_tick_is_learnt_from_a_second_of_timestamps() {
        for (notes, tick) in [
            (&[][..], None),
            (&[(7, 0), (257, 999)], None),
            // With any longer tick, the path would have delayed the first packet by a second.
            (&[(7, 0), (340, 333)], None),
            (&[(7, 0), (341, 334)], Some(1)),
            (&[(7, 0), (607, 900)], Some(1)),
            (&[(7, 0), (457, 900)], None),
            (&[(7, 0), (1_007, 1_000)], Some(1)),
            (&[(7, 0), (257, 1_000)], Some(4)),
            (&[(7, 0), (267, 1_000), (1_007, 4_000)], Some(4)),
            (&[(u32::MAX, 0), (99, 1_000)], Some(10)),
            (&[(7, 0), (9, 1_000)], Some(500)),
            (&[(7, 0), (7, 5_000), (5_007, 5_000)], Some(1)),
            (&[(7, 0), (507, 1_000)], None),
            (&[(7, 0), (6, 1_000)], None),
            // Two packets that changed places, which is no other clock.
            (&[(7, 0), (6, 500), (1_007, 1_000)], Some(1)),
            // The path held the last packet, once the tick is known.
            (&[(7, 0), (341, 334), (400, 1_000)], Some(1)),
            // More than twice the shortest tick, and less than any other.
            (&[(7, 0), (607, 1_300)], None),
            // Less than half of it.
            (&[(7, 0), (1_507, 700)], None),
        ] {
            let tick = tick.map(Nanos::from_millis);
            assert_eq!(clock(notes).tick, tick, "{notes:?}");
        }
    }

    /// After these timestamps, each with the microsecond at which it was seen.
    fn by_micros(notes: &[(u32, u64)]) -> SenderClock {
        let mut clock = SenderClock::default();
        for &(value, micros) in notes {
            clock.note(value, Instant::EPOCH + Nanos::from_micros(micros));
        }
        clock
    }

    #[test]
    fn ticks_of_a_microsecond_are_learnt_from_two_packets_that_agree() {
        let (micro, milli) = (Some(Nanos::from_micros(1)), Some(Nanos::from_millis(1)));
        for (why, notes, tick) in [
            ("one packet", &[(7, 0), (40_007, 40_000)][..], None),
            ("twice the time", &[(7, 0), (40_007, 40_050), (81_000, 81_050)], micro),
            ("less", &[(7, 0), (40_007, 40_050), (79_000, 79_050)], None),
            ("around zero", &[(u32::MAX, 0), (999, 1_000), (4_999, 5_000)], micro),
            ("the path varies", &[(0, 0), (100, 200), (1_000, 1_110), (9_000, 9_100)], micro),
            // Too few: the first packet may have been late, by milliseconds.
            ("a burst", &[(0, 0), (30, 30), (60, 60)], None),
            ("a burst that a slow link spreads", &[(0, 0), (300, 300_000), (600, 600_000)], milli),
            // A packet that was held, and the next one beside it.
            ("held", &[(0, 0), (80, 80), (90, 10_000), (1_090, 1_010_000)], milli),
            // A load balancer has answered the SYN, by its own clock.
            ("another clock", &[(0, 0), (40_000, 40_000), (40_100, 140_000)], None),
            (
                "and then the server's",
                &[(0, 0), (40_000, 20_000), (40_100, 120_000), (40_400, 420_000)],
                milli,
            ),
            // What seemed to be milliseconds.
            (
                "corrected",
                &[(0, 0), (400, 400_000), (900_000, 900_000), (1_900_000, 1_900_000)],
                micro,
            ),
        ] {
            let clock = by_micros(notes);
            assert_eq!(clock.tick, tick, "{why}");
            let likely = clock.likely_tick.filter(|_| tick == micro);
            assert!(likely.is_none() || likely == micro, "{why}");
        }
    }

    #[test]
    fn a_clock_in_microseconds_wraps_around() {
        const HOUR: u64 = 3_600_000_000;
        #[expect(clippy::cast_possible_truncation, reason = "so it wraps around")]
        let stamp = |micros: u64| micros as u32;
        let clock = by_micros(&[(0, 0), (50_000, 50_000), (100_000, 100_000)]);
        for hours in [0, 1, 2, 30] {
            let at = 100_000 + hours * HOUR;
            let queued = |late: u64| {
                let seen = Instant::EPOCH + Nanos::from_micros(at + late);
                clock.queued(stamp(at), seen).map(|it| it.get() / 1_000_000)
            };
            // Of an hour, crystals may differ by 360 ms.
            assert_eq!(queued(100), Some(0), "{hours} hours");
            assert_eq!(queued(60_000), Some(if hours == 0 { 58 } else { 0 }), "{hours} hours");
            let span = Nanos::from_micros(hours * HOUR + 30_000);
            let later = |micros: u64| stamp(at + micros);
            assert!(clock.confirms(span, stamp(100_000), later(30_000)), "{hours} hours");
            assert!(!clock.denies(span, stamp(100_000), later(30_000)), "{hours} hours");
            let (between, _) = clock.between(span, stamp(100_000), later(20_000)).unwrap();
            assert_eq!(between, Nanos::from_micros(hours * HOUR + 20_000));
        }
        assert_eq!(clock.between(Nanos::ZERO, 7, 6), None, "clocks do not go back");
    }

    #[test]
    fn a_clock_in_microseconds_is_no_more_exact_than_one_in_milliseconds() {
        let clock = by_micros(&[(0, 0), (50_000, 50_000), (100_000, 100_000)]);
        for (micros, ticks, denies) in
            [(900, 0, false), (1_200, 0, true), (40_000, 34_000, false), (40_000, 33_000, true)]
        {
            let span = Nanos::from_micros(micros);
            assert_eq!(clock.denies(span, 7, 7 + ticks), denies, "{micros} {ticks}");
            assert_eq!(clock.confirms(span, 7, 7 + ticks), !denies, "{micros} {ticks}");
        }
    }

    #[test]
    fn a_queue_is_what_a_packet_took_longer_than_the_promptest() {
        // Ticks of 1 ms. The packet of tick 500 took least.
        let known = [(0, 10), (500, 504), (1_010, 1_020)];
        for (value, millis, queued) in [
            (1_100, 1_104, Some(0)),
            (1_100, 1_105, Some(0)),
            (1_100, 1_106, Some(1)),
            (1_100, 1_154, Some(49)),
            (1_100, 1_100, Some(0)),
            (400, 504, Some(99)),
        ] {
            let at = Instant::EPOCH + Nanos::from_millis(millis);
            let found = clock(&known).queued(value, at).map(|it| it.get().div_ceil(1_000_000));
            assert_eq!(found, queued, "{value} {millis}");
        }
        assert_eq!(clock(&[(0, 10), (20, 24)]).queued(600, Instant::EPOCH), None, "no tick yet");
    }

    #[test]
    fn a_tick_of_a_millisecond_is_likely_after_a_few() {
        let at = Instant::EPOCH + Nanos::from_millis(130);
        for (known, queued) in [
            (&[(0, 0), (23, 23)][..], None),
            (&[(0, 0), (24, 24)], Some(99)),
            (&[(0, 0), (24, 96)], None),
            (&[(0, 0), (24, 60)], None),
            // Late as this is, no tick is shorter, and the next longer one would make the first packet later.
            (&[(0, 0), (51, 92)], Some(99)),
            (&[(0, 0), (51, 110)], None),
        ] {
            let found = clock(known).queued(30, at);
            assert_eq!(found.map(|it| it.get().div_ceil(1_000_000)), queued, "{known:?}");
        }
    }

    #[test]
    fn two_clocks_may_drift() {
        let mut clock = clock(&[(0, 0), (1_000, 1_000)]);
        // 50 ppm slow: after 1,000 s it seems 50 ms late, and no queue.
        for tick in (2_000..=1_000_000).step_by(1_000) {
            let at =
                Instant::EPOCH + Nanos::from_micros(u64::from(tick) * 1_000 + u64::from(tick) / 20);
            assert_eq!(clock.queued(tick, at), Some(Nanos::ZERO), "{tick}");
            clock.note(tick, at);
        }
    }

    #[test]
    fn a_clock_confirms_that_a_segment_left_as_late_as_it_was_seen() {
        let (unknown, known) = (clock(&[]), clock(&[(0, 0), (250, 1_000)]));
        for (clock, millis, ticks, confirms) in [
            (unknown, 120, 120, true),
            (unknown, 120, 30, true),
            (unknown, 120, 3, false),
            (unknown, 120, 60, false),
            (unknown, 32, 8, true),
            (unknown, 28, 7, false),
            (unknown, 120, u32::MAX, false),
            (known, 120, 30, true),
            (known, 120, 25, false),
            (known, 120, 26, true),
            (known, 120, 0, false),
            (known, 120, 120, false),
            (known, 120, u32::MAX, false),
        ] {
            let confirmed =
                clock.confirms(Nanos::from_millis(millis), 7, 7_u32.wrapping_add(ticks));
            assert_eq!(confirmed, confirms, "{millis} ms, {ticks} ticks");
        }
    }

    #[test]
    fn what_left_later_than_it_was_seen_later_left_late() {
        let (unknown, known) = (clock(&[]), clock(&[(0, 0), (250, 1_000)]));
        for (clock, ticks, late) in [
            (known, 75, true),
            // The one before had waited in a queue.
            (known, 120, true),
            (known, 66, true),
            (known, 64, false),
            (known, u32::MAX, false),
            (unknown, 300, true),
            (unknown, 500, false),
        ] {
            let span = Nanos::from_millis(300);
            let found = clock.confirms_late(span, 7, 7_u32.wrapping_add(ticks));
            assert_eq!(found, late, "{ticks} ticks");
        }
    }

    #[test]
    fn a_clock_denies_what_no_tick_explains() {
        let (unknown, known) = (clock(&[]), clock(&[(0, 0), (250, 1_000)]));
        for (clock, millis, ticks, denies) in [
            (unknown, 260, 260, false),
            (unknown, 260, 3, false),
            (unknown, 260, 0, false),
            (unknown, 260, 4, true),
            (unknown, 260, 12, true),
            (unknown, 700, 0, true),
            (unknown, 260, u32::MAX, false),
            (known, 260, 65, false),
            (known, 260, 3, true),
            (known, 260, 55, true),
            (known, 260, 56, false),
            (known, 260, 260, false),
        ] {
            let denied = clock.denies(Nanos::from_millis(millis), 7, 7_u32.wrapping_add(ticks));
            assert_eq!(denied, denies, "{millis} ms, {ticks} ticks");
        }
    }

    #[test]
    fn the_time_between_two_timestamps_is_known_within_a_tick() {
        let known = clock(&[(0, 0), (250, 1_000)]);
        let tick = Nanos::from_millis(4);
        assert_eq!(known.between(Nanos::ZERO, 5, 5), Some((Nanos::ZERO, tick)));
        assert_eq!(known.between(tick, u32::MAX, 1), Some((Nanos::from_millis(8), tick)));
        assert_eq!(known.between(tick, 1, 0), None, "clocks do not go back");
        assert_eq!(clock(&[(0, 0)]).between(tick, 0, 1), None);
    }
}
