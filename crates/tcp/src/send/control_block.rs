//! What a connection takes over from others to the same host, and leaves to them: control block sharing (RFC 9040); and
//! with which window it begins otherwise.

use super::{control::Control, round_trips::RoundTrips, sequence::SendSequence};
use crate::{
    congestion::{Inherited, Windows},
    policy::{Policies, TimerPolicy},
};

/// What another connection to the same host may take over: the windows only if there was
/// a connection at all.
pub(crate) fn heritage(
    sequence: &SendSequence,
    control: &Control,
    round_trips: &RoundTrips,
) -> Inherited {
    let estimate = round_trips.estimate();
    Inherited {
        windows: (sequence.una() > 0).then(|| control.windows()),
        srtt: estimate.srtt(),
        rttvar: estimate.variance(),
    }
}

/// cwnd and ssthresh at the start of a connection that has taken over `inherited`, if it has.
pub(crate) fn first_windows(
    sequence: &SendSequence,
    inherited: Windows,
    policies: &Policies,
) -> Windows {
    if sequence.keeps_inherited_window() {
        return inherited;
    }
    let congestion = sequence.initial_window(policies.initial_window);
    Windows { congestion, threshold: u32::MAX }
}

/// The initial window of a connection that goes on. Linux counts a lost SYN only at the beginning
/// (`tcp_init_transfer`, `tcp_cwnd_restart`).
pub(crate) fn window_to_go_on_with(sequence: &SendSequence, policies: &Policies) -> u32 {
    let policy = policies.initial_window;
    match policies.timers {
        TimerPolicy::Linux => sequence.initial_window_without_loss(policy),
        _ => sequence.initial_window(policy),
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::{
        Config, Endpoint, Instant, Policies, SeqNumber, State,
        policy::{ControlBlocks, Sharing},
    };

    const RTT: Duration = Duration::from_millis(80);
    const BYTES: u32 = 60_000;

    /// An endpoint that has sent [`BYTES`] and has closed after its peer, so that nothing of it is
    /// left in TIME-WAIT; and its cwnd at the start.
    fn closed(inherited: &Inherited) -> (Endpoint, u32) {
        let mut now = Instant::EPOCH;
        let config = Config::new(Policies::RFC);
        let mut sender = Endpoint::connect(config, SeqNumber(1), now);
        let mut receiver = Endpoint::listen(config, SeqNumber(2));
        sender.inherit(inherited);
        assert_eq!(sender.write(BYTES), BYTES);
        let mut start = None;
        for _ in 0..20 {
            now = round_trip(&mut sender, &mut receiver, now);
            if start.is_none() && sender.state() == State::Established {
                start = Some(sender.windows().congestion);
                receiver.close();
            }
            if sender.state() == State::CloseWait {
                sender.close();
            }
        }
        assert_eq!((sender.state(), sender.acknowledged()), (State::Closed, u64::from(BYTES)));
        (sender, start.expect("the connection was open"))
    }

    fn round_trip(sender: &mut Endpoint, receiver: &mut Endpoint, now: Instant) -> Instant {
        while let Some(transmit) = sender.poll_transmit(now) {
            receiver.handle_segment(&transmit.segment, now);
            receiver.read(u32::MAX);
        }
        let now = now + RTT;
        while let Some(transmit) = receiver.poll_transmit(now) {
            sender.handle_segment(&transmit.segment, now);
        }
        now
    }

    #[test]
    fn a_serial_connection_starts_with_the_window_that_the_last_one_left() {
        let mut host = ControlBlocks::default();
        let (first, initial) = closed(&host.begin(1, Sharing::Temporal));
        assert_eq!((first.segment_size(), initial), (1448, 10 * 1448));
        let left = first.heritage();
        assert_eq!(left.srtt, Some(RTT));
        host.end(1, left);

        let inherited = host.begin(2, Sharing::Temporal);
        let (_, start) = closed(&inherited);
        assert!(start > initial, "{start} bytes");
        assert_eq!(Some(start), left.windows.map(|windows| windows.congestion));
    }

    #[test]
    fn a_parallel_connection_starts_with_its_share() {
        let mut host = ControlBlocks::default();
        let (first, _) = closed(&host.begin(1, Sharing::Ensemble));
        host.update(1, first.heritage());
        let (_, start) = closed(&host.begin(2, Sharing::Ensemble));
        assert_eq!(start, first.windows().congestion / 2);
    }

    #[test]
    fn a_connection_that_never_was_leaves_nothing() {
        let endpoint = Endpoint::connect(Config::new(Policies::RFC), SeqNumber(1), Instant::EPOCH);
        assert_eq!(endpoint.heritage(), Inherited::NOTHING);
    }
}
