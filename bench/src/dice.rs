//! Random numbers that are the same on every platform: SplitMix64 (Steele, Lea and Flood 2014).

/// A stream of random numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Dice {
    state: u64,
}

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Derives the stream of one purpose. Independent of how many numbers other derived streams
    /// have used.
    pub(crate) fn of(self, purpose: &str, number: u64) -> Self {
        let mut child = Self { state: self.state ^ number.wrapping_mul(STEP) };
        for byte in purpose.bytes() {
            child.state = child.next() ^ u64::from(byte);
        }
        child.state = child.next();
        child
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
        let bits = (self.next() >> 11) as f64;
        bits / 2_f64.powi(53)
    }

    /// Uniform, both ends included.
    pub(crate) fn between(&mut self, least: u32, most: u32) -> u32 {
        let span = f64::from(most - least) + 1.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below span")]
        let above = (self.unit() * span) as u32;
        least + above
    }

    /// Uniform logarithm, so that each factor of two is equally likely.
    pub(crate) fn scaled(&mut self, least: f64, most: f64) -> f64 {
        least * (most / least).powf(self.unit())
    }

    /// Exponential.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// The numbers, from 1 to `count`, of lost packets: `share` of all, in bursts of `burst` in the mean. E. N. Gilbert,
    /// "Capacity of a Burst-Noise Channel" (1960), with a good state that loses nothing and a bad one that loses all.
    pub(crate) fn gilbert(&mut self, [share, burst]: [f64; 2], count: u64) -> Vec<u64> {
        let ends = 1.0 / burst;
        let begins = share * ends / (1.0 - share);
        let mut lost = false;
        let mut numbers = Vec::new();
        for number in 1..=count {
            lost = self.unit() < if lost { 1.0 - ends } else { begins };
            numbers.extend(lost.then_some(number));
        }
        numbers
    }
}

/// The golden ratio in 64 bits, as in the paper.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_generator() {
        // From the reference implementation with seed 1234567.
        let mut dice = Dice::new(1_234_567);
        assert_eq!(dice.next(), 6_457_827_717_110_365_317);
        assert_eq!(dice.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn both_ends_are_drawn() {
        let mut dice = Dice::new(1);
        let mut seen = [false; 4];
        (0..100).for_each(|_| seen[dice.between(0, 3) as usize] = true);
        assert_eq!(seen, [true; 4]);
    }

    #[test]
    fn purposes_and_numbers_have_their_own_streams() {
        let first = |purpose, number| Dice::new(1).of(purpose, number).next();
        assert_ne!(first("run", 0), first("run", 1));
        assert_ne!(first("run", 0), first("point", 0));
    }

    #[test]
    fn losses_in_bursts_have_the_share_and_the_length_that_were_asked_for() {
        let count = 20_000;
        for (share, burst) in [(0.01, 1.0), (0.05, 4.0)] {
            let numbers = Dice::new(3).gilbert([share, burst], count);
            let bursts = 1 + numbers.windows(2).filter(|it| it[0] + 1 < it[1]).count();
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let [lost, bursts, all] = [numbers.len() as f64, bursts as f64, count as f64];
            assert!((lost / all / share - 1.0).abs() < 0.25, "{lost}");
            assert!((lost / bursts / burst - 1.0).abs() < 0.25, "{bursts}");
        }
    }

    #[test]
    fn exponential_times_have_their_mean() {
        let mut dice = Dice::new(1);
        let sum: f64 = (0..10_000).map(|_| dice.exponential(5.0)).sum();
        assert!((sum / 10_000.0 - 5.0).abs() < 0.25, "{sum}");
    }
}
