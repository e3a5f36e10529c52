use alloc::{borrow::Cow, vec};
use core::time::Duration;

use ackwise_link::Probability;
use ackwise_tcp::ByteCount;

use super::super::*;

const CLIP: Truncation = Truncation::Clip;

#[test]
fn what_is_published_is_usable() {
    let gurkan = Pages::gurkan(0.91, Probability::per_million(120_000).unwrap());
    let pages = [
        Pages::HEIDEMANN,
        gurkan,
        Pages::MAH,
        Pages::SURGE,
        Pages::SURGE_REQUESTED,
        Pages::WEBSTONE_2,
        Pages::specweb96(),
    ];
    assert_eq!(pages.map(|pages| pages.check()), [Ok(()); 7]);
    assert_eq!(Span::SURGE_ACTIVE_OFF.check(), Ok(()));
    assert_eq!(Span::SURGE_INACTIVE_OFF.check(), Ok(()));
}

#[test]
fn spans_that_mean_nothing_are_told() {
    let (s, long) = (Duration::from_secs(1), Duration::MAX);
    let pareto = |least, shape, most| Span::Pareto { least, shape, most, truncation: CLIP };
    let order = Unusable::Order { lower: "from", upper: "to" };
    #[rustfmt::skip]
    let table = [
        (Span::Fixed(long),                             Unusable::TooLarge("span")),
        (Span::Uniform { from: s, to: Duration::ZERO }, order),
        (Span::Uniform { from: s, to: long },           Unusable::TooLarge("to")),
        (Span::Exponential { mean: long },              Unusable::TooLarge("mean")),
        (pareto(Duration::ZERO, 1.0, s),                Unusable::NotPositive("least")),
        (pareto(s, 0.0, s),                             Unusable::NotPositive("shape")),
        (pareto(s, f64::INFINITY, s),                   Unusable::NotPositive("shape")),
        (pareto(s, 1.0, long),                          Unusable::TooLarge("most")),
        (pareto(s, 1.0, s / 2),            Unusable::Order { lower: "least", upper: "most" }),
        (Span::Weibull { scale: s, shape: f64::NAN },   Unusable::NotPositive("shape")),
    ];
    for (span, unusable) in table {
        assert_eq!(span.check(), Err(unusable), "{span:?}");
    }
}

#[test]
fn sizes_and_counts_that_mean_nothing_are_told() {
    let log = |mu, sigma, most| Size::LogNormal { mu, sigma, most, truncation: CLIP };
    let parts = |weight| Size::Mixture(Cow::Owned(vec![Weighted { weight, size: fixed(1) }]));
    let nested = (0..4)
        .fold(parts(1), |size, _| Size::Mixture(Cow::Owned(vec![Weighted { weight: 1, size }])));
    let few = Count::Pareto { least: 1, shape: 1.0, most: 9, off: 2 };
    #[rustfmt::skip]
    let table = [
        (fixed(u64::MAX),                    Unusable::TooLarge("size")),
        (log(f64::NAN, 1.0, ByteCount(9)),      Unusable::NotFinite("mu")),
        (log(1.0, -1.0, ByteCount(9)),          Unusable::NotPositive("sigma")),
        (log(1.0, 1.0, ByteCount(0)),           Unusable::NotPositive("most")),
        (parts(0),                           Unusable::Weights),
        (Size::Mixture(Cow::Borrowed(&[])),  Unusable::Weights),
        (nested,                             Unusable::Nested),
    ];
    for (size, unusable) in table {
        assert_eq!(size.check(), Err(unusable), "{size:?}");
    }
    assert_eq!(few.check(), Err(Unusable::Order { lower: "off", upper: "least" }));
    assert_eq!(Count::Fixed(10_001).check(), Err(Unusable::TooLarge("count")));
}

/// Draws that `check` rejects are meaningless, but must end without a panic.
#[test]
fn even_the_unusable_is_drawn_from_without_a_panic() {
    let mut stream = ackwise_link::Seed(1).stream();
    let numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1e-300, 1e300];
    let bytes = [0, 1, u64::MAX].map(ByteCount);
    let spans = [Duration::ZERO, Duration::from_nanos(1), Duration::MAX];
    for shape in numbers {
        for truncation in [CLIP, Truncation::Conditional] {
            for (least, most) in bytes.iter().flat_map(|l| bytes.map(|m| (*l, m))) {
                let _ = Size::Pareto { least, shape, most, truncation }.draw(&mut stream);
                let _ = Size::Uniform { from: least, to: most }.draw(&mut stream);
                let _ =
                    Size::LogNormal { mu: shape, sigma: shape, most, truncation }.draw(&mut stream);
            }
            for (least, most) in spans.iter().flat_map(|l| spans.map(|m| (*l, m))) {
                let _ = Span::Pareto { least, shape, most, truncation }.draw(&mut stream);
                let _ = Span::Uniform { from: least, to: most }.draw(&mut stream);
                let _ = Span::Weibull { scale: least, shape }.draw(&mut stream);
            }
        }
        for (least, most) in [(0, 0), (9, 1), (u32::MAX, u32::MAX), (0, u32::MAX)] {
            let count = Count::Pareto { least, shape, most, off: 1 }.draw(&mut stream);
            assert!(count <= Count::MOST);
            assert!(Count::Uniform { from: least, to: most }.draw(&mut stream) <= Count::MOST);
        }
    }
    assert_eq!(Size::Mixture(Cow::Borrowed(&[])).draw(&mut stream), ByteCount(0));
}

const fn fixed(bytes: u64) -> Size {
    Size::Fixed(ByteCount(bytes))
}
