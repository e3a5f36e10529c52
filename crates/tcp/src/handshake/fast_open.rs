//! Data that travels with the SYN, and is answered before the handshake is over: TCP Fast Open (RFC 7413) and T/TCP
//! (RFC 1644).
//!
//! Not here: the FIN, which T/TCP may put on the SYN as well; and the options, by which a real host learns
//! that it knows its peer. Only the first SYN carries data: RFC 7413, section 4.1.3.1, has the client fall
//! back to a SYN without it if that was lost.

use core::time::Duration;

use crate::{
    config::Config,
    segment::{Flags, Options, Segment},
    units::Instant,
};

/// What an end knows whose peer may send data with its SYN, or take it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastOpen {
    /// When the connection began.
    since: Instant,
    /// The peer's SYN has brought data, which may be answered.
    taken: bool,
}

impl FastOpen {
    /// Data may travel with the SYN of a connection that begins now.
    pub(crate) const fn new(now: Instant) -> Self {
        Self { since: now, taken: false }
    }

    /// A SYN with data has arrived, which is taken.
    pub(crate) const fn take_data(&mut self, now: Instant) {
        *self = Self { since: now, taken: true };
    }

    /// Whether data may leave although our SYN is not acknowledged: it answers the data of a SYN.
    pub(crate) const fn answers_early(&self) -> bool {
        self.taken
    }

    /// How long TIME-WAIT lasts that begins now.
    pub(crate) fn time_wait(&self, config: &Config, rto: Duration, now: Instant) -> Duration {
        config.policies.open.time_wait(config.time_wait, now.since(self.since), rto)
    }
}

/// Bytes of `written` data that our first SYN carries beside its `options`.
///
/// The peer's MSS is not known yet. RFC 7413, section 4.1.3.1, takes the one that was remembered; here
/// it is our own.
pub(crate) fn data_with_syn(written: u64, options: &Options, config: &Config) -> u32 {
    let syn = Segment { flags: Flags::SYN, options: *options, ..Segment::default() };
    let room = u32::from(config.mss).saturating_sub(syn.options_length());
    u32::try_from(written).unwrap_or(u32::MAX).min(room)
}

/// What a SYN brings, as if its SYN had arrived before.
pub(crate) fn data_of_syn(syn: &Segment) -> Segment {
    let flags = Flags { syn: false, fin: false, ..syn.flags };
    Segment { seq: syn.data_start(), flags, ..*syn }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use alloc::vec::Vec;

    use super::*;
    use crate::{
        Config, DropReason, Endpoint, Event, Policies, Received, SeqNumber, State, Timer, Transmit,
        Wait,
        policy::{Offer, OpenPolicy},
    };

    const RTT: Duration = Duration::from_millis(80);
    const POLICIES: Policies =
        Policies { open: OpenPolicy::Transaction, offer: Offer::NONE, ..Policies::SUNOS_4_1 };

    /// A client and a server; the client writes a request of 300 bytes.
    fn pair(policies: Policies, [client_knows, server_knows]: [bool; 2]) -> [Endpoint; 2] {
        let config = Config { mss: 1000, ..Config::new(policies) };
        let mut client = Endpoint::connect(config, SeqNumber(1), Instant::EPOCH);
        let mut server = Endpoint::listen(config, SeqNumber(2));
        if client_knows {
            client.allow_data_with_syn();
        }
        if server_knows {
            server.allow_data_with_syn();
        }
        assert_eq!(client.write(300), 300);
        [client, server]
    }

    fn sent(endpoint: &mut Endpoint, now: Instant) -> Vec<Transmit> {
        core::iter::from_fn(|| endpoint.poll_transmit(now)).collect()
    }

    fn lengths(sent: &[Transmit]) -> Vec<(bool, u32)> {
        sent.iter().map(|it| (it.segment.flags.syn, it.segment.len)).collect()
    }

    /// Hands segments over; the application reads all that has come.
    fn arrive(sent: &[Transmit], endpoint: &mut Endpoint, now: Instant) -> u32 {
        for transmit in sent {
            let _ = endpoint.handle_segment(&transmit.segment, now);
        }
        endpoint.read(u32::MAX)
    }

    #[test]
    fn a_request_with_the_syn_is_answered_in_one_round_trip() {
        let [mut client, mut server] = pair(POLICIES, [true, true]);
        let (now, half) = (Instant::EPOCH, Instant::EPOCH + RTT / 2);
        let request = sent(&mut client, now);
        assert_eq!(lengths(&request), [(true, 300)]);
        assert!(request[0].segment.flags.psh);
        assert_eq!(arrive(&request, &mut server, half), 300);
        assert_eq!((server.state(), server.write(700)), (State::SynReceived, 700));
        let answer = sent(&mut server, half);
        assert_eq!(lengths(&answer), [(true, 0), (false, 700)]);
        assert_eq!(answer[0].segment.ack, Some(SeqNumber(302)), "the SYN and its data");
        assert_eq!(arrive(&answer, &mut client, now + RTT), 700);
        assert_eq!(client.state(), State::Established);
        assert_eq!(arrive(&sent(&mut client, now + RTT), &mut server, half + RTT), 0);
        assert_eq!(server.state(), State::Established);
        let events: Vec<_> = core::iter::from_fn(|| server.poll_event()).collect();
        assert!(events.contains(&Event::Connected), "{events:?}");
    }

    #[test]
    fn without_permission_or_policy_the_handshake_comes_first() {
        for (policies, knows) in
            [(Policies::SUNOS_4_1, [true, true]), (POLICIES, [false, true]), (POLICIES, [false; 2])]
        {
            let [mut client, mut server] = pair(policies, knows);
            let (now, half) = (Instant::EPOCH, Instant::EPOCH + RTT / 2);
            let syn = sent(&mut client, now);
            assert_eq!(lengths(&syn), [(true, 0)], "{knows:?}");
            assert_eq!(arrive(&syn, &mut server, half), 0);
            assert_eq!(server.write(700), 700);
            assert_eq!(lengths(&sent(&mut server, half)), [(true, 0)], "{knows:?}");
        }
    }

    #[test]
    fn data_that_a_stranger_leaves_is_sent_again_at_once() {
        let [mut client, mut server] = pair(POLICIES, [true, false]);
        let (now, half) = (Instant::EPOCH, Instant::EPOCH + RTT / 2);
        assert_eq!(arrive(&sent(&mut client, now), &mut server, half), 0);
        let syn_ack = sent(&mut server, half);
        assert_eq!(syn_ack[0].segment.ack, Some(SeqNumber(2)), "the SYN alone");
        assert_eq!(arrive(&syn_ack, &mut client, now + RTT), 0);
        let again = sent(&mut client, now + RTT);
        assert!(again.iter().any(|it| it.retransmission && it.segment.len == 300), "{again:?}");
        assert_eq!(arrive(&again, &mut server, half + RTT), 300);
    }

    #[test]
    fn the_syn_waits_for_data() {
        let mut client = Endpoint::connect(Config::new(POLICIES), SeqNumber(1), Instant::EPOCH);
        client.allow_data_with_syn();
        assert_eq!((client.poll_transmit(Instant::EPOCH), client.poll_timeout()), (None, None));
        assert_eq!(client.wait(), Some(Wait::Application));
        client.write(1);
        assert_eq!(lengths(&sent(&mut client, Instant::EPOCH)), [(true, 1)]);
    }

    #[test]
    fn a_syn_carries_what_fits_beside_its_options() {
        let [mut client, mut server] = pair(POLICIES, [true, true]);
        client.write(5_000);
        let syn = sent(&mut client, Instant::EPOCH);
        assert_eq!(lengths(&syn), [(true, 996)], "the MSS option takes 4 bytes");
        assert!(!syn[0].segment.flags.psh);
        assert_eq!(arrive(&syn, &mut server, Instant::EPOCH + RTT / 2), 996);
    }

    #[test]
    fn a_syn_that_was_lost_leaves_its_data_behind() {
        let [mut client, mut server] = pair(POLICIES, [true, true]);
        let _lost = sent(&mut client, Instant::EPOCH);
        let due = client.poll_timeout().expect("the SYN is timed").at;
        client.handle_timeout(due);
        let syn = sent(&mut client, due);
        assert_eq!(lengths(&syn), [(true, 0)]);
        assert_eq!(arrive(&syn, &mut server, due + RTT / 2), 0);
        let syn_ack = sent(&mut server, due + RTT / 2);
        let _ = arrive(&syn_ack, &mut client, due + RTT);
        let request = sent(&mut client, due + RTT);
        assert_eq!(arrive(&request, &mut server, due + RTT * 3 / 2), 300);
    }

    #[test]
    fn what_was_answered_early_is_sent_again_after_a_lost_syn_ack() {
        let [mut client, mut server] = pair(POLICIES, [true, true]);
        let half = Instant::EPOCH + RTT / 2;
        let _ = arrive(&sent(&mut client, Instant::EPOCH), &mut server, half);
        server.write(700);
        let lost = sent(&mut server, half);
        let response = &lost[1].segment;
        let dropped = client.handle_segment(response, half + RTT / 2);
        assert_eq!(dropped, Received::Dropped(DropReason::NotASyn));
        let due = server.poll_timeout().expect("the SYN-ACK is timed").at;
        server.handle_timeout(due);
        let again = sent(&mut server, due);
        assert_eq!(lengths(&again), [(true, 0), (false, 700)]);
        assert!(again.iter().all(|it| it.retransmission));
        assert_eq!(arrive(&again, &mut client, due + RTT / 2), 700);
    }

    /// BSD's window of two is one that the ACK of the SYN has opened: before that ACK it is one.
    #[test]
    fn the_window_of_an_early_answer_is_not_opened_yet() {
        let [mut client, mut server] = pair(POLICIES, [true, true]);
        let half = Instant::EPOCH + RTT / 2;
        let _ = arrive(&sent(&mut client, Instant::EPOCH), &mut server, half);
        server.write(9_000);
        let first = sent(&mut server, half);
        assert_eq!(lengths(&first), [(true, 0), (false, 1000)]);
        // The ACK of the SYN alone, then that of the segment.
        let _ = arrive(&first[..1], &mut client, half + RTT / 2);
        let _ = arrive(&sent(&mut client, half + RTT / 2), &mut server, half + RTT);
        assert_eq!(lengths(&sent(&mut server, half + RTT)), [(false, 1000)]);
        assert_eq!(server.windows().congestion, 2_000);
    }

    #[test]
    fn time_wait_after_a_transaction_lasts_eight_timeouts() {
        for (open, seconds) in [(OpenPolicy::Transaction, 8), (OpenPolicy::FastOpen, 60)] {
            let policies =
                Policies { open, timers: crate::policy::TimerPolicy::Rfc6298, ..POLICIES };
            let [mut client, mut server] = pair(policies, [true, true]);
            let mut now = Instant::EPOCH;
            for _ in 0..4 {
                let out = sent(&mut client, now);
                now = now + RTT / 2;
                let _ = arrive(&out, &mut server, now);
                server.close();
                let back = sent(&mut server, now);
                now = now + RTT / 2;
                let _ = arrive(&back, &mut client, now);
                if client.state() == State::CloseWait {
                    client.close();
                }
            }
            assert_eq!(server.state(), State::TimeWait, "{open:?}");
            let deadline = server.poll_timeout().expect("2 MSL are timed");
            assert_eq!(deadline.timer, Timer::TimeWait);
            assert!(deadline.at.since(now) <= Duration::from_secs(seconds), "{open:?}");
            assert!(deadline.at.since(now) > Duration::from_secs(seconds) - 4 * RTT, "{open:?}");
        }
    }
}
