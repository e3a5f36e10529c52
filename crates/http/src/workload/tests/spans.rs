use alloc::vec::Vec;
use core::time::Duration;

use super::{super::*, *};

fn draws(name: &str, span: &Span) -> Vec<f64> {
    sample(name, |stream| span.draw(stream).as_secs_f64())
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn uniform() {
    // The thesis' think time.
    let sample = draws("uniform", &Span::Uniform { from: s(1), to: s(2) });
    assert_distributed("uniform", &sample, 1e-9, |x| (x - 1.0).clamp(0.0, 1.0));
    assert_mean("uniform", &sample, 1.5);
    let mut stream = Seed(1).stream();
    let grain = Span::Uniform { from: Duration::from_nanos(7), to: Duration::from_nanos(8) };
    let drawn: Vec<_> = (0..64).map(|_| grain.draw(&mut stream).as_nanos()).collect();
    assert!(drawn.contains(&7) && drawn.contains(&8) && drawn.iter().all(|n| (7..=8).contains(n)));
}

#[test]
fn exponential() {
    let sample = draws("exponential", &Span::Exponential { mean: Duration::from_millis(250) });
    assert_distributed("exponential", &sample, 0.0, |x| 1.0 - (-x / 0.25).exp());
    assert_mean("exponential", &sample, 0.25);
}

#[test]
fn pareto_clipped_and_conditional() {
    let (least, shape, most) = (1.0, 1.5, 60.0_f64);
    let pareto = |truncation| Span::Pareto { least: s(1), shape, most: s(60), truncation };
    let whole = |x: f64| 1.0 - (least / x.max(least)).powf(shape);

    let clipped = draws("clipped", &pareto(Truncation::Clip));
    assert_distributed("clipped", &clipped, 0.0, |x| if x >= most { 1.0 } else { whole(x) });
    let at_most = clipped.iter().filter(|x| **x == most).count() as f64 / f64::from(DRAWS);
    assert!((at_most - (1.0 - whole(most))).abs() < 5.0 * (0.002_f64 / f64::from(DRAWS)).sqrt());
    assert_mean("clipped", &clipped, 1.0 + 2.0 * (1.0 - most.powf(-0.5)));

    let conditional = draws("conditional", &pareto(Truncation::Conditional));
    assert_distributed("conditional", &conditional, 0.0, |x| whole(x) / whole(most));
    assert!(conditional.iter().all(|x| *x <= most));
}

#[test]
fn surge_active_off_is_weibull() {
    let sample = draws("weibull", &Span::SURGE_ACTIVE_OFF);
    assert_distributed("weibull", &sample, 0.0, |x| 1.0 - (-(x / 1.46).powf(0.382)).exp());
    // scale * gamma(1 + 1 / shape)
    assert_mean("weibull", &sample, 1.46 * libm::tgamma(1.0 + 1.0 / 0.382));
}

#[test]
fn nothing_is_longer_than_the_longest_and_fixed_takes_no_number() {
    assert_eq!(Span::LONGEST, s(31_536_000), "a year of 365 days");
    let mut stream = Seed(1).stream();
    let untouched = stream.clone();
    assert_eq!(Span::ZERO.draw(&mut stream), Duration::ZERO);
    assert_eq!(Span::Fixed(Duration::MAX).draw(&mut stream), Span::LONGEST);
    assert_eq!(stream, untouched);
    let endless = Span::Weibull { scale: Span::LONGEST, shape: 0.01 };
    assert!((0..1_000).all(|_| endless.draw(&mut stream) <= Span::LONGEST));
}
