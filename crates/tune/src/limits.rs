//! Limits of buffers whose memory has to fit into a budget.
//!
//! The kernel exceeds each limit by up to one packet of 64 KB, so limits that add up to the budget hold more than it. They are
//! lowered together until the memory in use fits.

/// Which part of a budget the limits take together, so that the memory in use does not exceed it.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    part: f64,
}

impl Default for Limits {
    /// All of it.
    fn default() -> Self {
        Self { part: 1.0 }
    }
}

impl Limits {
    /// Takes the memory in use at a look. A look is one sample of memory that rises and falls, so it counts for a part.
    pub fn observe(&mut self, in_use: u64, budget: u64) {
        #[expect(clippy::cast_precision_loss, reason = "a ratio needs no 53 bits")]
        let fits = budget as f64 / in_use.max(1) as f64;
        self.part = (self.part * fits.powf(GAIN)).clamp(LEAST_PART, 1.0);
    }

    /// What the limits may add up to.
    #[must_use]
    pub fn of(self, budget: u64) -> u64 {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a part of a u64"
        )]
        let limits = (budget as f64 * self.part) as u64;
        limits
    }
}

/// How much a look counts (our choice: a limit that is twice too high is halved in some ten looks).
const GAIN: f64 = 0.25;
/// The limits take at least this part of the budget: queues of before the run need time to drain (our choice).
const LEAST_PART: f64 = 0.25;

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: u64 = 512_000;

    #[test]
    fn limits_fall_until_the_memory_in_use_fits_and_rise_again() {
        let mut limits = Limits::default();
        assert_eq!(limits.of(BUDGET), BUDGET);
        // As the kernel does: each of eight connections exceeds its limit by 32 KB.
        let in_use = |limits: Limits| limits.of(BUDGET) + 8 * 32_000;
        for _ in 0..60 {
            limits.observe(in_use(limits), BUDGET);
        }
        assert!(in_use(limits).abs_diff(BUDGET) < BUDGET / 50, "{limits:?}");
        // Whatever is in use, the limits do not fall below a part, nor rise above the budget.
        (0..60).for_each(|_| limits.observe(100 * BUDGET, BUDGET));
        assert_eq!(limits.of(BUDGET), BUDGET / 4);
        (0..60).for_each(|_| limits.observe(0, BUDGET));
        assert_eq!(limits.of(BUDGET), BUDGET);
    }
}
