//! A driver asks for the next segment. Most polls find nothing to send, or an ACK; what else may leave is decided in
//! `output`.

use super::{Endpoint, flight::Flight, output::Transmit, recovery::Phase};
use crate::{congestion::Repair, units::Instant};

impl Endpoint {
    /// The next segment to put on the wire, if the policies allow one at `now`.
    #[must_use]
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if !self.has_sent_all() {
            return self.poll_in_detail(now);
        }
        self.note_outstanding_at_call();
        if self.receiver.must_acknowledge(now) { self.poll_ack(now) } else { None }
    }

    /// Whether [`next_transmit`](Self::next_transmit) would find nothing but an ACK to send, and nothing to wait
    /// for. Two of five polls of a short connection end here, for a fifth of the instructions.
    #[inline]
    fn has_sent_all(&self) -> bool {
        let Self { sender, recovery, pending_reset, counters, .. } = self;
        let all_sent = sender.next > 0 && sender.next >= sender.end();
        // The counters want to know what is waited for.
        if !all_sent || pending_reset.is_some() || counters.is_some() {
            return false;
        }
        let repairs =
            recovery.retransmit_head || matches!(recovery.phase, Phase::Fast(Repair::Scoreboard));
        !repairs && !self.flight.as_deref().is_some_and(Flight::has_work)
    }

    #[inline(never)]
    fn poll_ack(&mut self, now: Instant) -> Option<Transmit> {
        if self.receiver.has_sack_blocks() {
            self.poll_with_extras(now)
        } else {
            self.transmit_due_ack(now)
        }
    }

    #[inline(never)]
    fn poll_in_detail(&mut self, now: Instant) -> Option<Transmit> {
        match self.receiver.has_sack_blocks() || self.counters.is_some() {
            true => self.poll_with_extras(now),
            false => self.next_transmit(now),
        }
    }

    /// SACK blocks and counters, apart from the rest: a segment that meets them is copied once more.
    #[inline(never)]
    fn poll_with_extras(&mut self, now: Instant) -> Option<Transmit> {
        let mut transmit = self.next_transmit(now);
        if let Some(Transmit { segment, .. }) = &mut transmit
            && !(segment.flags.syn || segment.flags.rst)
            && self.receiver.has_sack_blocks()
        {
            self.receiver.add_sack_blocks(&mut segment.options);
        }
        self.count_sent(transmit.as_ref(), now);
        transmit
    }

    #[inline]
    pub(super) const fn note_outstanding_at_call(&mut self) {
        if self.sender.outstanding_at_call.is_none() {
            self.sender.outstanding_at_call = Some(self.sender.is_data_outstanding());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, vec::Vec};

    use super::*;
    use crate::{Config, Policies, Segment, SeqNumber, units::Nanos};

    const ROUND_TRIPS: u64 = 400;
    const BYTES: u32 = 300_000;
    const HALF: Nanos = Nanos::from_millis(5);

    /// What leaves in a transfer that loses each 20th segment, if both ends count, or not.
    fn left(policies: Policies, counts: bool) -> Vec<(Instant, usize, Transmit)> {
        let mut now = Instant::EPOCH + Nanos::from_millis(1_000);
        let config = Config::new(policies);
        let server = Endpoint::listen(config, SeqNumber(1));
        let mut ends = [server, Endpoint::connect(config, SeqNumber(2), now)];
        if counts {
            ends.iter_mut().for_each(Endpoint::count);
        }
        let mut lines: [VecDeque<(Instant, Segment)>; 2] = Default::default();
        let (mut all, mut written) = (Vec::new(), 0);
        for _ in 0..2 * ROUND_TRIPS {
            written += ends[0].write(BYTES - written);
            for end in 0..2 {
                while let Some(transmit) = ends[end].poll_transmit(now) {
                    all.push((now, end, transmit));
                    if all.len() % 20 != 0 {
                        lines[1 - end].push_back((now + HALF, transmit.segment));
                    }
                }
            }
            now = now + HALF;
            for (end, line) in ends.iter_mut().zip(&mut lines) {
                while let Some((_, segment)) = line.pop_front_if(|(at, _)| *at <= now) {
                    let _ = end.handle_segment(&segment, now);
                    end.read(u32::MAX);
                }
                end.handle_timeout(now);
            }
        }
        assert_eq!(ends[0].acknowledged(), BYTES.into(), "{policies:?}");
        all
    }

    /// An end that counts takes the long way with each poll.
    #[test]
    fn the_short_way_finds_what_the_long_way_finds() {
        for policies in [Policies::RFC, Policies::LINUX_6, Policies::LINUX_6_BBR] {
            let [counting, other] = [true, false].map(|counts| left(policies, counts));
            let differs = counting.iter().zip(&other).position(|(one, another)| one != another);
            assert_eq!((differs, counting.len()), (None, other.len()), "{policies:?}");
        }
    }
}
