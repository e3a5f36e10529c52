//! Distance without a network: an emulated path between our TCP and the server.

use std::time::Duration;

use ackwise_link::{Faults, LinkConfig, Pick, Probability, Queue, Rate, Seed};

/// The path that is put between our TCP and the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Distance {
    /// Its round-trip time, half of it in each direction.
    pub rtt: Duration,
    /// Its rate in each direction; infinite, for `None`.
    pub rate: Option<Rate>,
    /// Bytes that its queues hold; one bandwidth-delay product, for `None`.
    pub queue: Option<u64>,
    /// How likely it loses a packet, in each direction; only while pages are timed.
    pub loss: Option<Probability>,
}

/// Whether an emulated path loses packets now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PathLoss {
    /// It does, if its [`Distance`] says so.
    On,
    /// It loses none.
    Off,
}

impl Distance {
    /// Bytes of each queue.
    #[must_use]
    pub fn queue_bytes(&self) -> Option<u64> {
        let product = |rate: Rate| whole(rate.get() as f64 * self.rtt.as_secs_f64() / 8.0);
        self.queue.or_else(|| self.rate.map(product)).map(|bytes| bytes.max(LEAST_QUEUE))
    }

    /// The links to the server and from it.
    #[must_use]
    pub fn links(&self, loss: PathLoss) -> [LinkConfig; 2] {
        ["to server", "from server"].map(|direction| {
            let loss = self.loss.filter(|_| loss == PathLoss::On).map_or(Pick::Never, Pick::Random);
            LinkConfig {
                rate: self.rate,
                delay: self.rtt / 2,
                queue: self.queue_bytes().map_or(LinkConfig::IDEAL.queue, Queue::bytes),
                faults: Faults { loss, ..Faults::NONE },
                seed: Seed(0).named(direction),
                ..LinkConfig::IDEAL
            }
        })
    }

    /// How much more time a check needs.
    #[must_use]
    pub fn extra_time(&self) -> Duration {
        self.rtt * ROUND_TRIPS
    }

    /// How much more time one answer needs.
    pub(crate) fn extra_answer(&self) -> Duration {
        self.rtt * ANSWER_ROUND_TRIPS
    }
}

/// The nearest whole number; beyond those, the largest.
#[expect(clippy::cast_possible_truncation, reason = "a cast from a float saturates, as wanted")]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// Round trips that all checks take, and one answer. Our choices.
const ROUND_TRIPS: u32 = 250;
const ANSWER_ROUND_TRIPS: u32 = 20;

/// A queue that holds less than two packets of an Ethernet loses most of a flight. Our choice.
const LEAST_QUEUE: u64 = 2 * 1500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_one_bandwidth_delay_product_unless_given() {
        let rate = Rate::bits_per_second(20_000_000);
        let rtt = Duration::from_millis(80);
        let far = Distance { rtt, rate, queue: None, loss: None };
        assert_eq!(far.queue_bytes(), Some(200_000));
        assert_eq!(Distance { queue: Some(60_000), ..far }.queue_bytes(), Some(60_000));
        assert_eq!(Distance { rate: None, ..far }.queue_bytes(), None, "nothing queues");
        let [to, from] = far.links(PathLoss::Off);
        assert_eq!(to.delay + from.delay, rtt);
    }

    #[test]
    fn packets_are_lost_only_while_pages_are_timed() {
        let loss = Probability::per_million(1_000);
        let far = Distance { rtt: Duration::from_millis(80), rate: None, queue: None, loss };
        assert!(far.links(PathLoss::Off).iter().all(|link| link.faults.loss == Pick::Never));
        assert!(far.links(PathLoss::On).iter().all(|link| link.faults.loss != Pick::Never));
    }
}
