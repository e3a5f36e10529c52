//! HdrHistogram's text of percentiles, which its plotter reads.

use std::fmt::Write;

use super::LoadReport;

/// The latencies in milliseconds, as HdrHistogram's `outputPercentileDistribution` prints them with
/// five steps for each halving of the distance to 100 %.
#[must_use]
pub fn hgrm(report: &LoadReport) -> String {
    let latencies = &report.latencies;
    let mut text = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let mut line = |value: u64, percentile: f64, count: u64| {
        let value = millis(value);
        let ends = 1.0 / (1.0 - percentile);
        // Writing to a string does not fail.
        let _ = match percentile < 1.0 {
            true => writeln!(text, "{value:12.3} {percentile:14.12} {count:10} {ends:14.2}"),
            false => writeln!(text, "{value:12.3} {percentile:14.12} {count:10} {:>14}", "inf"),
        };
    };
    let mut count = 0;
    for step in latencies.iter_quantiles(STEPS_PER_HALVING) {
        count += step.count_since_last_iteration();
        line(step.value_iterated_to(), step.quantile_iterated_to(), count);
    }
    let (mean, deviation) = (latencies.mean() / 1e3, latencies.stdev() / 1e3);
    let _ = writeln!(text, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]");
    let (max, total) = (millis(latencies.max()), latencies.len());
    let _ = writeln!(text, "#[Max     = {max:12.3}, Total count    = {total:12}]");
    let (buckets, parts) = (latencies.buckets(), SUB_BUCKETS);
    let _ = writeln!(text, "#[Buckets = {buckets:12}, SubBuckets     = {parts:12}]");
    text
}

#[expect(clippy::cast_precision_loss, reason = "at most an hour in microseconds")]
fn millis(micros: u64) -> f64 {
    micros as f64 / 1e3
}

/// The usual number.
const STEPS_PER_HALVING: u32 = 5;
/// The smallest power of two that has three digits of each value twice over.
const SUB_BUCKETS: u32 = 2048;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn it_is_the_format_that_plotters_read() {
        let text = hgrm(&sample::report());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "       Value     Percentile TotalCount 1/(1-Percentile)");
        assert_eq!(lines[2], "       1.000 0.000000000000          1           1.00");
        let median = lines.iter().find(|line| line.contains(" 0.500000000000 ")).unwrap();
        assert_eq!(*median, "     500.223 0.500000000000        500           2.00");
        let last = lines.iter().rfind(|line| !line.starts_with('#')).unwrap();
        assert!(last.ends_with("1.000000000000       1000            inf"), "{last}");
        assert!(lines.iter().any(|line| line.starts_with("#[Mean    =      500.")), "{text}");
        let percentiles = lines[2..].iter().take_while(|line| !line.starts_with('#'));
        let values: Vec<f64> = percentiles
            .map(|line| line.split_whitespace().next().unwrap().parse().unwrap())
            .collect();
        assert!(values.is_sorted() && values.len() > 30, "{text}");
    }
}
