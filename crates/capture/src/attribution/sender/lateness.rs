//! By how much acknowledgements come later than a round trip takes: for so long, a link of which no rate is known
//! may have been busy.

use super::{Distances, Facts, Hold, Nanos, Pace, Rule, Sender};

/// How late the last acknowledgements were, the least of a few.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lateness {
    /// Of those that no receiver delays, because they acknowledge two full segments (RFC 5681, section 4.2).
    of_two: Recent,
    /// Of those, and of those without data that come sooner than Linux's timer ends.
    sooner: Recent,
    /// One without data took longer: the receiver's timer may end at any time (4.4BSD's ticks each 200 ms).
    delays: bool,
    /// Of all, but for those that Linux's first timer may have ended, and those with data.
    any: Recent,
    promptest: Promptest,
}

/// By how much the acknowledgement was late that was promptest for its bytes, and these: a link that is busy with
/// them delays it for as long.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Promptest(Option<(Nanos, u64)>);

impl Promptest {
    fn note(&mut self, late: Nanos, newly: u64) {
        let is_prompter = |(least, bytes): (Nanos, u64)| {
            late.get().saturating_mul(bytes) < least.get().saturating_mul(newly)
        };
        if newly > 0 && self.0.is_none_or(is_prompter) {
            self.0 = Some((late, newly));
        }
    }

    /// The same pace, unless it came in half of the time that such a link takes, or less. Our choice.
    pub(crate) fn unless_refuted(self, pace: Pace) -> Pace {
        let is_refuted = self.0.is_some_and(|(late, bytes)| late * 2 <= pace.time(bytes));
        if is_refuted { Pace::default() } else { pace }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    last: [Nanos; Self::COUNT],
    count: usize,
}

impl Recent {
    /// Enough to leave out what waited behind other packets. Our choice.
    const COUNT: usize = 4;

    const fn note(&mut self, late: Nanos) {
        self.last[self.count % Self::COUNT] = late;
        self.count += 1;
    }

    /// One alone may be an accident.
    fn least(&self) -> Nanos {
        let seen = &self.last[..self.count.min(Self::COUNT)];
        seen.iter().copied().min().filter(|_| self.count > 1).unwrap_or_default()
    }
}

impl Lateness {
    /// A timer ends by as much sooner or later: a tick of Linux.
    const TICK: Nanos = Nanos::from_millis(4);

    /// An acknowledgement of `newly` came so much later than a round trip takes. None is delayed that acknowledges
    /// two full segments.
    pub(super) fn note(&mut self, late: Nanos, newly: u64, full: u64, is_pure: bool) {
        let shortest = Distances::SHORTEST_ACK_DELAY;
        self.promptest.note(late, newly);
        let of_two = newly >= 2 * full;
        let is_sooner = late + Self::TICK < shortest;
        self.delays |= is_pure && !of_two && !is_sooner;
        if of_two {
            self.of_two.note(late);
        }
        if of_two || is_pure && is_sooner {
            self.sooner.note(late);
        }
        if of_two || is_pure && (is_sooner || late > shortest + Self::TICK) {
            self.any.note(late);
        }
    }

    /// The least of those that no receiver delays, as far as this one has shown how it delays.
    fn prompt(&self) -> Nanos {
        if self.delays { self.of_two.least() } else { self.sooner.least() }
    }
}

impl Sender {
    /// What bounds the pace of a link behind the vantage point.
    pub(crate) const fn promptest(&self) -> Promptest {
        self.lateness.promptest
    }

    pub(super) fn note_delay(&mut self, delay: Nanos) {
        /// Remembered delays: enough for a median. Our choice.
        const DELAYS: usize = 7;
        if self.delays.len() == DELAYS {
            self.delays.pop_front();
        }
        self.delays.push_back(delay);
    }

    /// How late the receiver's delayed acknowledgements were: the median of the last few.
    pub(crate) fn delayed_ack(&self) -> Option<Nanos> {
        let mut delays = self.delays.clone();
        delays.make_contiguous().sort_unstable();
        delays.get(delays.len() / 2).copied()
    }

    /// By how much the last acknowledgements were late that no receiver delays, and all of them, where no rate is known.
    pub(super) fn unexplained(&self) -> [Nanos; 2] {
        match self.bottleneck.is_unknown() {
            true => [self.lateness.prompt(), self.lateness.any.least()],
            false => [Nanos::ZERO; 2],
        }
    }

    /// Where no rate is known and the program seems to have paused: for how long a link was busy with what it had
    /// written before, as far as that is worth a doubt. An eighth of the time is, our choice.
    pub(super) fn busy_without_rate(hold: &Hold, facts: &Facts) -> Option<Nanos> {
        let [busy, _] = facts.late.unexplained;
        let pauses = hold.rule == Rule::Written && hold.lost.is_none();
        let counts = pauses && !busy.is_zero() && busy * 8 >= facts.since_data;
        counts.then(|| busy.min(facts.since_data))
    }

    /// Whether a link may have been busy with what filled the receive window, of which the acknowledgement came late:
    /// unless the receiver was seen to wait for its program, nothing shows whether it kept that, or a link the data.
    pub(super) const fn may_be_busy_with_window(&self) -> bool {
        self.bottleneck.is_unknown() && !self.waits_for_reader
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    /// How many milliseconds late each acknowledgement is, and for how long a link may have been busy: by those that no
    /// receiver delays, and by all.
    #[test]
    fn what_a_receiver_may_have_delayed_shows_no_busy_link() {
        const TWO: (u64, bool) = (2_000, true);
        const ONE: (u64, bool) = (1_000, true);
        const WITH_DATA: (u64, bool) = (1_000, false);
        for (acks, expected) in [
            (&[(20, TWO)][..], [0, 0]),
            (&[(20, TWO), (15, TWO)], [15, 15]),
            (&[(20, TWO), (15, TWO), (90, ONE)], [15, 15]),
            // Of single segments, sooner than any timer.
            (&[(10, ONE), (8, ONE)], [8, 8]),
            (&[(35, ONE), (35, ONE)], [35, 35]),
            (&[(10, ONE), (0, ONE)], [0, 0]),
            // When Linux's timer ends, and later, where it may be another's.
            (&[(36, ONE), (44, ONE)], [0, 0]),
            (&[(10, ONE), (40, ONE), (8, ONE)], [0, 8]),
            (&[(45, ONE), (90, ONE)], [0, 45]),
            // 4.4BSD's timer ends at any time.
            (&[(10, ONE), (8, ONE), (150, ONE), (12, ONE), (9, ONE)], [0, 8]),
            (&[(150, ONE), (20, TWO), (15, TWO)], [15, 15]),
            // A program answered.
            (&[(10, WITH_DATA), (8, WITH_DATA), (90, WITH_DATA)], [0, 0]),
        ] {
            let mut lateness = Lateness::default();
            for &(late, (newly, is_pure)) in acks {
                lateness.note(millis(late), newly, 1_000, is_pure);
            }
            let found = [lateness.prompt(), lateness.any.least()];
            assert_eq!(found, expected.map(millis), "{acks:?}");
        }
    }

    #[test]
    fn a_link_is_not_slower_than_the_promptest_acknowledgement_shows() {
        let mut lateness = Lateness::default();
        let mut pace = Pace::default();
        pace.sample(960, millis(40));
        let mut known = |late, newly| {
            lateness.note(millis(late), newly, 960, true);
            lateness.promptest.unless_refuted(pace).is_known()
        };
        assert!(known(11, 500));
        assert!(known(21, 1_000));
        assert!(!known(20, 1_000));
        assert!(!known(30, 1_000), "the promptest counts");
        assert!(!known(80, 0));
    }
}
