//! Inverted distribution functions: the value that a share of all values does not exceed.

use super::normal;

/// What becomes of values above the most that is allowed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Truncation {
    /// They become the most: it is drawn as often as all of them would be. The thesis' way: its
    /// Table 4.5 shows the most, 15,000 bytes, exactly.
    Clip,
    /// They are not drawn: the distribution function is divided by its value at the most, which is
    /// the same as drawing again until the value is small enough, but takes one number.
    Conditional,
}

impl Truncation {
    /// The value at `share`, of a distribution that has `below` of its values up to `most`.
    pub(super) fn at(
        self,
        share: f64,
        most: f64,
        below: impl FnOnce(f64) -> f64,
        inverse: impl FnOnce(f64) -> f64,
    ) -> f64 {
        let share = match self {
            Self::Clip => share,
            Self::Conditional => share * below(most),
        };
        inverse(share).min(most)
    }
}

/// F(x) = 1 - exp(-x / mean).
pub(super) fn exponential(share: f64, mean: f64) -> f64 {
    -mean * libm::log1p(-share)
}

/// F(x) = 1 - exp(-(x / scale)^shape).
pub(super) fn weibull(share: f64, scale: f64, shape: f64) -> f64 {
    scale * libm::pow(-libm::log1p(-share), 1.0 / shape)
}

/// F(x) = 1 - (least / x)^shape, from `least` on, truncated.
pub(super) fn pareto(share: f64, least: f64, shape: f64, most: f64, truncation: Truncation) -> f64 {
    let below = |most: f64| 1.0 - libm::pow(least / most, shape);
    truncation.at(share, most, below, |share| least * libm::pow(1.0 - share, -1.0 / shape))
}

/// The exponential of a normal distribution with mean `mu` and deviation `sigma`, truncated.
pub(super) fn log_normal(
    share: f64,
    mu: f64,
    sigma: f64,
    most: f64,
    truncation: Truncation,
) -> f64 {
    let below = |most: f64| normal::share_below((libm::log(most) - mu) / sigma);
    truncation.at(share, most, below, |share| libm::exp(mu + sigma * normal::inverse(share)))
}
