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
}
