//! Random early detection: Floyd and Jacobson 1993, "Random Early Detection Gateways for Congestion
//! Avoidance", figure 2.
//!
//! What is not here: marking (ECN), and thresholds in octets.

use core::num::NonZeroU32;

use ackwise_tcp::{Instant, Octets};

use crate::{
    pick::Probability,
    rate::Rate,
    seed::{Seed, Stream},
    verdict::DropReason,
};

/// Random early detection. Lengths are in packets, and count the one that is being sent, as
/// [`Limit`](crate::Limit) does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Red {
    /// min_th: below this average length nothing is dropped early.
    pub min_threshold: u32,
    /// max_th: from this average length on, [`beyond_max`](Self::beyond_max).
    pub max_threshold: u32,
    /// max_p: how likely a drop is, before drops are spaced, when the average comes to max_th.
    pub max_probability: Probability,
    /// w_q: what the present length contributes to the average, in millionths. More than a million is
    /// a million: no average, the length itself.
    pub weight_per_million: u32,
    /// What happens from `max_threshold` on.
    pub beyond_max: BeyondMax,
    /// So many find no room, whatever the average is.
    pub limit: NonZeroU32,
    /// How large packets are in the mean, to tell how many an idle link could have sent.
    pub mean_packet: Octets,
}

/// What RED does when the average is above max_th.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BeyondMax {
    /// Drops every packet (Floyd and Jacobson 1993).
    DropAll,
    /// Drops more and more, from max_p at max_th to all at twice max_th ("gentle": Floyd 2000).
    Gentle,
}

impl Red {
    /// The parameters of the simulations of Floyd and Jacobson 1993, section 4: 5 and 15 packets, 1/50,
    /// 0.002; their buffer is "sufficiently large", so it is the caller's.
    #[must_use]
    pub const fn floyd_jacobson_1993(limit: NonZeroU32) -> Self {
        let Some(max_probability) = Probability::per_million(20_000) else { unreachable!() };
        Self {
            min_threshold: 5,
            max_threshold: 15,
            max_probability,
            weight_per_million: 2_000,
            beyond_max: BeyondMax::DropAll,
            limit,
            mean_packet: Octets(500),
        }
    }

    /// p_b: how likely a drop is at an average length, before drops are spaced.
    fn probability(&self, average: f64) -> f64 {
        let (min, max) = (f64::from(self.min_threshold), f64::from(self.max_threshold));
        let max_p = f64::from(self.max_probability.as_per_million()) / 1e6;
        if average < min {
            0.0
        } else if average < max {
            max_p * (average - min) / (max - min)
        } else if self.beyond_max == BeyondMax::Gentle && average < 2.0 * max {
            max_p + (1.0 - max_p) * (average - max) / max
        } else {
            1.0
        }
    }
}

/// RED at work.
#[derive(Clone, Debug)]
pub(crate) struct EarlyDetection {
    red: Red,
    /// w_q
    weight: f64,
    /// s: how long a packet of mean size is sent; 0 without a rate.
    mean_packet_nanos: f64,
    /// avg
    average: f64,
    /// Packets since the last drop, or since the average was below min_th.
    count: u32,
    stream: Stream,
}

impl EarlyDetection {
    pub(crate) fn new(red: Red, rate: Option<Rate>, seed: Seed) -> Self {
        let mean = rate.map(|rate| rate.serialization_delay(red.mean_packet));
        Self {
            red,
            weight: f64::from(red.weight_per_million.min(1_000_000)) / 1e6,
            mean_packet_nanos: mean.map_or(0.0, |mean| mean.as_nanos() as f64),
            average: 0.0,
            count: 0,
            stream: seed.stream(),
        }
    }

    /// Whether a packet is let in that finds `waiting` others; of an empty queue the last left at
    /// `idle_since`.
    pub(crate) fn admit(
        &mut self,
        waiting: usize,
        idle_since: Instant,
        now: Instant,
    ) -> Result<(), DropReason> {
        self.average = if waiting == 0 {
            let idle = now.as_nanos().saturating_sub(idle_since.as_nanos());
            self.average_after_idling(idle as f64)
        } else {
            (1.0 - self.weight) * self.average + self.weight * waiting as f64
        };
        let reason = if self.drops_early() {
            DropReason::EarlyDrop
        } else if waiting >= usize::try_from(self.red.limit.get()).unwrap_or(usize::MAX) {
            DropReason::QueueFull
        } else {
            return Ok(());
        };
        self.count = 0;
        Err(reason)
    }

    /// As if the queue had been empty for each of the m packets that the link could have sent.
    fn average_after_idling(&self, idle_nanos: f64) -> f64 {
        if self.average == 0.0 || self.mean_packet_nanos == 0.0 {
            return 0.0;
        }
        let m = idle_nanos / self.mean_packet_nanos;
        self.average * libm::pow(1.0 - self.weight, m)
    }

    /// Spaces drops evenly: p_a = p_b / (1 - count * p_b) makes the distance between two uniform from 1
    /// to 1 / p_b packets (section 7 of the paper, method 2). As the text has it, `count` is the
    /// packets let in since the last drop; figure 2 is one ahead of that after a drop.
    fn drops_early(&mut self) -> bool {
        let p_b = self.red.probability(self.average);
        if p_b <= 0.0 {
            self.count = 0;
            return false;
        }
        let left = 1.0 - f64::from(self.count) * p_b;
        self.count = self.count.saturating_add(1);
        // Where the drop is certain, no dice are thrown.
        left <= p_b || self.stream.unit() * left < p_b
    }
}
