//! CUBIC's window function, W_cubic(t) = C (t - K)^3 + W_max (RFC 9438, section 4.2), in integers.

use core::time::Duration;

use super::window::LARGEST;

/// The curve of one epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    /// K in 2^-20 seconds. It fits: to [`LARGEST`], in segments of one byte, it is 1,390 s.
    k: u32,
    /// W_max in bytes, or cwnd at the beginning where that is larger.
    plateau: u32,
}

impl Curve {
    /// The curve that rises from `cwnd` to `w_max`; from its plateau on, where `w_max` is not larger.
    pub(super) fn new(w_max: u32, cwnd: u32, mss: u32) -> Self {
        let deficit = u128::from(w_max.saturating_sub(cwnd));
        // K = cbrt((W_max - cwnd_epoch) / C) with C = 2/5 segments per second cubed.
        let k = cube_root((deficit << (3 * SHIFT)) * 5 / (2 * u128::from(mss)));
        Self { k: u32::try_from(k).unwrap_or(u32::MAX), plateau: w_max.max(cwnd) }
    }

    /// W_cubic at `t` after the beginning, in bytes, never negative and at most [`LARGEST`].
    pub(super) fn window_at(&self, t: Duration, mss: u32) -> u32 {
        let t = ticks(t);
        let k = u64::from(self.k);
        let distance = distance(t.abs_diff(k), mss);
        if t < k { self.plateau.saturating_sub(distance) } else { self.raised(distance) }
    }

    fn raised(&self, distance: u32) -> u32 {
        self.plateau.saturating_add(distance).min(LARGEST)
    }
}

/// C * ticks^3 in bytes.
fn distance(ticks: u64, mss: u32) -> u32 {
    let ticks = u128::from(ticks.min(MAX_TICKS));
    let fifths = (ticks * ticks * ticks * 2 * u128::from(mss)) >> (3 * SHIFT);
    u64::try_from(fifths).ok().and_then(|fifths| u32::try_from(fifths / 5).ok()).unwrap_or(u32::MAX)
}

/// `value` times `numerator / denominator`, rounded down.
pub(super) fn fraction(value: u32, numerator: u32, denominator: u32) -> u32 {
    let product = u64::from(value) * u64::from(numerator) / u64::from(denominator);
    u32::try_from(product).unwrap_or(u32::MAX)
}

fn ticks(span: Duration) -> u64 {
    let nanos = u64::try_from(span.min(LONGEST).as_nanos()).unwrap_or(u64::MAX);
    (nanos << SHIFT) / 1_000_000_000
}

/// The largest integer whose cube is at most `value`: bit by bit, so 41 rounds.
fn cube_root(value: u128) -> u128 {
    let mut root = 0u128;
    for bit in (0..=40).rev() {
        let candidate = root | 1 << bit;
        if candidate * candidate * candidate <= value {
            root = candidate;
        }
    }
    root
}

/// Time is counted in 2^-20 seconds.
const SHIFT: u32 = 20;
/// A curve is not followed further than this: it is beyond [`LARGEST`] long before.
const LONGEST: Duration = Duration::from_secs(4_096);
const MAX_TICKS: u64 = LONGEST.as_secs() << SHIFT;
