//! Spans of time on the command line: `15`, `15s`, `0.5`, `500ms`, `2m`.

use std::time::Duration;

/// Seconds, unless a unit follows. More than nothing, and at most [`LONGEST`].
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    span(text, LONGEST)
}

/// A round-trip time: the same, at most [`LONGEST_RTT`].
pub(crate) fn round_trip(text: &str) -> Result<Duration, String> {
    span(text, LONGEST_RTT)
}

fn span(text: &str, most: Duration) -> Result<Duration, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let seconds = match &text[number.len()..] {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        _ => return Err(EXPECTED.to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| EXPECTED.to_owned())?;
    match Duration::try_from_secs_f64(number * seconds) {
        Ok(span) if !span.is_zero() && span <= most => Ok(span),
        _ => Err(format!(
            "out of range (expected more than 0 and at most {} s; a number without a unit is in seconds)",
            most.as_secs()
        )),
    }
}

/// Nothing here is worth waiting longer for.
const LONGEST: Duration = Duration::from_secs(3600);

/// Longer than any path on Earth, and short enough that a check over it ends within the hour. Our choice.
const LONGEST_RTT: Duration = Duration::from_secs(10);

const EXPECTED: &str =
    "expected seconds, or a number with ms, s or m, such as 15, 0.5, 500ms or 2m";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_the_unit_unless_another_is_named() {
        let millis = |text| parse(text).map(|span| span.as_millis());
        for (text, expected) in
            [("15", 15_000), ("0.5", 500), ("15s", 15_000), ("500ms", 500), ("2m", 120_000)]
        {
            assert_eq!(millis(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_round_trip_without_a_unit_is_refused_as_too_long() {
        assert_eq!(round_trip("80ms"), Ok(Duration::from_millis(80)));
        assert!(round_trip("80").unwrap_err().ends_with("without a unit is in seconds)"));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "s", "-1", "0", "0ms", "nan", "inf", "1e9", "3 s", "1h", "ü"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
