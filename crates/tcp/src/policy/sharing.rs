//! What a new connection takes over from earlier or concurrent ones to the same host (RFC 9040).
//!
//! Not here: the age of what is remembered. A driver forgets a host by dropping its
//! [`ControlBlocks`]. Nor options and MSS, which every handshake settles anew.

use alloc::collections::BTreeMap;
use core::time::Duration;

use crate::congestion::{Inherited, Windows};

/// What a new connection takes over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Sharing {
    /// Nothing.
    Off,
    /// The state that a closed connection left (temporal sharing, RFC 2140 and 9040).
    Temporal,
    /// A share of what the concurrent connections have (ensemble sharing). Without any, nothing.
    Ensemble,
}

/// What a host remembers of its connections to one peer, each of which has an id of the driver's
/// choice.
#[derive(Clone, Debug, Default)]
pub struct ControlBlocks {
    live: BTreeMap<u64, Inherited>,
    closed: Inherited,
}

impl ControlBlocks {
    /// As many connections as there are ports to one address; further ones inherit nothing.
    pub const MAX_LIVE: usize = 65_536;

    /// A connection begins: what it starts with.
    ///
    /// An ensemble of n lets a newcomer have an (n + 1)th of its windows, and takes that from the
    /// others in proportion, so that their sum stays. What is left to them, [`windows`](Self::windows)
    /// tells; a driver that does not apply it makes the newcomer's share an extra.
    #[must_use]
    pub fn begin(&mut self, id: u64, sharing: Sharing) -> Inherited {
        if self.live.len() >= Self::MAX_LIVE {
            return Inherited::NOTHING;
        }
        let inherited = match sharing {
            Sharing::Off => Inherited::NOTHING,
            Sharing::Temporal => self.closed,
            Sharing::Ensemble => self.share(),
        };
        self.live.insert(id, inherited);
        inherited
    }

    /// What a live connection has now. An unknown id is ignored.
    pub fn update(&mut self, id: u64, state: Inherited) {
        if let Some(live) = self.live.get_mut(&id) {
            *live = state;
        }
    }

    /// A connection ends: the next one may go on from `state`. What it never measured stays as an
    /// earlier one left it.
    pub fn end(&mut self, id: u64, state: Inherited) {
        if self.live.remove(&id).is_some() {
            self.closed = Inherited {
                windows: state.windows.or(self.closed.windows),
                srtt: state.srtt.or(self.closed.srtt),
                rttvar: state.rttvar.or(self.closed.rttvar),
            };
        }
    }

    /// The windows that a live connection was last known, or left, to have.
    #[must_use]
    pub fn windows(&self, id: u64) -> Option<Windows> {
        self.live.get(&id)?.windows
    }

    /// Divides the windows by one more: the newcomer's part is what the others give.
    fn share(&mut self) -> Inherited {
        let windows = || self.live.values().filter_map(|state| state.windows);
        let (count, sum) = windows()
            .fold((0u64, 0u64), |(count, sum), each| (count + 1, sum + u64::from(each.congestion)));
        // The most careful of them has met the bottleneck.
        let threshold = windows().map(|each| each.threshold).min();
        let inherited = Inherited {
            windows: threshold.map(|threshold| Windows {
                congestion: u32::try_from(sum / (count + 1)).unwrap_or(u32::MAX),
                threshold,
            }),
            srtt: self.mean(|state| state.srtt),
            rttvar: self.mean(|state| state.rttvar),
        };
        for windows in self.live.values_mut().filter_map(|state| state.windows.as_mut()) {
            let left = u64::from(windows.congestion) * count / (count + 1);
            windows.congestion = u32::try_from(left).unwrap_or(u32::MAX);
        }
        inherited
    }

    fn mean(&self, of: impl Fn(&Inherited) -> Option<Duration>) -> Option<Duration> {
        let (count, sum) =
            self.live.values().filter_map(of).fold((0u32, Duration::ZERO), |(count, sum), each| {
                (count + 1, sum.saturating_add(each))
            });
        (count > 0).then(|| sum / count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(congestion: u32, threshold: u32, srtt: u64) -> Inherited {
        Inherited {
            windows: Some(Windows { congestion, threshold }),
            srtt: Some(Duration::from_millis(srtt)),
            rttvar: Some(Duration::from_millis(srtt / 2)),
        }
    }

    #[test]
    fn without_sharing_nothing_is_taken_over() {
        let mut host = ControlBlocks::default();
        let _ = host.begin(1, Sharing::Off);
        host.end(1, state(20_000, 10_000, 80));
        assert_eq!(host.begin(2, Sharing::Off), Inherited::NOTHING);
    }

    #[test]
    fn a_serial_connection_goes_on_where_the_last_one_ended() {
        let mut host = ControlBlocks::default();
        assert_eq!(host.begin(1, Sharing::Temporal), Inherited::NOTHING);
        host.update(1, state(5_000, 9_000, 90));
        host.end(1, state(20_000, 10_000, 80));
        assert_eq!(host.begin(2, Sharing::Temporal), state(20_000, 10_000, 80));

        // It ends before it measured a round trip: the estimate of the first is still the best.
        host.end(2, Inherited { srtt: None, rttvar: None, ..state(3_000, 10_000, 0) });
        let third = host.begin(3, Sharing::Temporal);
        assert_eq!(
            third,
            Inherited { windows: state(3_000, 10_000, 0).windows, ..state(0, 0, 80) }
        );
    }

    #[test]
    fn parallel_connections_share_the_sum() {
        let mut host = ControlBlocks::default();
        assert_eq!(host.begin(1, Sharing::Ensemble), Inherited::NOTHING);
        host.update(1, state(30_000, u32::MAX, 80));
        assert_eq!(host.begin(2, Sharing::Ensemble), state(15_000, u32::MAX, 80));
        assert_eq!(host.windows(1).map(|windows| windows.congestion), Some(15_000));

        host.update(2, state(15_000, 12_000, 100));
        assert_eq!(host.begin(3, Sharing::Ensemble), state(10_000, 12_000, 90));
        let sum: u32 = (1..=3).map(|id| host.windows(id).unwrap().congestion).sum();
        assert_eq!(sum, 30_000);
    }

    #[test]
    fn an_unknown_connection_changes_nothing() {
        let mut host = ControlBlocks::default();
        host.update(7, state(1, 1, 1));
        host.end(7, state(1, 1, 1));
        assert_eq!(host.begin(8, Sharing::Temporal), Inherited::NOTHING);
    }

    #[test]
    fn the_number_of_connections_is_bounded() {
        let mut host = ControlBlocks::default();
        for id in 0..ControlBlocks::MAX_LIVE as u64 {
            let _ = host.begin(id, Sharing::Temporal);
        }
        host.end(0, state(20_000, 10_000, 80));
        assert_eq!(host.begin(70_000, Sharing::Temporal), state(20_000, 10_000, 80));
        assert_eq!(host.begin(70_001, Sharing::Temporal), Inherited::NOTHING);
        assert_eq!(host.live.len(), ControlBlocks::MAX_LIVE);
    }
}
