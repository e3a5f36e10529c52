//! What a sender's flights show of its congestion window, which no packet tells.

use ackwise_cause::RepairedBy;
use ackwise_tcp::Wait;

/// What is seen of the congestion window.
#[derive(Clone, Copy, Debug)]
pub(super) struct CongestionEstimate {
    /// What it was at first, at least.
    pub initial: u64,
    /// What it is at least.
    pub least: u64,
    /// The most that was outstanding since it was last cut.
    peak: u64,
    /// As much before an idle time, until that is reached again.
    pub peak_before_idle: Option<u64>,
    /// It was idle, and has lost nothing since: what the window was before, may never have been used.
    pub after_idle: bool,
    /// What it may have grown to before that, although less was outstanding.
    pub reach_before_idle: u64,
    pub slow_start: bool,
    /// It was in slow start before that, too.
    slow_start_before_idle: bool,
    round_end: u64,
    round: Round,
    /// The last round that is over.
    over: Option<Round>,
    /// Rounds in a row in which little more was sent than acknowledged.
    slow: u8,
    /// Something was lost.
    pub lossy: bool,
    /// Nothing was acknowledged since an idle period, which may have cut it to one segment.
    restarted: bool,
    /// The peak at the end of the last round, and the number of rounds in which it did not grow.
    plateau: (u64, u8),
}

/// Whether the data in flight has stopped growing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Plateau {
    /// It grows, or a loss has reduced it.
    No,
    /// It has not grown for some rounds, too few to be certain.
    Perhaps,
    /// It has not grown for longer than any congestion window.
    Yes,
}

/// Bytes that were acknowledged in a round trip, and those that this let go.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    acked: u64,
    sent: u64,
}

impl Default for CongestionEstimate {
    fn default() -> Self {
        Self {
            initial: 0,
            least: 0,
            peak: 0,
            peak_before_idle: None,
            after_idle: false,
            reach_before_idle: 0,
            slow_start: true,
            slow_start_before_idle: true,
            round_end: 0,
            round: Round::default(),
            over: None,
            slow: 0,
            lossy: false,
            restarted: false,
            plateau: (0, 0),
        }
    }
}

/// The initial window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FirstFlight {
    /// That left before anything was acknowledged.
    pub segments: u32,
    pub acknowledged: bool,
    /// What came next was sent.
    over: bool,
    /// The sender had more to send than the window let it.
    pub limited: bool,
}

impl CongestionEstimate {
    /// `bytes` leave after the sender waited for `wait`; `flight` is outstanding then.
    pub(super) fn send(&mut self, bytes: u64, full: u64, flight: u64, wait: Option<Wait>) {
        self.round.sent += bytes;
        let told = matches!(wait, Some(Wait::SlowStart | Wait::CongestionWindow));
        if let Some(round) = self.over.take().filter(|round| told && round.acked > 0) {
            self.notice_growth(round, full);
            let (peak, rounds) = self.plateau;
            let grown = self.peak > peak;
            self.plateau = (self.peak, if grown { 0 } else { rounds.saturating_add(1) });
        }
        self.peak = self.peak.max(flight);
        self.least = self.least.max(flight);
        if self.restarted && flight > self.most_after_cut(full) {
            self.keep();
        }
        let (peak, rounds) = self.plateau;
        // By more than segments of different sizes make of the same buffer.
        if rounds > 0 && self.peak * 4 > peak * 5 {
            self.plateau = (self.peak, 0);
        }
        if self.peak_before_idle.is_some_and(|before| before <= self.peak) {
            self.peak_before_idle = None;
        }
    }

    /// RFC 5681, section 3.1: in slow start a window lets at least half as much again go as was
    /// acknowledged. It takes two rounds of more than a few segments to say that it does not.
    fn notice_growth(&mut self, round: Round, full: u64) {
        /// Delayed acknowledgements hide the growth of fewer segments. Our choice.
        const SEGMENTS: u64 = 4;
        if round.sent * 10 >= round.acked * 12 {
            self.slow = 0;
        } else if round.acked >= full * SEGMENTS {
            self.slow = self.slow.saturating_add(1);
        }
        if self.slow >= 2 {
            if self.peak_before_idle.is_some_and(|before| self.peak * 2 < before) {
                (self.peak_before_idle, self.reach_before_idle) = (None, 0);
            }
            self.slow_start = false;
        }
    }

    /// What was outstanding in any case before it kept something back. RFC 2581, section 3.1: one segment,
    /// and another after the first acknowledgement; every stack with SACK that we know begins with two or
    /// more. Linux waits until a third of the window is free (`tcp_tso_should_defer`).
    pub(super) const fn sure(&self, full: u64) -> u64 {
        if self.lossy || self.restarted || self.initial <= full {
            return 0;
        }
        let most_of_it = self.peak / 3 * 2;
        if most_of_it > 2 * full { most_of_it } else { 2 * full }
    }

    /// Whether the data in flight has stopped growing. Without a loss, a congestion window grows in
    /// every round of slow start.
    pub(super) const fn stays(&self, full: u64) -> Plateau {
        /// Segments from which Linux may leave slow start early (tcp_cubic.c, hystart_low_window).
        const HYSTART: u64 = 16;
        /// After slow start, a window grows by about one segment in two rounds. Our choice: twice that.
        const ROUNDS: u8 = 4;
        let (peak, rounds) = self.plateau;
        // After a loss, CUBIC stays near the previous window for a long time.
        if self.lossy || rounds == 0 {
            Plateau::No
        } else if rounds >= ROUNDS || peak < HYSTART * full {
            Plateau::Yes
        } else {
            Plateau::Perhaps
        }
    }

    /// The sender waited for it with `flight` outstanding: after an idle time it need not be the initial one.
    pub(super) fn was_full(&mut self, flight: u64, full: u64) {
        if self.after_idle {
            self.least = self.least.min(flight + full);
        }
    }

    /// Whether something was lost.
    pub(super) const fn is_lossy(&self) -> bool {
        self.lossy
    }

    /// Something was lost.
    pub(super) fn lose(&mut self, by: RepairedBy, flight: u64) {
        self.lossy = true;
        self.plateau = (0, 0);
        self.slow_start = by == RepairedBy::Timeout;
        self.peak = flight / 2;
        self.least = self.peak;
        self.peak_before_idle = None;
        self.after_idle = false;
        self.reach_before_idle = 0;
    }

    /// It was full at first with no more than `bytes` outstanding, whatever most stacks begin with.
    pub(super) const fn begin_with(&mut self, bytes: u64) {
        let less = self.initial.saturating_sub(bytes);
        self.initial -= less;
        self.least = self.least.saturating_sub(less);
    }

    /// RFC 5681, section 3.1: in slow start each acknowledgement lets it grow by what is new in it, by a segment
    /// at most; what stacks add more is not sure. A round is over when something is acknowledged that was sent
    /// in it.
    pub(super) fn acknowledged(&mut self, newly: u64, full: u64, [acked, highest]: [u64; 2]) {
        self.restarted &= newly == 0;
        if newly > 0 && self.slow_start {
            self.least += newly.min(full);
        }
        if newly > 0 && acked > self.round_end {
            self.over = Some(self.round);
            (self.round, self.round_end) = (Round::default(), highest);
        }
        self.round.acked += newly;
    }

    /// Whether a loss has left less than the initial window of it, by more than two segments (our choice).
    /// RFC 5681, section 4.1: the restart window is the initial one, or what it was, if that is less.
    pub(super) const fn is_no_larger_than_initial(&self, full: u64) -> bool {
        self.lossy && !self.slow_start && self.peak + 2 * full <= self.initial
    }

    /// The most that an idle time leaves of the window, if it cuts that: the initial one (RFC 5681, section 4.1), or half
    /// of what it was (RFC 2861, section 3.2; Linux `tcp_cwnd_restart` halves it at least once). It was at most twice of
    /// what is used (Linux `tcp_is_cwnd_limited`), in whatever phase. The initial window may be larger than it seemed: ten
    /// segments (RFC 6928). Windows count segments, small ones too: two of these, our choice.
    fn most_after_cut(&self, full: u64) -> u64 {
        let used = self.peak_before_idle.unwrap_or(0);
        self.initial.max(10 * full).max(self.reach_before_idle / 2).max(used) + 2 * full
    }

    /// More is sent after an idle time than that leaves of a window: it was not cut.
    const fn keep(&mut self) {
        (self.peak_before_idle, self.reach_before_idle) = (None, 0);
        (self.after_idle, self.restarted) = (false, false);
        self.slow_start = self.slow_start_before_idle;
    }

    /// An idle time is over, after which the window may be cut.
    pub(super) fn idle(&mut self) {
        // Linux lets slow start grow to twice of what is used (`tcp_is_cwnd_limited`).
        let reach = if self.slow_start { 2 * self.peak } else { self.peak };
        self.reach_before_idle = self.reach_before_idle.max(reach);
        self.peak_before_idle = Some(self.peak.max(self.peak_before_idle.unwrap_or(0)));
        if !self.restarted {
            self.slow_start_before_idle = self.slow_start;
        }
        self.after_idle = true;
        // RFC 5681, section 4.1: the restart window is the initial one, or less if the window was.
        if self.initial > 0 {
            self.least = self.least.min(self.initial);
        }
        self.peak = 0;
        self.plateau = (0, 0);
        self.slow_start = true;
        self.restarted = true;
        (self.round, self.over, self.slow) = (Round::default(), None, 0);
    }
}

impl FirstFlight {
    /// `segments` leave after the sender waited for `wait`; whether that shows for the first time how large the window
    /// was.
    pub(super) fn see(&mut self, segments: u64, wait: Option<Wait>) -> bool {
        if !self.acknowledged {
            self.segments =
                self.segments.saturating_add(u32::try_from(segments).unwrap_or(u32::MAX));
        } else if !self.over {
            self.over = true;
            self.limited = matches!(wait, Some(Wait::SlowStart | Wait::CongestionWindow));
            return self.limited;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_outstanding_is_constant_until_it_grows() {
        let mut window = CongestionEstimate::default();
        let mut acked = 0;
        for (flight, stays) in [
            (10_000, Plateau::No),
            (20_000, Plateau::No),
            (20_000, Plateau::No),
            (20_000, Plateau::Perhaps),
            (20_000, Plateau::Perhaps),
            (20_000, Plateau::Perhaps),
            (20_000, Plateau::Yes),
            (21_000, Plateau::Yes),
            (40_000, Plateau::No),
            (80_000, Plateau::No),
        ] {
            acked += 20_000;
            window.acknowledged(20_000, 1_000, [acked, acked]);
            // Who waits for its buffer does not wait for a window.
            let is_buffer = window.stays(1_000) == Plateau::Yes;
            let wait = if is_buffer { Wait::Application } else { Wait::SlowStart };
            window.send(1_000, 1_000, flight, Some(wait));
            assert_eq!(window.stays(1_000), stays, "{flight}");
        }
    }

    #[test]
    fn a_window_that_is_too_small_for_hystart_grows_in_every_round() {
        for (flight, stays) in [(15_999, Plateau::Yes), (16_000, Plateau::Perhaps)] {
            let (mut window, mut acked) = (CongestionEstimate::default(), 0);
            for _ in 0..4 {
                round(&mut window, &mut acked, [10_000, 10_000], flight);
            }
            assert_eq!(window.stays(1_000), stays, "{flight}");
        }
    }

    /// Sends a round: what was acknowledged, and what that let go.
    fn round(
        window: &mut CongestionEstimate,
        acked: &mut u64,
        [bytes, sent]: [u64; 2],
        flight: u64,
    ) {
        *acked += bytes;
        window.acknowledged(bytes, 1_000, [*acked, *acked]);
        window.send(sent, 1_000, flight, Some(Wait::SlowStart));
    }

    #[test]
    fn slow_start_is_over_after_two_rounds_that_grow_by_less_than_a_fifth() {
        for (rounds, slow_start) in [
            (&[[4_000, 4_799], [4_000, 4_799]][..], false),
            (&[[4_000, 4_800], [4_000, 4_800], [4_000, 4_800]], true),
            (&[[4_000, 4_799]], true),
            (&[[4_000, 4_799], [4_000, 4_800], [4_000, 4_799]], true),
            (&[[4_000, 4_799], [3_999, 3_999], [4_000, 4_799]], false),
            (&[[3_999, 3_999], [3_999, 3_999], [3_999, 3_999]], true),
        ] {
            let (mut window, mut acked) = (CongestionEstimate::default(), 0);
            // A round is judged when something is sent in the one after the next.
            for &acked_and_sent in rounds {
                round(&mut window, &mut acked, acked_and_sent, 10_000);
            }
            for _ in 0..2 {
                round(&mut window, &mut acked, [1_000, 2_000], 10_000);
            }
            assert_eq!(window.slow_start, slow_start, "{rounds:?}");
        }
    }

    #[test]
    fn only_rounds_that_waited_for_a_window_tell_how_it_grows() {
        for wait in [None, Some(Wait::Application), Some(Wait::Nagle)] {
            let mut window = CongestionEstimate::default();
            for acked in (0..10).map(|round| round * 10_000 + 10_000) {
                window.acknowledged(10_000, 1_000, [acked, acked]);
                window.send(10_000, 1_000, 10_000, wait);
            }
            assert!(window.slow_start && window.stays(1_000) == Plateau::No, "{wait:?}");
        }
        let mut window = CongestionEstimate::default();
        for acked in (0..10).map(|round| round * 10_000 + 10_000) {
            window.acknowledged(10_000, 1_000, [acked, acked]);
            window.send(10_000, 1_000, 10_000, Some(Wait::CongestionWindow));
        }
        assert!(!window.slow_start && window.stays(1_000) == Plateau::Yes);
    }

    #[test]
    fn the_least_window_is_what_was_outstanding_and_grows_in_slow_start() {
        let mut window = CongestionEstimate::default();
        window.send(10_000, 1_000, 10_000, None);
        assert_eq!(window.least, 10_000);
        window.send(1_000, 1_000, 5_000, None);
        assert_eq!(window.least, 10_000);
        window.acknowledged(2_000, 1_000, [2_000, 10_000]);
        assert_eq!(window.least, 11_000);
        window.acknowledged(0, 1_000, [2_000, 10_000]);
        assert_eq!(window.least, 11_000);
        window.slow_start = false;
        window.acknowledged(2_000, 1_000, [4_000, 10_000]);
        assert_eq!(window.least, 11_000);
    }

    #[test]
    fn a_loss_halves_the_window_and_only_a_timeout_begins_slow_start_again() {
        for (by, slow_start) in [(RepairedBy::Recovery, false), (RepairedBy::Timeout, true)] {
            let mut window =
                CongestionEstimate { peak_before_idle: Some(9), ..CongestionEstimate::default() };
            window.send(10_000, 1_000, 10_000, None);
            window.lose(by, 8_000);
            assert_eq!((window.least, window.slow_start), (4_000, slow_start));
            assert_eq!((window.peak_before_idle, window.after_idle), (None, false));
        }
    }

    #[test]
    fn after_a_loss_a_window_may_stay_as_it_is() {
        let (mut window, mut acked) = (CongestionEstimate::default(), 0);
        window.lose(RepairedBy::Recovery, 20_000);
        for _ in 0..20 {
            round(&mut window, &mut acked, [10_000, 10_000], 10_000);
            assert_eq!(window.stays(1_000), Plateau::No);
        }
    }

    #[test]
    fn an_idle_time_is_remembered_until_the_window_is_what_it_was() {
        let mut window = CongestionEstimate::default();
        window.send(20_000, 1_000, 20_000, None);
        window.idle();
        window.send(10_000, 1_000, 10_000, None);
        window.idle();
        assert_eq!(window.peak_before_idle, Some(20_000), "the higher of both");
        assert!(window.after_idle);
        window.send(19_999, 1_000, 19_999, None);
        assert_eq!(window.peak_before_idle, Some(20_000));
        window.send(1, 1_000, 20_000, None);
        assert_eq!(window.peak_before_idle, None);
        window.slow_start = false;
        window.idle();
        assert!(window.slow_start, "RFC 5681, section 4.1: it begins with slow start");
    }

    #[test]
    fn what_ends_slow_start_early_after_an_idle_time_was_not_cut_by_that() {
        for (flight, cut) in [(9_999, None), (10_000, Some(20_000))] {
            let mut window = CongestionEstimate::default();
            window.send(20_000, 1_000, 20_000, None);
            window.idle();
            let mut acked = 0;
            for _ in 0..4 {
                round(&mut window, &mut acked, [5_000, 5_000], flight);
            }
            assert!(!window.slow_start);
            assert_eq!(window.peak_before_idle, cut, "{flight}");
        }
    }

    #[test]
    fn two_thirds_of_what_was_outstanding_are_sure_until_a_loss_or_an_idle_time() {
        let grown = || {
            let mut window = CongestionEstimate { initial: 10_000, ..Default::default() };
            window.send(30_000, 1_000, 30_000, None);
            window
        };
        assert_eq!(grown().sure(1_000), 20_000);
        let mut lossy = grown();
        lossy.lose(RepairedBy::Recovery, 30_000);
        assert_eq!(lossy.sure(1_000), 0);
        let mut idle = grown();
        idle.idle();
        assert_eq!(idle.sure(1_000), 0);
        idle.acknowledged(1_000, 1_000, [1_000, 1_000]);
        assert_eq!(idle.sure(1_000), 2_000, "what it has shown since");
        let one = CongestionEstimate { initial: 1_000, ..grown() };
        assert_eq!(one.sure(1_000), 0, "it may be one segment");
    }

    #[test]
    fn an_idle_time_cuts_no_window_that_a_loss_has_left_smaller_than_the_initial_one() {
        for (by, flight, smaller) in [
            (RepairedBy::Recovery, 16_000, true),
            (RepairedBy::Recovery, 17_000, false),
            // Slow start goes on.
            (RepairedBy::Timeout, 8_000, false),
        ] {
            let mut window = CongestionEstimate { initial: 10_000, ..Default::default() };
            assert!(!window.is_no_larger_than_initial(1_000), "nothing was lost");
            window.lose(by, flight);
            assert_eq!(window.is_no_larger_than_initial(1_000), smaller, "{by:?} {flight}");
        }
    }

    #[test]
    fn what_held_data_back_after_an_idle_time_was_no_larger_than_what_was_outstanding() {
        let mut window =
            CongestionEstimate { initial: 10_000, least: 10_000, ..Default::default() };
        window.was_full(70, 1_000);
        assert_eq!(window.least, 10_000, "it begins with more");
        window.idle();
        window.was_full(70, 1_000);
        assert_eq!(window.least, 1_070);
    }

    #[test]
    fn before_an_idle_time_slow_start_may_have_reached_twice_what_was_outstanding() {
        for (slow_start, reach) in [(true, 40_000), (false, 20_000)] {
            let mut window = CongestionEstimate { slow_start, ..Default::default() };
            window.send(20_000, 1_000, 20_000, None);
            window.idle();
            assert_eq!(window.reach_before_idle, reach);
            window.lose(RepairedBy::Recovery, 20_000);
            assert_eq!(window.reach_before_idle, 0);
        }
    }

    #[test]
    fn a_first_window_that_was_full_is_no_larger_than_what_was_outstanding() {
        let begun = |bytes| {
            let mut window =
                CongestionEstimate { initial: 10_000, least: 10_000, ..Default::default() };
            window.send(1_100, 1_000, 1_100, None);
            window.acknowledged(100, 1_000, [100, 1_100]);
            window.begin_with(bytes);
            [window.initial, window.least]
        };
        assert_eq!(begun(1_100), [1_100, 1_200], "it has grown since");
        assert_eq!(begun(20_000), [10_000, 10_100]);
    }

    #[test]
    fn the_first_flight_is_counted_until_something_is_acknowledged() {
        for (wait, limited) in [
            (Some(Wait::SlowStart), true),
            (Some(Wait::CongestionWindow), true),
            (Some(Wait::Application), false),
            (None, false),
        ] {
            let mut flight = FirstFlight::default();
            assert!(!flight.see(1, None) && !flight.see(9, wait));
            assert_eq!((flight.segments, flight.limited), (10, false));
            flight.acknowledged = true;
            assert_eq!(flight.see(2, wait), limited);
            assert!(!flight.see(2, Some(Wait::SlowStart)), "only the first time");
            assert_eq!((flight.segments, flight.limited), (10, limited), "{wait:?}");
        }
    }

    /// A window after the idle times of a sender that had `before` outstanding, and what it then sends first.
    fn kept(initial: u64, before: &[u64], first: u64, slow_start: bool) -> CongestionEstimate {
        let mut window =
            CongestionEstimate { initial, slow_start, ..CongestionEstimate::default() };
        for &flight in before {
            window.send(1_000, 1_000, flight, None);
            window.acknowledged(flight, 1_000, [flight, flight]);
            window.idle();
        }
        window.send(1_000, 1_000, first, None);
        window
    }

    #[test]
    fn what_no_cut_leaves_shows_that_an_idle_time_cut_nothing() {
        for (initial, before, first, slow_start, is_kept) in [
            (10_000, &[30_000][..], 32_000, true, false),
            (10_000, &[30_000], 32_001, true, true),
            // Whether slow start is over, is not sure.
            (10_000, &[30_000], 32_001, false, true),
            (10_000, &[30_000], 32_000, false, false),
            // An initial window.
            (10_000, &[12_000], 10_000, false, false),
            (20_000, &[12_000], 22_000, false, false),
            (2_000, &[4_000], 12_000, true, false),
            (2_000, &[4_000], 12_001, true, true),
            // The largest of several idle times counts.
            (10_000, &[30_000, 4_000], 32_000, true, false),
            (10_000, &[30_000, 4_000], 32_001, true, true),
        ] {
            let window = kept(initial, before, first, slow_start);
            assert_eq!(!window.after_idle, is_kept, "{before:?} {first}");
            assert_eq!(window.peak_before_idle.is_none(), is_kept || first >= before[0]);
            if is_kept {
                assert_eq!((window.slow_start, window.reach_before_idle), (slow_start, 0));
            }
        }
        // The second flight has been let go by acknowledgements.
        let mut window = kept(10_000, &[30_000], 10_000, true);
        window.acknowledged(10_000, 1_000, [10_000, 10_000]);
        window.send(1_000, 1_000, 33_000, None);
        assert!(window.after_idle);
    }

    #[test]
    fn a_window_begins_again_with_the_initial_one_if_that_is_known() {
        for (initial, least) in [(0, 30_000), (10_000, 10_000), (40_000, 30_000)] {
            let mut window = CongestionEstimate { initial, least: 30_000, ..Default::default() };
            window.idle();
            assert_eq!(window.least, least, "{initial}");
        }
    }

    #[test]
    fn two_segments_are_sure_or_two_thirds_of_more() {
        for (initial, peak, sure) in
            [(1_000, 9_000, 0), (1_001, 0, 2_000), (10_000, 3_002, 2_000), (10_000, 3_003, 2_002)]
        {
            let mut window = CongestionEstimate { initial, ..Default::default() };
            window.send(1_000, 1_000, peak, None);
            assert_eq!(window.sure(1_000), sure, "{initial} {peak}");
        }
    }

    #[test]
    fn what_is_outstanding_grows_again_by_more_than_a_quarter() {
        for (flight, stays) in [(12_500, Plateau::Yes), (12_501, Plateau::No)] {
            let (mut window, mut acked) = (CongestionEstimate::default(), 0);
            for _ in 0..4 {
                round(&mut window, &mut acked, [10_000, 10_000], 10_000);
            }
            assert_eq!(window.stays(1_000), Plateau::Yes);
            window.send(1_000, 1_000, flight, None);
            assert_eq!(window.stays(1_000), stays, "{flight}");
        }
    }

    #[test]
    fn a_round_is_over_when_what_was_sent_in_it_is_acknowledged() {
        let mut window = CongestionEstimate::default();
        window.acknowledged(1_000, 1_000, [1_000, 5_000]);
        assert!(window.over.is_some() && window.round_end == 5_000);
        window.over = None;
        window.acknowledged(4_000, 1_000, [5_000, 9_000]);
        assert!(window.over.is_none(), "of the round before");
        window.acknowledged(0, 1_000, [6_000, 9_000]);
        assert!(window.over.is_none(), "nothing new");
        window.acknowledged(1_000, 1_000, [5_001, 9_000]);
        assert!(window.over.is_some());
    }
}
