//! The throughput of a bulk TCP transfer (PFTK): Padhye, Firoiu, Towsley, Kurose, "Modeling TCP
//! Throughput: A Simple Model and its Empirical Validation", SIGCOMM 1998.
//!
//! Symbols as there: p loss probability, b segments per ACK, RTT, T0 first retransmission timeout,
//! Wm largest window in segments. The model describes Reno in steady state. It knows no link rate:
//! without loss, only the window limits the throughput.

use core::num::{NonZeroU8, NonZeroU32};

use ackwise_tcp::Nanos;

use crate::loss::LossRate;

/// What the throughput of a path depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// p.
    pub loss: LossRate,
    /// RTT. 0 counts as 1 ns.
    pub round_trip: Nanos,
    /// T0.
    pub timeout: Nanos,
    /// Wm, in segments.
    pub max_window: NonZeroU32,
    /// b: 2 with delayed ACKs.
    pub segments_per_ack: NonZeroU8,
}

/// Segments per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Throughput(f64);

impl Throughput {
    /// `None` for what is negative, infinite or not a number.
    #[must_use]
    pub fn segments_per_second(value: f64) -> Option<Self> {
        (value.is_finite() && value >= 0.0).then_some(Self(value))
    }

    /// Segments per second.
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0
    }

    /// Segments in flight over this round trip: the bandwidth-delay product.
    #[must_use]
    pub fn window(self, round_trip: Nanos) -> f64 {
        self.0 * seconds(round_trip)
    }
}

/// The two forms of the model.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Model {
    /// The full model (sections 2.2 and 2.3).
    Full,
    /// The approximation (section 2.3), as RFC 5348, section 3.1, uses it, with a window limit.
    Approximate,
}

impl Model {
    /// The send rate of the path.
    #[must_use]
    pub fn throughput(self, path: &Path) -> Throughput {
        Throughput(match self {
            Self::Full => full(path),
            Self::Approximate => approximate(path),
        })
    }
}

impl Path {
    /// E\[Wu\], the mean window at the time of a loss, but at most Wm (section 2.3).
    #[must_use]
    pub fn peak_window(&self) -> f64 {
        unconstrained_window(self.loss.as_f64(), self.b()).min(f64::from(self.max_window.get()))
    }

    fn b(&self) -> f64 {
        f64::from(self.segments_per_ack.get())
    }
}

/// The full model, with and without window limit. Numerator and denominator are multiplied by
/// p(1-p), so that p = 0 and p = 1 need no special case.
fn full(path: &Path) -> f64 {
    let (p, b, max) = (path.loss.as_f64(), path.b(), f64::from(path.max_window.get()));
    let (rtt, t0) = (seconds(path.round_trip), seconds(path.timeout));
    let q = 1.0 - p;
    let unconstrained = unconstrained_window(p, b);
    let (window, rounds) = if unconstrained < max {
        (unconstrained, p * q * (b / 2.0 * unconstrained + 1.0))
    } else {
        (max, p * q * (b / 8.0 * max + 2.0) + q * q / max)
    };
    let timeouts = p * timeout_probability(p, window);
    (q * q + p * q * window + timeouts) / (rtt * rounds + timeouts * t0 * back_off(p))
}

fn approximate(path: &Path) -> f64 {
    let (p, b, max) = (path.loss.as_f64(), path.b(), f64::from(path.max_window.get()));
    let (rtt, t0) = (seconds(path.round_trip), seconds(path.timeout));
    let timeouts = libm::fmin(1.0, 3.0 * libm::sqrt(3.0 * b * p / 8.0)) * p * (1.0 + 32.0 * p * p);
    libm::fmin(max / rtt, 1.0 / (rtt * libm::sqrt(2.0 * b * p / 3.0) + t0 * timeouts))
}

/// E\[Wu\]: infinite without loss.
fn unconstrained_window(p: f64, b: f64) -> f64 {
    let constant = (2.0 + b) / (3.0 * b);
    constant + libm::sqrt(8.0 * (1.0 - p) / (3.0 * b * p) + constant * constant)
}

/// Q(w), the probability that a loss in a window of `w` segments leads to a timeout: at least one
/// of the three duplicate ACKs that fast retransmit needs is missing.
fn timeout_probability(p: f64, w: f64) -> f64 {
    if w <= 3.0 || p == 0.0 {
        return 1.0;
    }
    // 1 - (1-p)^n, exact also for small p.
    let any_lost = |n: f64| -libm::expm1(n * libm::log1p(-p));
    let all_arrive = 1.0 - any_lost(3.0);
    libm::fmin(1.0, any_lost(3.0) * (1.0 + all_arrive * any_lost(w - 3.0)) / any_lost(w))
}

/// f(p): the mean length of a series of timeouts in units of the first, which doubles six times.
fn back_off(p: f64) -> f64 {
    1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))))
}

fn seconds(span: Nanos) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a span of 104 days is exact")]
    let nanos = span.get().max(1) as f64;
    nanos / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(p: f64, max_window: u32) -> Path {
        Path {
            loss: LossRate::new(p).unwrap(),
            round_trip: Nanos::from_millis(100),
            timeout: Nanos::from_millis(1_000),
            max_window: NonZeroU32::new(max_window).unwrap(),
            segments_per_ack: NonZeroU8::new(2).unwrap(),
        }
    }

    fn rate(model: Model, p: f64, max_window: u32) -> f64 {
        model.throughput(&path(p, max_window)).as_f64()
    }

    #[track_caller]
    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-6 * expected.abs(), "{value}, not {expected}");
    }

    #[test]
    fn values_of_an_independent_computation() {
        // p = 0.01, b = 2, RTT = 0.1 s, T0 = 1 s.
        assert_near(unconstrained_window(0.01, 2.0), 12.175_118);
        assert_near(timeout_probability(0.01, 12.175_117_667_754_712), 0.279_921_57);
        assert_near(timeout_probability(0.01, 8.0), 0.402_735);
        assert_near(back_off(0.01), 1.010_204_08);
        assert_near(rate(Model::Full, 0.01, u32::MAX), 69.524_463);
        assert_near(rate(Model::Full, 0.01, 8), 52.433_104);
        assert_near(rate(Model::Approximate, 0.01, u32::MAX), 70.654_42);
        // The square-root part alone, which is left without timeouts.
        let no_timeouts = Path { timeout: Nanos::ZERO, ..path(0.01, u32::MAX) };
        assert_near(Model::Approximate.throughput(&no_timeouts).as_f64(), 86.602_54);
    }

    #[test]
    fn without_loss_the_window_limits() {
        for model in [Model::Full, Model::Approximate] {
            assert_near(rate(model, 0.0, 8), 80.0);
            assert_near(rate(model, 1e-300, 8), 80.0);
            assert_near(rate(model, 1e-12, 8), 80.0);
        }
        assert_near(path(0.0, 8).peak_window(), 8.0);
        assert_near(path(0.01, 8).peak_window(), 8.0);
        assert_near(path(0.01, 100).peak_window(), 12.175_118);
    }

    #[test]
    fn with_certain_loss_only_timeouts_send() {
        // f(1) = 64 timeouts of 1 s for each segment.
        assert_near(rate(Model::Full, 1.0, 8), 1.0 / 64.0);
        assert_near(rate(Model::Full, 1.0 - 1e-9, 8), 1.0 / 64.0);
        assert!(rate(Model::Approximate, 1.0, 8) < 0.04);
    }

    #[test]
    fn a_small_window_always_times_out() {
        assert_eq!([1.0, 2.0, 3.0].map(|w| timeout_probability(0.01, w)), [1.0; 3]);
        // Q(w) is about 3/w where p is small.
        assert_near(timeout_probability(1e-9, 30.0), 0.1);
        assert_near(timeout_probability(1e-200, 30.0), 0.1);
    }

    #[test]
    fn a_round_trip_of_zero_is_not_divided_by() {
        let near = Path { round_trip: Nanos::ZERO, ..path(0.01, 8) };
        for model in [Model::Full, Model::Approximate] {
            assert!(model.throughput(&near).as_f64().is_finite());
        }
    }

    #[test]
    fn a_throughput_is_finite_and_has_a_window() {
        for bad in [-1.0, f64::INFINITY, f64::NAN] {
            assert_eq!(Throughput::segments_per_second(bad), None);
        }
        let rate = Throughput::segments_per_second(80.0).unwrap();
        assert_near(rate.window(Nanos::from_millis(100)), 8.0);
        assert_eq!(Throughput::segments_per_second(0.0).map(Throughput::as_f64), Some(0.0));
    }
}
