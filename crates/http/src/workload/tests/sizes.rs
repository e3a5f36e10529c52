use alloc::vec::Vec;

use ackwise_link::Probability;
use ackwise_tcp::ByteCount;

use super::{super::*, *};

fn draws(name: &str, size: &Size) -> Vec<f64> {
    sample(name, |stream| size.draw(stream).0 as f64)
}

fn pareto_below(x: f64, least: f64, shape: f64) -> f64 {
    1.0 - (least / x.max(least)).powf(shape)
}

fn none() -> Probability {
    Probability::per_million(0).unwrap()
}

fn parts(pages: Pages) -> (Size, Size, Count) {
    let Pages::Drawn { primary, inline, inlines } = pages else { panic!("{pages:?}") };
    (primary, inline, inlines)
}

#[test]
fn the_thesis_pages_have_the_means_that_the_cap_gives() {
    let (primary, inline, _) = parts(Pages::gurkan(1.24, none()));
    let primary = draws("primary", &primary);
    let below = |x| if x > 15_000.0 { 1.0 } else { pareto_below(x, 1_000.0, 0.91) };
    assert_distributed("primary", &primary, 1.0, below);
    // Reference, item T5; rounding down subtracts half a byte on average.
    assert_mean("primary", &primary, 4_066.5);
    assert_mean("inline", &draws("inline", &inline), 2_990.9);
    let at_cap = primary.iter().filter(|x| **x == 15_000.0).count() as f64 / f64::from(DRAWS);
    assert!((at_cap - 15.0_f64.powf(-0.91)).abs() < 0.003, "{at_cap}");
    let mut stream = Seed(1).stream();
    let pages = Pages::gurkan(1.24, none());
    assert!((0..100).all(|_| pages.draw(&mut stream).inlines.len() == 3));
}

#[test]
fn an_atom_has_its_share_and_leaves_the_rest_as_it_was() {
    let (primary, _, _) = parts(Pages::gurkan(0.91, Probability::per_million(120_000).unwrap()));
    let sample = draws("atom", &primary);
    let small = sample.iter().filter(|x| **x == 500.0).count();
    let share = small as f64 / f64::from(DRAWS);
    assert!((share - 0.12).abs() < 5.0 * (0.12_f64 * 0.88 / f64::from(DRAWS)).sqrt(), "{share}");
    assert_mean("rest", &sample[small..], 4_066.5);
}

#[test]
fn surge_files_have_a_log_normal_body_and_a_pareto_tail() {
    let sample = draws("surge", &Size::SURGE_FILES);
    let body = |x: f64| 0.5 * libm::erfc(-(x.ln() - 9.357) / 1.318 / 2_f64.sqrt());
    let below = |x: f64| match x {
        x if x <= 133_000.0 => 0.93 * body(x) / body(133_000.0),
        x if x > 1e7 => 1.0,
        x => 0.93 + 0.07 * pareto_below(x, 133_000.0, 1.1),
    };
    assert_distributed("surge", &sample, 1.0, below);
}

#[test]
fn surge_asks_for_files_of_ten_thousand_bytes_in_the_mean() {
    // k * (1 + ln(most / k)), the mean of a clipped Pareto distribution with shape 1.
    let mean = 1_000.0 * (1.0 + 1e4_f64.ln()) - 0.5;
    assert_mean("requested", &draws("requested", &Size::SURGE_REQUESTED), mean);
}

#[test]
fn a_plain_log_normal_has_its_mean_and_its_quartiles() {
    let most = Size::LARGEST;
    let truncation = Truncation::Clip;
    let sample = draws("plain", &Size::LogNormal { mu: 9.357, sigma: 1.318, most, truncation });
    assert_mean("plain", &sample, (9.357_f64 + 1.318 * 1.318 / 2.0).exp() - 0.5);
    for (share, z) in [(0.25, -0.674_49), (0.5, 0.0), (0.75, 0.674_49), (0.99, 2.326_35)] {
        let (found, expected) = (quantile(&sample, share), (9.357_f64 + 1.318 * z).exp());
        assert!((found / expected - 1.0).abs() < 0.03, "{share}: {found}, not {expected}");
    }
}

#[test]
fn mah_replies_have_the_medians_of_the_period_and_few_files() {
    let (primary, inline, inlines) = parts(Pages::MAH);
    // k * 2^(1 / shape)
    for (size, median) in [(primary, 2_142.0), (inline, 1_737.0)] {
        let found = quantile(&draws("mah", &size), 0.5);
        assert!((found / median - 1.0).abs() < 0.02, "{found} instead of {median}");
    }
    let files = sample("mah files", |stream| f64::from(inlines.draw(stream)) + 1.0);
    let fewer_than_four = files.iter().filter(|n| **n < 4.0).count() as f64 / f64::from(DRAWS);
    assert!((fewer_than_four - 0.8).abs() < 0.005, "{fewer_than_four}");
    assert_eq!((files[0], quantile(&files, 0.5)), (1.0, 1.0));
}

#[test]
fn surge_pages_refer_to_at_least_one_file() {
    let counts = sample("embedded", |stream| Count::SURGE_EMBEDDED.draw(stream).into());
    let below = |x: f64| if x > 100.0 { 1.0 } else { pareto_below(x, 1.0, 2.43) };
    assert_distributed("embedded", &counts, 1.0, below);
    assert_eq!(counts[0], 1.0);
}

#[test]
fn webstone_and_specweb_ask_for_their_files_as_often_as_listed() {
    let (webstone, _, none) = parts(Pages::WEBSTONE_2);
    assert_eq!(none, Count::Fixed(0));
    let sample = draws("webstone", &webstone);
    let table =
        [(500.0, 0.35), (5_000.0, 0.5), (50_000.0, 0.14), (500_000.0, 0.009), (5_000_000.0, 0.001)];
    for (size, share) in table {
        let found = sample.iter().filter(|x| **x == size).count() as f64 / f64::from(DRAWS);
        let error = (share * (1.0 - share) / f64::from(DRAWS)).sqrt();
        assert!((found - share).abs() < 5.0 * error, "{size}: {found} instead of {share}");
    }
    assert_mean("webstone", &sample, 19_175.0);

    let (specweb, _, _) = parts(Pages::specweb96());
    let sample = draws("specweb", &specweb);
    for (share, low, high) in [(0.34, 100.0, 900.0), (0.84, 1e3, 9e3), (0.98, 1e4, 9e4)] {
        assert!((low..=high).contains(&quantile(&sample, share)), "{share}");
    }
    assert!(sample.iter().all(|x| x / 10_f64.powf(x.log10().floor()) % 1.0 < 1e-9));
}

#[test]
fn uniform_sizes_and_counts_include_both_ends() {
    let size = Size::Uniform { from: ByteCount(5), to: ByteCount(6) };
    let count = Count::Uniform { from: 0, to: 1 };
    let mut stream = Seed(1).stream();
    let drawn: Vec<_> =
        (0..64).map(|_| (size.draw(&mut stream), count.draw(&mut stream))).collect();
    for pair in [(ByteCount(5), 0), (ByteCount(5), 1), (ByteCount(6), 0), (ByteCount(6), 1)] {
        assert!(drawn.contains(&pair), "{pair:?}");
    }
}
