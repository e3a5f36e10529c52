//! HTTP/2's flow control under TLS without secrets: a server that pauses when it has sent a window's bytes, again and again,
//! and goes on with the records that give it credit, and not without them.
//!
//! Only the lengths of records show what they are: see the conversation's
//! [`SealedCredit`](crate::conversation::Event::SealedCredit). So nothing is known before the same has happened several
//! times in a row, and a pause that ends otherwise speaks against it: that server writes when it likes.

use std::collections::VecDeque;

use ackwise_tcp::Instant;

use crate::attribution::Nanos;

/// What the records of a client have let the server do.
#[derive(Clone, Debug, Default)]
pub(super) struct SealedCredits {
    /// Those that the server has not heard yet.
    given: VecDeque<SealedCredit>,
    /// How far it had heard the client when it sent its last data.
    heard: u64,
    /// When it sent that, if it had then sent all that was written.
    paused_at: Option<Instant>,
    /// What it had sent before it went on with credit, and how often in a row.
    window: u64,
    repeats: u32,
    /// How many pauses ended otherwise.
    refuted: u32,
}

/// A record that may give credit.
#[derive(Clone, Copy, Debug)]
pub(super) struct SealedCredit {
    /// Of the first byte after it.
    pub position: u64,
    /// When it reaches the server.
    pub arrives: Instant,
    /// What the server has sent before it: as long as a window.
    pub window: u64,
}

/// Data of the server that nobody had seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerData {
    /// How far it has heard the client.
    pub heard: u64,
    /// When it left.
    pub sent: Instant,
    /// So soon after credit has come, the server goes on.
    pub immediate: Nanos,
    pub round_trip: Nanos,
    /// Whether its last segment is small and ends a write. Then it is the program that pauses, and no congestion window.
    pub ends_write: bool,
}

impl SealedCredits {
    /// The most records on their way that are remembered. Our choice.
    const MOST: usize = 16;

    /// So often a server may go on with credit by chance; and so much more often for each pause that ended otherwise. Our
    /// choice.
    const BY_CHANCE: u32 = 2;
    const IF_REFUTED: u32 = 4;

    /// A server goes on with credit within this part of a round trip. Our choice: one that writes when it likes does so
    /// three times in a row by chance once in 512.
    const SOON: u64 = 8;

    /// Behind data of the server, after which it paused if all that was written had left then.
    pub(super) fn behind(heard: u64, paused_at: Option<Instant>) -> Self {
        Self { heard, paused_at, ..Self::default() }
    }

    /// A record was seen that may give credit.
    pub(super) fn give(&mut self, credit: SealedCredit) {
        if self.given.len() == Self::MOST {
            self.given.pop_front();
        }
        self.given.push_back(credit);
    }

    /// Whether the server has waited for credit before this data.
    pub(super) fn held(&mut self, data: &ServerData) -> bool {
        let pauses = data.ends_write.then_some(data.sent);
        let paused_at = std::mem::replace(&mut self.paused_at, pauses);
        let hears = std::mem::replace(&mut self.heard, data.heard) < data.heard;
        let mut last = None;
        while let Some(credit) = self.given.pop_front_if(|it| it.position <= data.heard) {
            last = Some(credit);
        }
        // A shorter pause is within a flight.
        let half = data.round_trip / 2;
        if paused_at.is_none_or(|it| Nanos::between(it, data.sent) <= half) {
            return false;
        }
        // What the client has said last is something else: a request.
        let credit = last.filter(|it| it.position == data.heard);
        let late = credit.map(|it| Nanos::between(it.arrives, data.sent));
        if !hears || late > Some(half) {
            (self.refuted, self.repeats) = (self.refuted.saturating_add(1), 0);
            return false;
        }
        let soon = data.immediate.max(data.round_trip / Self::SOON);
        let Some(SealedCredit { window, .. }) = credit.filter(|_| late <= Some(soon)) else {
            return false;
        };
        let repeats = if is_of_same_window(self.window, window) { self.repeats } else { 0 };
        (self.window, self.repeats) = (window, repeats.saturating_add(1));
        self.repeats > Self::BY_CHANCE.saturating_add(self.refuted.saturating_mul(Self::IF_REFUTED))
    }
}

/// Who has consumed half of a window gives that anew (nghttp2, Go, hyper), or both halves at once; those of the default of
/// 65,535 differ by one.
const fn is_of_same_window(one: u64, other: u64) -> bool {
    one.abs_diff(other) <= 1 || one.abs_diff(2 * other) <= 1 || other.abs_diff(2 * one) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Nanos = Nanos::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::EPOCH + Nanos::from_millis(ms)
    }

    /// A client gives credit in records of 35 bytes.
    struct Stalls {
        credits: SealedCredits,
        heard: u64,
    }

    impl Stalls {
        fn new() -> Self {
            let mut stalls = Self { credits: SealedCredits::default(), heard: 0 };
            assert!(!stalls.goes_on(0));
            stalls
        }

        fn data(&self, sent: u64) -> ServerData {
            ServerData {
                heard: self.heard,
                sent: at(sent),
                immediate: Nanos::from_millis(1),
                round_trip: ROUND_TRIP,
                ends_write: true,
            }
        }

        fn goes_on(&mut self, sent: u64) -> bool {
            let data = self.data(sent);
            self.credits.held(&data)
        }

        fn credit(&mut self, arrives: u64, window: u64) {
            self.heard += 35;
            let position = self.heard;
            self.credits.give(SealedCredit { position, arrives: at(arrives), window });
        }

        /// Credit arrives, after a window was used up, and the server goes on with it.
        fn stall(&mut self, arrives: u64, window: u64) -> bool {
            self.credit(arrives, window);
            self.goes_on(arrives)
        }
    }

    #[test]
    fn the_third_pause_of_a_kind_was_held() {
        let mut stalls = Stalls::new();
        let held = [100, 200, 300, 400].map(|now| stalls.stall(now, 4_096));
        assert_eq!(held, [false, false, true, true]);
        // Another size, as of another stream, has to repeat as well.
        assert!(!stalls.stall(500, 24_576));
    }

    #[test]
    fn halves_of_a_window_are_of_a_kind_with_it() {
        let mut stalls = Stalls::new();
        let windows = [(100, 32_768), (200, 32_767), (300, 32_768), (400, 65_535)];
        let held = windows.map(|(now, window)| stalls.stall(now, window));
        assert_eq!(held, [false, false, true, true]);
    }

    #[test]
    fn a_server_that_goes_on_late_or_without_credit_writes_when_it_likes() {
        let late: fn(&mut Stalls) = |stalls| {
            stalls.credit(210, 4_096);
            stalls.goes_on(290);
        };
        let without: fn(&mut Stalls) = |stalls| {
            stalls.goes_on(290);
        };
        for refute in [late, without] {
            let mut stalls = Stalls::new();
            assert!(!stalls.stall(100, 4_096));
            refute(&mut stalls);
            let held = [400, 500, 600, 700, 800, 900].map(|now| stalls.stall(now, 4_096));
            assert_eq!(held, [false; 6]);
            assert!(stalls.stall(1_000, 4_096));
        }
    }

    #[test]
    fn what_follows_a_request_or_leaves_a_little_late_or_soon_shows_nothing() {
        let mut stalls = Stalls::new();
        assert!([100, 200, 300].map(|now| stalls.stall(now, 4_096))[2]);
        stalls.heard += 80;
        assert!(!stalls.goes_on(400), "a request");
        stalls.heard += 35;
        assert!(!stalls.goes_on(500), "credit behind anything else than a window's bytes");
        stalls.credit(600, 4_096);
        assert!(!stalls.goes_on(620), "late");
        assert!(!stalls.stall(640, 4_096), "soon");
        stalls.credit(740, 4_096);
        let data = ServerData { ends_write: false, ..stalls.data(750) };
        assert!(stalls.credits.held(&data));
        assert!(!stalls.stall(850, 4_096), "a congestion window may have held it");
    }

    #[test]
    fn windows_are_of_a_kind_as_a_whole_or_by_half_to_a_byte() {
        for (one, other, alike) in [
            (4_096, 4_096, true),
            (4_097, 4_096, true),
            (4_098, 4_096, false),
            (4_096, 4_098, false),
            (4_097, 2_048, true),
            (4_098, 2_048, false),
            (4_095, 2_048, true),
            (4_094, 2_048, false),
            (2_048, 4_097, true),
            (2_048, 4_098, false),
            (2_048, 4_095, true),
            (2_048, 4_094, false),
        ] {
            assert_eq!(is_of_same_window(one, other), alike, "{one} {other}");
        }
    }

    #[test]
    fn a_pause_is_longer_than_half_a_round_trip() {
        for (first, held) in [(50, false), (51, true)] {
            let mut stalls = Stalls::new();
            assert!(!stalls.stall(first, 4_096));
            assert!(!stalls.stall(200, 4_096));
            assert_eq!(stalls.stall(300, 4_096), held, "{first}");
        }
    }

    /// Within an eighth of a round trip it was the credit; after half of one, it was not.
    #[test]
    fn credit_counts_for_an_eighth_of_a_round_trip_and_speaks_against_it_after_a_half() {
        for (late, held) in
            [(12, [true, true]), (13, [false, true]), (50, [false, true]), (51, [false, false])]
        {
            let mut stalls = Stalls::new();
            assert!(!stalls.stall(100, 4_096));
            stalls.credit(200, 4_096);
            assert!(!stalls.goes_on(200 + late));
            assert_eq!([400, 500].map(|now| stalls.stall(now, 4_096)), held, "{late}");
        }
    }

    #[test]
    fn credit_on_its_way_is_bounded() {
        let mut stalls = Stalls::new();
        for _ in 0..100 {
            stalls.credit(100, 4_096);
        }
        assert_eq!(stalls.credits.given.len(), SealedCredits::MOST);
    }
}
