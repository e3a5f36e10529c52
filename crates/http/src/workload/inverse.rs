//! Inverse distribution functions (quantile functions).

use super::normal;

/// How values above the maximum are treated.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Truncation {
    /// Clipped: the maximum gets the probability of all values above it. The thesis does this: its
    /// Table 4.5 shows its maximum, 15,000 bytes, exactly.
    Clip,
    /// Not drawn: the distribution function is divided by its value at the maximum. Equivalent to
    /// redrawing until the value is small enough, but takes one number.
    Conditional,
}

impl Truncation {
    /// The quantile at `share` of a distribution that has the share `below` of its values up to
    /// `most`.
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

/// F(x) = 1 - (least / x)^shape for x from `least` on, truncated.
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
