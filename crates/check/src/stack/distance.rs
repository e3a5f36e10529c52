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

impl Distance {
    /// Reads a rate: `20Mb/s`, `1.5Mb/s`, `800kb/s`, `1Gb/s`.
    ///
    /// # Errors
    ///
    /// If it is not one, or not more than nothing.
    pub fn parse_rate(given: &str) -> Result<Rate, String> {
        let expected = || {
            format!(
                "{given:?} is not a rate (expected a number with kb/s, Mb/s or Gb/s, such as 20Mb/s)"
            )
        };
        let units = [("kb/s", 1e3), ("Mb/s", 1e6), ("Gb/s", 1e9)];
        let unit =
            units.into_iter().find_map(|(unit, scale)| Some((given.strip_suffix(unit)?, scale)));
        let (number, scale) = unit.ok_or_else(expected)?;
        let rate = number.trim_end().parse::<f64>().map_err(|_| expected())? * scale;
        // Beyond a terabit, a number is a mistake.
        let whole = (1.0..=1e12).contains(&rate).then(|| whole(rate));
        whole.and_then(Rate::bits_per_second).ok_or_else(expected)
    }

    /// Reads a probability: `0.1%`.
    ///
    /// # Errors
    ///
    /// If it is not one below 50 %, beyond which no page ends.
    pub fn parse_loss(given: &str) -> Result<Probability, String> {
        let percent = given.strip_suffix('%').and_then(|it| it.trim_end().parse::<f64>().ok());
        percent
            .filter(|percent| (0.0..50.0).contains(percent))
            .and_then(|percent| u32::try_from(whole(percent * 1e4)).ok())
            .and_then(Probability::per_million)
            .ok_or_else(|| {
                format!(
                    "{given:?} is not a loss rate (expected a percentage below 50%, such as 0.1%)"
                )
            })
    }

    /// Bytes of each queue.
    #[must_use]
    pub fn queue_bytes(&self) -> Option<u64> {
        let product = |rate: Rate| whole(rate.get() as f64 * self.rtt.as_secs_f64() / 8.0);
        self.queue.or_else(|| self.rate.map(product)).map(|bytes| bytes.max(LEAST_QUEUE))
    }

    /// The links to the server and from it.
    #[must_use]
    pub fn links(&self, lossy: bool) -> [LinkConfig; 2] {
        ["to server", "from server"].map(|direction| {
            let loss = self.loss.filter(|_| lossy).map_or(Pick::Never, Pick::Random);
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

/// Round trips that all questions take, and one answer. Our choices.
const ROUND_TRIPS: u32 = 250;
const ANSWER_ROUND_TRIPS: u32 = 20;

/// A queue that holds less than two packets of an Ethernet loses most of a flight. Our choice.
const LEAST_QUEUE: u64 = 2 * 1500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_losses_are_read_with_their_units() {
        let rate = |given| Distance::parse_rate(given).map(Rate::get);
        for (given, bits) in [
            ("20Mb/s", 20_000_000),
            ("1.5 Mb/s", 1_500_000),
            ("64kb/s", 64_000),
            ("1Gb/s", 1_000_000_000),
        ] {
            assert_eq!(rate(given), Ok(bits), "{given}");
        }
        for given in ["20", "20MB/s", "0Mb/s", "-1Mb/s", "Mb/s", "1e30Gb/s", "NaNMb/s"] {
            assert!(rate(given).unwrap_err().contains("expected"), "{given}");
        }
        let loss = |given| Distance::parse_loss(given).map(Probability::as_per_million);
        assert_eq!(loss("0.1%"), Ok(1_000));
        for given in ["0.1", "50%", "-1%", "%", "NaN%"] {
            assert!(loss(given).unwrap_err().contains("expected"), "{given}");
        }
    }

    #[test]
    fn the_queue_is_one_bandwidth_delay_product_unless_given() {
        let rate = Rate::bits_per_second(20_000_000);
        let rtt = Duration::from_millis(80);
        let far = Distance { rtt, rate, queue: None, loss: None };
        assert_eq!(far.queue_bytes(), Some(200_000));
        assert_eq!(Distance { queue: Some(60_000), ..far }.queue_bytes(), Some(60_000));
        assert_eq!(Distance { rate: None, ..far }.queue_bytes(), None, "nothing queues");
        let [to, from] = far.links(false);
        assert_eq!(to.delay + from.delay, rtt);
    }

    #[test]
    fn packets_are_lost_only_while_pages_are_timed() {
        let loss = Probability::per_million(1_000);
        let far = Distance { rtt: Duration::from_millis(80), rate: None, queue: None, loss };
        assert!(far.links(false).iter().all(|link| link.faults.loss == Pick::Never));
        assert!(far.links(true).iter().all(|link| link.faults.loss != Pick::Never));
    }
}
