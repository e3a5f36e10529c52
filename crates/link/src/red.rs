//! Random early detection: Floyd and Jacobson 1993, "Random Early Detection Gateways for Congestion
//! Avoidance", figure 2.
//!
//! Not here: marking (ECN), and thresholds in bytes.

use core::num::NonZeroU32;

use ackwise_tcp::{ByteCount, Instant};
use ackwise_units::Probability;

use crate::{
    fate::DropReason,
    rate::Rate,
    seed::{Seed, Stream},
};

/// Random early detection. Lengths are in packets and include the packet being sent, as in
/// [`Limit`](crate::Limit).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Red {
    /// min_th: below this average length no packet is dropped early.
    pub min_threshold: u32,
    /// max_th: from this average length on, [`beyond_max`](Self::beyond_max).
    pub max_threshold: u32,
    /// max_p: the drop probability, before drops are spaced, as the average reaches max_th.
    pub max_probability: Probability,
    /// w_q: weight of the current length in the average, in millionths. Values above a million
    /// count as a million: no averaging.
    pub weight_per_million: u32,
    /// How drops are spaced.
    pub spacing: Spacing,
    /// Behaviour from `max_threshold` on.
    pub beyond_max: BeyondMax,
    /// Queue size in packets, whatever the average.
    pub limit: NonZeroU32,
    /// Mean packet size, to estimate how many packets an idle link could have sent.
    pub mean_packet: ByteCount,
}

/// How RED spaces its drops.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Spacing {
    /// Uniformly: 1 to 1 / p_b packets apart (Floyd and Jacobson 1993, section 7, method 2).
    Uniform,
    /// The same after 1 / p_b packets, so that drops are 1 to 2 times as far apart: ns-2's `wait_`, which is on by default
    /// (`REDQueue::modify_p` in `queue/red.cc`).
    Waiting,
}

/// RED's behaviour when the average is above max_th.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BeyondMax {
    /// Drops every packet (Floyd and Jacobson 1993).
    DropAll,
    /// Raises the drop probability from max_p at max_th to 1 at twice max_th ("gentle": Floyd
    /// 2000).
    Gentle,
}

impl Red {
    /// The parameters of the simulations of Floyd and Jacobson 1993, section 4: 5 and 15 packets,
    /// 1/50, 0.002. Their buffer is "sufficiently large", so the caller chooses it.
    #[must_use]
    pub const fn floyd_jacobson_1993(limit: NonZeroU32) -> Self {
        let Some(max_probability) = Probability::per_million(20_000) else { unreachable!() };
        Self {
            min_threshold: 5,
            max_threshold: 15,
            max_probability,
            weight_per_million: 2_000,
            spacing: Spacing::Uniform,
            beyond_max: BeyondMax::DropAll,
            limit,
            mean_packet: ByteCount(500),
        }
    }

    /// p_b: the drop probability at an average length, before drops are spaced.
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

/// The state of RED.
#[derive(Clone, Debug)]
pub(crate) struct EarlyDetection {
    red: Red,
    /// w_q
    weight: f64,
    /// s: transmission time of a packet of mean size; 0 without a rate.
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

    /// Whether to accept a packet that finds `waiting` others; an empty queue has been idle since
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

    /// Decays the average as if the queue had been empty for each of the m packets that the link
    /// could have sent.
    fn average_after_idling(&self, idle_nanos: f64) -> f64 {
        if self.average == 0.0 || self.mean_packet_nanos == 0.0 {
            return 0.0;
        }
        let m = idle_nanos / self.mean_packet_nanos;
        self.average * libm::pow(1.0 - self.weight, m)
    }

    /// Spaces drops evenly: p_a = p_b / (1 - count * p_b) makes the distance between two uniform
    /// from 1 to 1 / p_b packets (section 7 of the paper, method 2). As in the paper's text,
    /// `count` is the number of packets accepted since the last drop; figure 2 is one ahead of that
    /// after a drop.
    fn drops_early(&mut self) -> bool {
        let p_b = self.red.probability(self.average);
        if p_b <= 0.0 {
            self.count = 0;
            return false;
        }
        let passed = f64::from(self.count) * p_b;
        self.count = self.count.saturating_add(1);
        let left = match self.red.spacing {
            Spacing::Uniform => 1.0 - passed,
            // ns-2 counts this packet, too.
            Spacing::Waiting if passed + p_b < 1.0 => return false,
            Spacing::Waiting => 2.0 - passed - p_b,
        };
        // A certain drop takes no random number.
        left <= p_b || self.stream.unit() * left < p_b
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    /// 5 and 15 packets, max_p 1/10, w_q 1/4, 100 packets; mean packets take a millisecond.
    fn red(beyond_max: BeyondMax) -> Red {
        Red {
            max_probability: Probability::per_million(100_000).unwrap(),
            weight_per_million: 250_000,
            beyond_max,
            mean_packet: ByteCount(1_000),
            ..Red::floyd_jacobson_1993(NonZeroU32::new(100).unwrap())
        }
    }

    fn at_work(red: Red) -> EarlyDetection {
        EarlyDetection::new(red, Rate::bits_per_second(8_000_000), Seed(1).named("red"))
    }

    const fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    #[test]
    fn the_average_follows_the_length_and_decays_while_idle() {
        let mut queue = at_work(red(BeyondMax::DropAll));
        // Arrival (us), packets found waiting, idle since (us), average afterwards.
        #[rustfmt::skip]
        let table = [
            (     0,  0,     0, 0.0),
            (   100,  4,     0, 1.0),         // 3/4 * 0 + 1/4 * 4
            (   200,  4,     0, 1.75),
            (   300,  2,     0, 1.812_5),
            ( 5_000,  0, 5_000, 1.812_5),     // empty at this moment: m = 0
            ( 6_000,  0, 5_000, 1.359_375),   // m = 1
            ( 7_000,  2, 5_000, 1.519_531_25),
            (12_000,  0, 9_500, 1.519_531_25 * 0.487_139_289_628_747_3), // (3/4)^2.5
        ];
        for (comes, waiting, idle_since, average) in table {
            let _ = queue.admit(waiting, us(idle_since), us(comes));
            assert!((queue.average - average).abs() < 1e-12, "{comes} us: {}", queue.average);
        }
    }

    #[test]
    fn the_probability_has_the_two_slopes_of_the_papers() {
        #[rustfmt::skip]
        let table = [
            // Average, probability with `DropAll`, with `Gentle`.
            ( 0.0, 0.0,  0.0),
            ( 4.9, 0.0,  0.0),
            ( 5.0, 0.0,  0.0),
            (10.0, 0.05, 0.05),
            (15.0, 1.0,  0.1),
            (22.5, 1.0,  0.55),
            (30.0, 1.0,  1.0),
            (99.0, 1.0,  1.0),
        ];
        for (average, drop_all, gentle) in table {
            let found = [BeyondMax::DropAll, BeyondMax::Gentle]
                .map(|beyond_max| red(beyond_max).probability(average));
            assert!((found[0] - drop_all).abs() < 1e-12, "{average}: {found:?}");
            assert!((found[1] - gentle).abs() < 1e-12, "{average}: {found:?}");
        }
    }

    /// Number of packets accepted before each drop, at a constant length.
    fn let_in_between_drops(red: Red, waiting: usize, packets: u32) -> Vec<u32> {
        let mut queue = at_work(Red { weight_per_million: 1_000_000, ..red });
        let (mut runs, mut run) = (Vec::new(), 0);
        for _ in 0..packets {
            match queue.admit(waiting, us(0), us(1)) {
                Ok(()) => run += 1,
                Err(DropReason::EarlyDrop) => runs.push(core::mem::take(&mut run)),
                Err(reason) => panic!("{reason:?}"),
            }
        }
        runs
    }

    #[test]
    fn nothing_is_dropped_below_the_lower_threshold_and_all_from_the_upper_on() {
        let red = red(BeyondMax::DropAll);
        assert!(let_in_between_drops(red, 4, 10_000).is_empty());
        assert_eq!(let_in_between_drops(red, 15, 10_000), [0; 10_000]);
    }

    #[test]
    fn drops_are_spaced_uniformly() {
        // p_b = 1/20: from 0 to 19 packets between two drops, all equally likely.
        let runs = let_in_between_drops(red(BeyondMax::DropAll), 10, 210_000);
        let mut counts = [0_u32; 20];
        for run in &runs {
            counts[usize::try_from(*run).unwrap()] += 1;
        }
        // 20,000 drops, 1,000 for each distance within five standard deviations.
        assert!(runs.len().abs_diff(20_000) < 400, "{}", runs.len());
        assert!(counts.iter().all(|count| count.abs_diff(1_000) < 155), "{counts:?}");
    }

    #[test]
    fn a_drop_may_be_followed_by_a_wait() {
        let waiting = Red { spacing: Spacing::Waiting, ..red(BeyondMax::DropAll) };
        // p_b = 1/20: nothing before the 20th packet, and the last at the 39th.
        let runs = let_in_between_drops(waiting, 10, 295_000);
        assert!(runs.iter().all(|run| (19..39).contains(run)), "{runs:?}");
        let count = |run| runs.iter().filter(|it| **it == run).count();
        assert!(runs.len().abs_diff(10_000) < 400, "{}", runs.len());
        assert!(count(19).abs_diff(500) < 120 && count(38).abs_diff(500) < 120);
        assert_eq!(
            let_in_between_drops(waiting, 15, 100),
            [0; 100],
            "what is certain does not wait"
        );
    }

    #[test]
    fn the_limit_holds_even_if_the_average_is_low() {
        let mut queue = at_work(Red { weight_per_million: 0, ..red(BeyondMax::Gentle) });
        assert_eq!(queue.admit(99, us(0), us(1)), Ok(()));
        assert_eq!(queue.admit(100, us(0), us(1)), Err(DropReason::QueueFull));
    }

    #[test]
    fn odd_parameters_mean_something() {
        // max_th is below min_th: no drops below min_th, all packets dropped from there on.
        let odd = Red { min_threshold: 7, max_threshold: 3, ..red(BeyondMax::DropAll) };
        assert!(let_in_between_drops(odd, 6, 100).is_empty());
        assert_eq!(let_in_between_drops(odd, 7, 100).len(), 100);
        let zero = Red { min_threshold: 0, max_threshold: 0, ..red(BeyondMax::Gentle) };
        assert_eq!(let_in_between_drops(zero, 1, 100).len(), 100);
        assert_eq!(zero.probability(0.0), 1.0);
        // Without a rate nothing queues.
        let mut queue = EarlyDetection::new(red(BeyondMax::DropAll), None, Seed(1));
        assert_eq!(queue.admit(0, us(0), us(5)), Ok(()));
        assert_eq!(queue.average, 0.0);
        // Packets of size zero: an idle link could have sent any number of them.
        let mut queue = at_work(Red { mean_packet: ByteCount(0), ..red(BeyondMax::DropAll) });
        assert_eq!(queue.admit(4, us(0), us(5)), Ok(()));
        assert_eq!(queue.admit(0, us(5), us(5)), Ok(()));
        assert_eq!(queue.average, 0.0);
    }
}
