//! When something happened, as the reports say it.

use ackwise_tcp::Instant;

/// How text reports print points in time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum TimeFormat {
    /// Seconds since the first packet of the capture.
    #[default]
    Relative,
    /// Date and time of day in UTC.
    Absolute,
}

impl TimeFormat {
    /// A point in time of a capture that began at `first`.
    pub(super) fn print(self, at: Instant, first: Instant) -> String {
        match self {
            Self::Relative => format!("{:.6} s", at.saturating_since(first).as_secs_f64()),
            Self::Absolute => utc(at),
        }
    }
}

/// `2026-11-23T01:35:00.123456Z`: RFC 3339 in UTC, with microseconds.
pub(super) fn utc(at: Instant) -> String {
    let (seconds, nanos) = (at.as_nanos() / NANOS, at.as_nanos() % NANOS);
    let (days, seconds) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let micros = nanos / 1_000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// The date in the Gregorian calendar, `days` after 1970-01-01: Hinnant's `civil_from_days`, in which
/// years begin in March, so that the day of a leap year is its last.
const fn civil(days: u64) -> (u64, u64, u64) {
    /// From 0000-03-01 to 1970-01-01.
    const SHIFT: u64 = 719_468;
    /// Days of 400 years.
    const ERA: u64 = 146_097;
    let days = days + SHIFT;
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + later, month, day)
}

const NANOS: u64 = 1_000_000_000;
const DAY: u64 = 24 * 3_600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_in_time_has_a_date() {
        // By `date --utc --date=@SECONDS +%FT%TZ`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_399, "2000-02-28T23:59:59.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (951_868_800, "2000-03-01T00:00:00.000000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
        ] {
            assert_eq!(utc(Instant::from_nanos(seconds * NANOS)), text);
        }
        let late = Instant::from_nanos(1_700_000_000_123_456_789);
        assert_eq!(utc(late), "2023-11-14T22:13:20.123456Z");
        assert_eq!(utc(Instant::from_nanos(u64::MAX)), "2554-07-21T23:34:33.709551Z");
    }

    #[test]
    fn relative_times_count_from_the_first_packet() {
        let [first, at] = [5, 7].map(|seconds| Instant::from_nanos(seconds * NANOS + 1_000));
        assert_eq!(TimeFormat::Relative.print(at, first), "2.000000 s");
        assert_eq!(TimeFormat::Absolute.print(at, first), "1970-01-01T00:00:07.000001Z");
    }
}
