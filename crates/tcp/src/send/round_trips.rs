//! Round trips: what an ACK tells of them (RFC 6298, 7323; Linux `tcp_ack_update_rtt`).

use super::{news::News, sequence::SendSequence};
use crate::{
    congestion::Inherited,
    policy::TimerPolicy,
    round_trip::RoundTrip,
    segment::Segment,
    seq::low,
    timestamp::timestamp,
    units::{Instant, Nanos},
};

/// What the round trips of the connection are estimated to be. Which segment is timed, the sequence knows.
#[derive(Clone, Debug)]
pub(crate) struct RoundTrips(RoundTrip);

impl RoundTrips {
    pub(crate) const fn new(policy: TimerPolicy) -> Self {
        Self(RoundTrip::new(policy))
    }

    /// Begins with what another connection has measured, if it has.
    pub(crate) fn inherit(&mut self, inherited: &Inherited) {
        if let (Some(srtt), Some(rttvar)) = (inherited.srtt, inherited.rttvar) {
            self.0 = RoundTrip::inherited(self.0.policy(), srtt, rttvar);
        }
    }

    #[inline]
    pub(crate) const fn estimate(&self) -> &RoundTrip {
        &self.0
    }

    #[inline]
    pub(crate) const fn estimate_mut(&mut self) -> &mut RoundTrip {
        &mut self.0
    }

    /// SRTT.
    #[inline]
    pub(crate) fn smoothed(&self) -> Option<Nanos> {
        self.0.smoothed()
    }

    /// The retransmission timeout.
    #[inline]
    pub(crate) fn time_out(&self) -> Nanos {
        self.0.time_out()
    }

    /// A segment acknowledges new data, where the segments that are out are listed; the round trip of the last that it
    /// acknowledges, if that was measured. Data left last at `last_send`.
    ///
    /// Linux `tcp_ack_update_rtt`: each ACK gives a sample, if none of the segments that it acknowledges was
    /// sent more than once; if one was, by what it SACKs, or by its timestamp.
    pub(crate) fn on_listed_ack(
        &mut self,
        news: &News,
        sequence: &mut SendSequence,
        segment: &Segment,
        last_send: Instant,
        now: Instant,
    ) -> Option<Nanos> {
        let linux = self.0.policy() == TimerPolicy::Linux;
        let first = news.first_round_trip.filter(|_| !news.repeated);
        let first = first.or_else(|| news.sacked_round_trip.filter(|_| linux));
        let Some((first, last)) = first.zip(news.last_round_trip) else {
            match echoed(segment, now).filter(|_| linux) {
                Some(echoed) => {
                    sequence.stop_timing();
                    self.sample(echoed.max(Nanos::from_millis(1)), sequence);
                    return None;
                }
                None => return self.on_ack(sequence, segment, last_send, now),
            }
        };
        sequence.stop_timing();
        self.sample(self.0.policy().sampled(now - first, now), sequence);
        Some(last)
    }

    /// The same where they are not listed.
    ///
    /// RFC 6298, section 3 (Karn): only a segment that was sent once is timed. After a timeout, an
    /// echo of what was sent last is as good (RFC 7323, section 4); an older echo is not, because the
    /// ACK that was lost in between may have carried it.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        sequence: &mut SendSequence,
        segment: &Segment,
        last_send: Instant,
        now: Instant,
    ) -> Option<Nanos> {
        let echo = segment.options.timestamps.map(|clock| clock.echo);
        if let Some(sent) = sequence.take_timed() {
            let sample = self.0.policy().sampled(sent, now);
            self.sample(sample, sequence);
            return Some(sample);
        } else if self.0.back_offs() > 0 && echo == Some(timestamp(last_send)) {
            self.sample(Nanos::between(last_send, now), sequence);
        } else if self.0.policy() == TimerPolicy::Linux
            && !sequence.acks_cookie()
            && let Some(echoed) = echoed(segment, now)
        {
            // Linux `tcp_ack_update_rtt` takes the timestamp where nothing else can be measured, also of a SYN-ACK that
            // was sent again (`tcp_synack_rtt_meas`), but that of a cookie has options in it.
            self.sample(echoed.max(Nanos::from_millis(1)), sequence);
        }
        None
    }

    /// Linux `tcp_ack_update_rtt`: an ACK that only SACKs gives a sample, too.
    pub(crate) fn on_sack(&mut self, news: Option<&News>, sequence: &SendSequence) {
        let sample = news.and_then(|news| news.first_round_trip);
        if let Some(sample) = sample.filter(|_| self.0.policy() == TimerPolicy::Linux) {
            self.sample(sample, sequence);
        }
    }

    #[inline]
    fn sample(&mut self, sample: Nanos, sequence: &SendSequence) {
        self.0.sample(sample, low(sequence.una()), low(sequence.max()));
    }
}

/// The round trip by the timestamp, to a millisecond.
pub(crate) fn echoed(segment: &Segment, now: Instant) -> Option<Nanos> {
    let echo = segment.options.timestamps?.echo;
    let ticks = timestamp(now).wrapping_sub(echo);
    (ticks < 1 << 31).then(|| Nanos::from_millis(ticks.into()))
}
