//! How quantities are written: a decimal number, an optional space, and a unit. A number without one is an error: whose
//! seconds would they be?

use alloc::string::String;
use core::{fmt, marker::PhantomData, time::Duration};

use crate::{ByteCount, Frequency, Probability, Rate};

/// A kind of quantity, with the units that it is written in.
pub trait Quantity: Sized {
    /// For messages: what it is, its units and an example.
    const EXPECTED: &'static str;
    /// For messages: which of them there are.
    const RANGE: &'static str;
    /// How many base units each unit is.
    const UNITS: &'static [(&'static str, u64)];

    /// From a whole number of base units; `None` out of range.
    fn from_base(base: u64) -> Option<Self>;
}

impl Quantity for Duration {
    const EXPECTED: &'static str = "a duration in ns, us, ms, s or min, such as \"50 ms\"";
    const RANGE: &'static str = "at most \"1000000 s\"";
    const UNITS: &'static [(&'static str, u64)] = &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("min", 60_000_000_000),
    ];

    fn from_base(base: u64) -> Option<Self> {
        (base <= 1_000_000_000_000_000).then(|| Self::from_nanos(base))
    }
}

impl Quantity for Rate {
    const EXPECTED: &'static str = "a rate in b/s, kb/s, Mb/s or Gb/s, such as \"1.5 Mb/s\"";
    const RANGE: &'static str = "more than 0, at most \"1000 Gb/s\"";
    const UNITS: &'static [(&'static str, u64)] =
        &[("b/s", 1), ("kb/s", 1_000), ("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000)];

    fn from_base(base: u64) -> Option<Self> {
        Self::bits_per_second(base).filter(|_| base <= 1_000_000_000_000)
    }
}

impl Quantity for ByteCount {
    const EXPECTED: &'static str =
        "a size in B, KB (1000 B), KiB (1024 B), MB, MiB, GB or GiB such as \"64 KiB\"";
    const RANGE: &'static str = "in whole bytes";
    const UNITS: &'static [(&'static str, u64)] = &[
        ("B", 1),
        ("kB", 1_000),
        ("KB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
    ];

    fn from_base(base: u64) -> Option<Self> {
        Some(Self(base))
    }
}

impl Quantity for Probability {
    const EXPECTED: &'static str = "a share in %, such as \"0.5 %\"";
    const RANGE: &'static str = "from 0 % to 100 %, with at most four decimals";
    const UNITS: &'static [(&'static str, u64)] = &[("%", 10_000)];

    fn from_base(base: u64) -> Option<Self> {
        u32::try_from(base).ok().and_then(Self::per_million)
    }
}

impl Quantity for Frequency {
    const EXPECTED: &'static str = "a number per second, such as \"500/s\"";
    const RANGE: &'static str = "more than 0, at most \"1000000000/s\"";
    const UNITS: &'static [(&'static str, u64)] = &[("/s", 1_000_000)];

    fn from_base(base: u64) -> Option<Self> {
        Self::per_million_seconds(base)
    }
}

/// What a text is not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Expected<Q>(PhantomData<Q>);

impl<Q: Quantity> fmt::Display for Expected<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", Q::EXPECTED, Q::RANGE)
    }
}

impl<Q: Quantity + fmt::Debug> core::error::Error for Expected<Q> {}

/// Reads a decimal number, a unit, and a whole number of base units in both together.
///
/// Read digit by digit: no binary fraction comes between what was written and what is meant.
///
/// # Errors
///
/// If it is not one of `Q`'s.
pub fn parse<Q: Quantity>(text: &str) -> Result<Q, Expected<Q>> {
    read(text).ok_or(Expected(PhantomData))
}

fn read<Q: Quantity>(text: &str) -> Option<Q> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !['.', '_'].contains(&c))?;
    let (number, unit) = text.split_at(end);
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let (_, base) = Q::UNITS.iter().find(|(name, _)| *name == unit)?;
    Q::from_base(scaled(number, *base)?)
}

/// `number` × `unit`, if that is a whole number of 64 bits.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let mut digits = String::new();
    for part in [whole, fraction] {
        let written = !part.is_empty() && !part.starts_with('_') && !part.ends_with('_');
        written.then(|| digits.extend(part.chars().filter(|&c| c != '_')))?;
    }
    let decimals = u32::try_from(fraction.chars().filter(|&c| c != '_').count()).ok()?;
    let product = digits.parse::<u128>().ok()?.checked_mul(unit.into())?;
    let divisor = 10_u128.checked_pow(decimals)?;
    let exact = product.is_multiple_of(divisor);
    exact.then(|| u64::try_from(product / divisor).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact() {
        for (text, nanos) in [
            ("50 ms", 50_000_000),
            ("50ms", 50_000_000),
            ("0.1 s", 100_000_000),
            ("1_000.5 us", 1_000_500),
            ("2 min", 120_000_000_000),
            ("2m", 120_000_000_000),
            ("0 s", 0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
        assert_eq!(parse("1.5 Mb/s").ok(), Rate::bits_per_second(1_500_000));
        assert_eq!(parse("4 KiB"), Ok(ByteCount(4_096)));
        assert_eq!(parse("4 KB"), Ok(ByteCount(4_000)));
        assert_eq!(parse("0.5 %").ok(), Probability::per_million(5_000));
        assert_eq!(parse::<Frequency>("0.5/s").unwrap().per_second(), 0.5);
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in [
            "",
            "5",
            "ms",
            "5 MS",
            "5  ms",
            "-5 ms",
            "5. ms",
            ".5 ms",
            "1e3 ms",
            "0.1 ns",
            "_5 ms",
            "5 ms ",
            "1.2.3 ms",
            "2000000 s",
            "99999999999999999999999999999999999999999 ns",
            "5 B",
        ] {
            assert!(parse::<Duration>(text).is_err(), "{text:?}");
        }
        for text in ["0 b/s", "1.5 Mbit/s", "1.5 MB/s", "2000 Gb/s"] {
            assert!(parse::<Rate>(text).is_err(), "{text:?}");
        }
        assert!(parse::<Probability>("100.1 %").is_err());
        assert!(parse::<Frequency>("500").is_err() && parse::<Frequency>("0/s").is_err());
    }
}
