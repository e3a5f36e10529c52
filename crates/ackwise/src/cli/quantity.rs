//! Quantities on the command line, in the grammar of experiment files: `500ms`, `64KiB`, `20Mb/s`, `0.1%`, `500/s`.

use std::{
    fmt::{Debug, Display},
    ops::RangeInclusive,
    time::Duration,
};

use ackwise_units::{ByteCount, Frequency, Probability, Quantity, Rate, parse};

/// A time of more than nothing, and at most [`LONGEST`].
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    span(text, LONGEST, "more than \"0 s\", at most \"3600 s\"")
}

/// A round-trip time: of more than nothing, and at most [`LONGEST_RTT`].
pub(crate) fn round_trip(text: &str) -> Result<Duration, String> {
    span(text, LONGEST_RTT, "more than \"0 s\", at most \"10 s\"")
}

/// The rate of a link.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    parse(text).map_err(|expected| format!("expected {expected}"))
}

/// How often something happens.
pub(crate) fn per_second(text: &str) -> Result<Frequency, String> {
    let fits = |often: &Frequency| often.per_second() <= 1e6;
    within(text, fits, "more than \"0/s\", at most \"1000000/s\"")
}

/// How many packets a path loses: fewer than half, beyond which no page ends.
pub(crate) fn loss(text: &str) -> Result<Probability, String> {
    let fits = |loss: &Probability| loss.as_per_million() < 500_000;
    within(text, fits, "from 0 % to less than 50 %")
}

/// A part of a whole.
pub(crate) fn share(text: &str) -> Result<Probability, String> {
    parse(text).map_err(|expected| format!("expected {expected}"))
}

/// A parser for sizes in `range`, whose type is that of the option: `Into` keeps a bare literal from being an `i32`.
pub(crate) fn bytes<N>(range: RangeInclusive<N>) -> impl Fn(&str) -> Result<N, String> + Clone
where
    N: TryFrom<u64> + Into<u64> + PartialOrd + Display + Clone,
{
    move |text| {
        let range_in_words = format!("from \"{} B\" to \"{} B\"", range.start(), range.end());
        let size = |ByteCount(bytes)| N::try_from(bytes).ok().filter(|it| range.contains(it));
        let found = parse(text).ok().and_then(size);
        found.ok_or_else(|| format!("expected {}, {range_in_words}", ByteCount::EXPECTED))
    }
}

/// A parser for whole percents in `range`.
pub(crate) fn percent(range: RangeInclusive<u32>) -> impl Fn(&str) -> Result<u32, String> + Clone {
    move |text| {
        let found = parse(text).ok().map(|Percent(percent)| percent);
        found.filter(|it| range.contains(it)).ok_or_else(|| {
            format!("expected {}, from {} % to {} %", Percent::EXPECTED, range.start(), range.end())
        })
    }
}

struct Percent(u32);

impl Quantity for Percent {
    const EXPECTED: &'static str = "a whole number of %, such as \"5 %\"";
    const RANGE: &'static str = "in 32 bits";
    const UNITS: &'static [(&'static str, u64)] = &[("%", 1)];

    fn from_base(base: u64) -> Option<Self> {
        u32::try_from(base).ok().map(Self)
    }
}

fn span(text: &str, most: Duration, range: &str) -> Result<Duration, String> {
    within(text, |span: &Duration| !span.is_zero() && *span <= most, range)
}

fn within<Q: Quantity + Debug>(
    text: &str,
    fits: impl Fn(&Q) -> bool,
    range: &str,
) -> Result<Q, String> {
    parse(text).ok().filter(fits).ok_or_else(|| format!("expected {}, {range}", Q::EXPECTED))
}

/// Nothing here is worth waiting longer for.
const LONGEST: Duration = Duration::from_secs(3600);

/// Longer than any path on Earth, and short enough that a check over it ends within the hour. Our choice.
const LONGEST_RTT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_never_left_out_and_a_space_may_be() {
        for text in ["500ms", "500 ms", "0.5s", "0.5 s"] {
            assert_eq!(time(text), Ok(Duration::from_millis(500)), "{text}");
        }
        assert_eq!(time("2m"), time("2 min"));
        assert_eq!(bytes(1..=u32::MAX)("64KiB"), Ok(65_536));
        assert_eq!(bytes(1..=u32::MAX)("30 KB"), bytes(1..=u32::MAX)("30kB"));
        assert_eq!(loss("0.1%").map(Probability::as_per_million), Ok(1_000));
        assert_eq!(share("100 %").map(Probability::as_per_million), Ok(1_000_000));
        assert_eq!(percent(1..=1_000)("250%"), Ok(250));
        assert_eq!(rate("1.5Mb/s").map(Rate::get), Ok(1_500_000));
        assert_eq!(per_second("500/s").map(Frequency::per_second), Ok(500.0));
    }

    #[test]
    fn what_is_refused_is_answered_with_units_and_range() {
        for text in ["", "15", "s", "-1s", "0s", "nan", "1e9s", "1h", "61m", "ü"] {
            let refused = time(text).unwrap_err();
            assert!(refused.contains("ms, s or min") && refused.ends_with("\"3600 s\""), "{text}");
        }
        assert!(round_trip("11s").is_err() && loss("50%").is_err() && loss("0.1").is_err());
        assert!(rate("20").is_err() && rate("20 kbps").is_err() && per_second("500").is_err());
        for text in ["1000", "KB", "999B", "2MiB", "1.5 B", "30K"] {
            let refused = bytes(1_000..=2_000_000_u32)(text).unwrap_err();
            assert!(refused.ends_with("from \"1000 B\" to \"2000000 B\""), "{text}: {refused}");
        }
    }
}
