//! Whether a few segments wait for the next ACK, so that more leave together.

use crate::units::Nanos;

/// Whether a few segments wait for the next ACK, so that more leave together.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum DeferralPolicy {
    /// What the windows allow leaves at once.
    Off,
    /// Linux `tcp_tso_should_defer`: a sender that has just sent, and expects an ACK soon, waits until as
    /// much may leave as the kernel would hand to a device at once (`tcp_tso_autosize`).
    Linux,
}

/// What the decision depends on. Nothing is being repaired.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Deferrable {
    /// Segments that cwnd leaves room for, one at least, and cwnd.
    pub(crate) room: u32,
    pub(crate) window: u32,
    /// Time since something was sent; zero if it counts as sent in the future, which pacing does.
    pub(crate) since_sent: Nanos,
    /// Time since the oldest segment that is out was sent.
    pub(crate) oldest: Nanos,
    pub(crate) srtt: Nanos,
}

impl Deferrable {
    /// Whether to wait, unless the room is enough for a whole burst.
    pub(crate) fn waits(&self) -> bool {
        let soon = (self.srtt / 2).min(RECENT);
        self.since_sent <= RECENT
            && self.room < self.window / WINDOW_SHARE
            && self.srtt <= self.oldest + soon
    }
}

/// NSEC_PER_MSEC: a write that was longer ago is not continued, and an ACK is waited for no longer.
const RECENT: Nanos = Nanos::from_millis(1);
/// `net.ipv4.tcp_tso_win_divisor`: such a part of the window is enough to send.
const WINDOW_SHARE: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    const fn micros(micros: u64) -> Nanos {
        Nanos::from_micros(micros)
    }

    #[test]
    fn a_small_room_waits_for_an_ack_that_comes_soon() {
        let base = Deferrable {
            room: 2,
            window: 30,
            since_sent: micros(400),
            oldest: micros(20_000),
            srtt: micros(20_500),
        };
        #[rustfmt::skip]
        let table = [
            (base, true),
            (Deferrable { room: 9, ..base }, true),
            (Deferrable { room: 10, ..base }, false),
            (Deferrable { since_sent: micros(1_000), ..base }, true),
            (Deferrable { since_sent: micros(1_001), ..base }, false),
            (Deferrable { oldest: micros(19_500), ..base }, true),
            (Deferrable { oldest: micros(19_499), ..base }, false),
            (Deferrable { oldest: micros(90_000), ..base }, true),
            // Half of a short round trip.
            (Deferrable { srtt: micros(1_000), oldest: micros(499), ..base }, false),
            (Deferrable { srtt: micros(1_000), oldest: micros(500), ..base }, true),
        ];
        for (facts, waits) in table {
            assert_eq!(facts.waits(), waits, "{facts:?}");
        }
    }
}
