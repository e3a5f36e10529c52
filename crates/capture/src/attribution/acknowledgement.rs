//! Acknowledgements on their way to a sender, and there.

use ackwise_tcp::Instant;

use super::Nanos;

/// An acknowledgement on its way to the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement {
    pub packet: u64,
    pub seen: Instant,
    pub acked: u64,
    pub edge: Option<u64>,
    /// Its own timestamp (RFC 7323), if whatever is sent after it echoes that or a later one, and the one that it
    /// echoes.
    pub stamp: Option<u32>,
    pub echo: Option<u32>,
    /// It has SACK blocks.
    pub sacks: bool,
    /// It comes without data.
    pub is_pure: bool,
    /// How much longer the path took for it than it takes at least, by its timestamp; zero if that tells nothing.
    pub held: Nanos,
    /// It comes with data, and a packet of its sender is missing behind the data before that.
    pub lost_before: bool,
    /// The receive window shrinks although all that came before was acknowledged: its program does not read. And no
    /// timestamp shows that the path held it.
    pub unread: bool,
}

/// An acknowledgement that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub packet: u64,
    pub left: Instant,
    pub at: Instant,
    /// What was outstanding before it and after it.
    pub flight: [u64; 2],
    /// How much the receive window let be sent before it.
    pub usable_window: Option<u64>,
    /// What the congestion window was before it, at least.
    pub least_window: u64,
    /// No congestion window was smaller, in bytes; 0 if nothing was known.
    pub sure_window: u64,
    pub small_acknowledged: bool,
    /// It has SACK blocks.
    pub sacks: bool,
    /// Others arrived together with it.
    pub in_bunch: bool,
    /// How much longer the path took for it, by its timestamp.
    pub held: Nanos,
    /// The receiver's program did not read what it acknowledges, as far as that shows.
    pub unread: bool,
}

impl Arrived {
    /// It arrived together with an earlier one, and either may have released what was sent then.
    pub(super) fn merged_with(self, first: &Self) -> Self {
        let small_acknowledged = first.small_acknowledged || self.small_acknowledged;
        let flight = [first.flight[0], self.flight[1]];
        let &Self { usable_window, least_window, sure_window, .. } = first;
        let in_bunch = true;
        // The path has held all of them since it held the first.
        let held = first.held.max(self.held);
        Self {
            flight,
            usable_window,
            least_window,
            sure_window,
            small_acknowledged,
            in_bunch,
            held,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_that_arrive_together_the_first_says_what_was_before_and_the_last_what_is_after() {
        let arrived = |packet, flight, usable_window, least_window, small_acknowledged| Arrived {
            packet,
            left: Instant::from_nanos(packet),
            at: Instant::from_nanos(packet + 10),
            flight,
            usable_window,
            least_window,
            sure_window: least_window + 1,
            small_acknowledged,
            sacks: false,
            in_bunch: false,
            held: Nanos::from_millis(packet),
            unread: false,
        };
        for (one, other, either) in
            [(false, false, false), (true, false, true), (false, true, true)]
        {
            let first = arrived(1, [300, 200], Some(5), 7, one);
            let merged = arrived(2, [200, 100], Some(50), 70, other).merged_with(&first);
            assert_eq!((merged.packet, merged.left), (2, Instant::from_nanos(2)));
            assert_eq!(merged.flight, [300, 100]);
            assert_eq!((merged.usable_window, merged.least_window), (Some(5), 7));
            assert_eq!((merged.sure_window, merged.in_bunch), (8, true));
            assert_eq!(merged.held, Nanos::from_millis(2), "the longer");
            assert_eq!(merged.small_acknowledged, either);
        }
    }
}
